#include "app/desktop/study/branches_page.h"

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/branches/branch_chart.h"
#include "app/workspace/runs/branches/branch_document.h"
#include "app/workspace/scenario/workspace.h"

namespace trainyard {

BranchesPage::BranchesPage(Document& document, QWidget* parent)
    : StudyPage(document, "branches", std::make_unique<BranchMeasurement>(), parent),
      measurement_(static_cast<BranchMeasurement&>(work())),
      panel_(new BranchPanel(document, measurement_)) {
  lay_out(
      panel_,
      {"Operators beside each other", "Operators of a layer in stages", "Passes of layers",
       "What follows from the measurement"},
      stages_scene([this] { return model_ ? &*model_ : nullptr; },
                   [this]() -> QString {
                     return measurement_.running()
                                ? "Measuring …"
                                : "Measure or price, to see which operators of a layer are worth "
                                  "running beside each other on the cores of a processor.";
                   },
                   [](Item) {}));
  add_command("branches");
  ask_by(*panel_);
  connect(&rows(), &ViewTable::chosen, this, &BranchesPage::choose_row);
  connect(&measurement_, &BackgroundMeasurement::changed, this, &BranchesPage::refresh);
  refresh();
}

void BranchesPage::connect_commands(const Actions& actions) {
  connect_runs(actions, "branches", [this] { start(); });
}

void BranchesPage::start() {
  if (measurement_.running() || !panel_->commit()) return;
  const auto request = panel_->request();
  if (!request) return;
  note_question();
  measurement_.start<BranchQuestion>(
      panel_->question(), [request = *request](const BranchQuestion& question) {
        Request named = request;
        named.calibration.clear();
        return branch_study(open(named), question, request.calibration);
      });
}

void BranchesPage::choose(std::size_t pass) {
  if (shown_ == nullptr || pass >= shown_->passes.size()) return;
  model_ = stages_model(*shown_, shown_->passes[pass]);
  scene().select({});
  rows().choose({ItemKind::Dot, pass});
  canvas()->refresh();
}

void BranchesPage::choose_row(Item item) {
  if (item.kind == ItemKind::Dot) choose(item.tag);
}

std::optional<Drawing> BranchesPage::picture() const {
  return model_ ? std::optional(stages_picture(*model_)) : std::nullopt;
}

std::optional<DataTable> BranchesPage::table() const {
  return shown_ != nullptr ? std::optional(branch_table(*shown_)) : std::nullopt;
}

std::optional<std::string> BranchesPage::document() const {
  return shown_ != nullptr ? std::optional(branch_document(*shown_)) : std::nullopt;
}

void BranchesPage::refresh() {
  const auto found = measurement_.found();
  if (found.get() != shown_) {
    shown_ = found.get();
    model_.reset();
    rows().show_table(branch_table(*shown_));
    rows().fit_columns();
    if (const BranchPass* most = most_gaining(*shown_))
      choose(static_cast<std::size_t>(most - shown_->passes.data()));
  }
  say(shown_ == nullptr ? std::vector<std::string>{} : branch_sentences(*shown_));
  canvas()->refresh();
  refresh_command();
}

}  // namespace trainyard
