#include "app/desktop/compare/compare_choices.h"

#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>

#include <algorithm>
#include <map>
#include <utility>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/workspace/scenario/published.h"

namespace trainyard {
namespace {

constexpr std::size_t kRecentRuns = 8;
constexpr const char* kPublished = "published…";

// Counts the runs that carry each tag.
std::map<std::string, int> tags_of(const std::vector<RunEntry>& runs) {
  std::map<std::string, int> tags;
  for (const RunEntry& run : runs)
    for (const std::string& tag : run.tags) ++tags[tag];
  return tags;
}

}  // namespace

const ProjectPlan* plan_called(const Project& project, const QString& word) {
  if (!word.startsWith("plan:")) return nullptr;
  const std::string name = word.mid(5).toStdString();
  for (const ProjectPlan& plan : project.plans)
    if (plan.name == name) return &plan;
  return nullptr;
}

CompareChoices::CompareChoices(Document& document, RunList& runs, std::function<bool()> found,
                               QWidget* parent)
    : QWidget(parent),
      document_(document),
      runs_(runs),
      found_(std::move(found)),
      a_(new Field("Result A")),
      b_(new Field("Result B")) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  for (Field* field : {a_, b_}) {
    field->setFixedHeight(26);
    field->setMinimumWidth(96);
    field->setMaximumWidth(190);
  }
  row->addWidget(make_label("A", 12, QFont::Normal, "third"));
  row->addWidget(a_);
  row->addWidget(make_label("against", 12, QFont::Normal, "third"));
  row->addWidget(make_label("B", 12, QFont::Normal, "third"));
  row->addWidget(b_);
  for (Field* field : {a_, b_})
    connect(field, &QComboBox::activated, this, [this, field] {
      const QString word = field->currentData().toString();
      word == kPublished ? choose_published(field) : take(field, word);
    });
}

void CompareChoices::take(Field* field, const QString& word) {
  Q_EMIT leaving();
  (field == a_ ? a_word_ : b_word_) = word;
  fill();
  Q_EMIT chosen();
}

void CompareChoices::choose(const QString& a, const QString& b) {
  for (const QString& word : {a, b})
    if (!extra_.contains(word) && !word.startsWith("plan:") && word != "found") extra_ << word;
  a_word_ = a, b_word_ = b;
  fill();
}

void CompareChoices::swap() {
  std::swap(a_word_, b_word_);
  fill();
}

void CompareChoices::choose_published(Field* field) {
  QStringList rows;
  for (const PreparedRow& row : published_set().rows) rows << q(row.row.id);
  rows.sort();
  bool agreed = false;
  const QString id = QInputDialog::getItem(this, "Published row", "Row", rows, 0, true, &agreed);
  if (!agreed || !rows.contains(id)) return fill();
  const QString word = q(published_word(id.toStdString()));
  if (!extra_.contains(word)) extra_ << word;
  take(field, word);
}

void CompareChoices::fill() {
  const Project& project = document_.project();
  QList<std::pair<QString, QString>> choices;  // pairs of text and word
  for (const ProjectPlan& plan : project.plans)
    choices.push_back({plan_title(plan), "plan:" + q(plan.name)});
  if (found_()) choices.push_back({"selected search result", "found"});
  const std::vector<RunEntry> runs = runs_.entries();
  for (std::size_t i = 0; i < std::min(kRecentRuns, runs.size()); ++i)
    choices.push_back({QString("run %1  %2").arg(runs[i].id).arg(q(runs[i].name)),
                       QString("run:%1").arg(runs[i].id)});
  for (const auto& [tag, count] : tags_of(runs))
    if (count > 1)
      choices.push_back(
          {QString("%1 runs tagged %2").arg(count).arg(q(tag)), "runs:tag:" + q(tag)});
  for (const QString& word : extra_)
    if (std::none_of(choices.begin(), choices.end(),
                     [&](const auto& choice) { return choice.second == word; }))
      choices.push_back({word, word});
  const auto has = [&](const QString& word) {
    return std::any_of(choices.begin(), choices.end(),
                       [&](const auto& choice) { return choice.second == word; });
  };
  const ProjectPlan* open = document_.plan();
  if (!has(a_word_))
    a_word_ = project.plans.empty() ? QString() : "plan:" + q(project.plans.front().name);
  if (!has(b_word_) || b_word_.isEmpty()) {
    b_word_.clear();
    if (open != nullptr && "plan:" + q(open->name) != a_word_) b_word_ = "plan:" + q(open->name);
    for (const auto& [text, word] : choices)
      if (b_word_.isEmpty() && word != a_word_) b_word_ = word;
  }
  for (Field* field : {a_, b_}) {
    const QSignalBlocker quiet(field);
    field->clear();
    for (const auto& [text, word] : choices) field->addItem(text, word);
    field->addItem("A published row…", kPublished);
    field->setCurrentIndex(field->findData(field == a_ ? a_word_ : b_word_));
  }
}

}  // namespace trainyard
