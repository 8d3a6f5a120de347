#include "app/desktop/design/model_builder.h"

#include <algorithm>

#include "app/desktop/session/first_plan.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/model_json.h"
#include "core/io/json/inline_document.h"
#include "core/model/fields.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostKnown = 32;  // models; one of 10,000 nodes takes several megabytes

}  // namespace

ModelBuilder::ModelBuilder(Document& document, QObject* parent)
    : QObject(parent), document_(document), model_(std::make_shared<const Model>()) {
  connect(&document_, &Document::changed, this, &ModelBuilder::refresh);
  refresh();
}

bool ModelBuilder::own() const { return is_inline_document(document_.project().model); }

void ModelBuilder::select(ModelPart part) {
  if (part.block >= static_cast<int>(model_->blocks.size())) part = {};
  if (part == selected_) return;
  selected_ = part;
  Q_EMIT selection_changed();
}

// A file may change under its name, so only documents that the project contains are remembered.
std::shared_ptr<const Model> ModelBuilder::read(const std::string& word) {
  const auto at = std::find_if(known_.begin(), known_.end(),
                               [&](const Known& known) { return known.word == word; });
  if (at != known_.end()) {
    known_.splice(known_.begin(), known_, at);
    return known_.front().model;
  }
  auto made = std::make_shared<Model>();
  try {
    if (!word.empty())
      *made = open_named({.model = word, .cluster = "", .plan = "", .settings = {}}).model;
  } catch (const Error&) {
    // The simulation reports the error.
  }
  if (is_inline_document(word)) known_.push_front({word, made});
  if (known_.size() > kMostKnown) known_.pop_back();
  return made;
}

void ModelBuilder::refresh() {
  if (document_.project().model == word_) return;
  word_ = document_.project().model;
  model_ = read(word_);
  const auto blocks = static_cast<int>(model_->blocks.size());
  if (selected_.block >= blocks) selected_ = {};
  if (selected_.block >= 0) {
    const Graph& graph = model_->blocks[static_cast<std::size_t>(selected_.block)].graph;
    if (selected_.node >= static_cast<int>(graph.nodes.size())) selected_.node = -1;
  }
  Q_EMIT changed();
  Q_EMIT selection_changed();
}

template <class Edit>
void ModelBuilder::edit(const QString& text, const QString& key, Edit&& make) {
  if (model_->blocks.empty()) return;
  try {
    ModelPart chosen = selected_;
    const Model after = make(chosen);
    Project project = document_.project();
    project.model = inline_document(model_to_json(after));
    selected_ = chosen;
    project = with_first_plans_following(document_.project(), std::move(project));
    document_.change(text, std::move(project),
                     key.isEmpty() ? QString()
                                   : "model " + key + QString::number(chosen.block) + "." +
                                         QString::number(chosen.node));
  } catch (const Error& error) {
    Q_EMIT refused(key, QString::fromStdString(describe(error)));
  }
}

void ModelBuilder::add(const QString& kind, ModelPart after) {
  edit("Add " + kind, "", [&](ModelPart& chosen) {
    return with_building_block(*model_, kind.toStdString(), after, &chosen);
  });
}

void ModelBuilder::remove() {
  edit("Remove from the model", "", [&](ModelPart& chosen) {
    Model after = without(*model_, chosen);
    if (chosen.node >= 0)
      chosen.node = chosen.node > 0 ? chosen.node - 1 : -1;
    else
      chosen.block = chosen.block > 0 ? chosen.block - 1 : 0;
    return after;
  });
}

void ModelBuilder::duplicate() {
  edit("Duplicate in the model", "",
       [&](ModelPart& chosen) { return duplicated(*model_, chosen, &chosen); });
}

void ModelBuilder::move(int by) {
  edit("Move in the model", "", [&](ModelPart& chosen) {
    const ModelPart from = chosen;
    return moved(*model_, from, by, &chosen);
  });
}

void ModelBuilder::move_block(int from, int to) {
  const int by = to > from ? to - 1 - from : to - from;
  if (by == 0) return;
  edit("Move in the model", "",
       [&](ModelPart& chosen) { return moved(*model_, {from, -1}, by, &chosen); });
}

void ModelBuilder::split_off() {
  edit("Split off a layer", "", [&](ModelPart& chosen) {
    Model after = split_block(*model_, chosen.block, 1);
    chosen.node = -1;
    return after;
  });
}

void ModelBuilder::set_field(const QString& key, const QString& value) {
  edit("Set " + key + " of the model", key, [&](ModelPart& chosen) {
    return with_model_field(*model_, chosen, key.toStdString(), value.toStdString());
  });
}

}  // namespace trainyard
