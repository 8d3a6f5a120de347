#include "app/desktop/planner/sweep_panel.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/controls/word_list.h"
#include "app/desktop/planner/space_panel.h"
#include "core/cluster/device.h"
#include "core/io/json/inline_document.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr const char* kJsonFiles = "JSON (*.json);;All files (*)";

QStringList model_names() {
  QStringList names;
  for (const ZooEntry& entry : zoo()) names << q(entry.name);
  return names;
}

QStringList cluster_names() {
  QStringList names;
  for (const Device& device : devices()) names << q(device.id) + ":8";
  return names;
}

QStringList setting_names() {
  QStringList names;
  for (const Setting& each : settings()) names << q(each.key) + "=";
  return names;
}

QString title_of_word(const QString& word) { return q(word_title(word.toStdString())); }

// "seq=4096,8192" as "seq 4096, 8192", and of many values the first and the last.
QString title_of_axis(const QString& word) {
  constexpr qsizetype kMostShown = 6;
  QStringList values = word.section('=', 1).split(',');
  if (const qsizetype count = values.size(); count > kMostShown)
    values = {values[0], values[1], QString::fromUtf8("…"),
              values.last() + QString(" (%1 values)").arg(count)};
  return word.section('=', 0, 0) + " " + values.join(", ").replace('=', ' ');
}

void check_axis(const std::string& word) {
  const SweepAxis axis = parse_sweep_axis(word);
  // A value may need those of other settings; only the key is sure to be wrong alone.
  if (find_setting(axis.name) == nullptr && !is_choice_param(axis.name))
    open_named({"", "", "", {axis.name + "=" + axis.values.front()}});
}

// The settings without those that the axes set.
std::vector<std::string> without_varied(const std::vector<std::string>& settings,
                                        const std::vector<SweepAxis>& axes) {
  std::vector<std::string> varied;
  for (const SweepAxis& axis : axes)
    for (const std::string& value : axis.values) varied.push_back(axis.name + "=" + value);
  const std::vector<std::string> keys = setting_keys(varied);
  std::vector<std::string> kept;
  for (const std::string& assignment : settings) {
    const std::vector<std::string> own = setting_keys({assignment});
    if (std::none_of(own.begin(), own.end(), [&](const std::string& key) {
          return std::find(keys.begin(), keys.end(), key) != keys.end();
        }))
      kept.push_back(assignment);
  }
  return kept;
}

}  // namespace

SweepPanel::SweepPanel(Document& document, const SpacePanel& space, const Sweeping& sweeping,
                       QWidget* parent)
    : QuestionPanel({"Sweep", "Size of the sweep", "Combinations done", "Why nothing is swept",
                     "Question of the sweep"},
                    248, parent),
      document_(document),
      space_(space),
      sweeping_(sweeping) {
  set_fields(make_question());
  connect(&sweeping_, &Sweeping::changed, this, &SweepPanel::refresh_progress);
  for (const WordList* list : {models_, clusters_, prices_, vary_})
    connect(list, &WordList::changed, this, &SweepPanel::refresh_size);
  connect(plans_, &Segment::chosen, this, &SweepPanel::refresh_size);
  connect(objective_, &QComboBox::activated, this, &SweepPanel::refresh_size);
  refresh();
  refresh_progress();
}

QWidget* SweepPanel::make_question() {
  models_ = new WordList({.title = "Models",
                          .hint = "a published model, or a file",
                          .check = [](const std::string& word) { open_named({word, "", "", {}}); },
                          .chip = title_of_word,
                          .offered = model_names(),
                          .files = kJsonFiles});
  clusters_ =
      new WordList({.title = "Clusters",
                    .hint = "h100-sxm:64, or a file",
                    .check = [](const std::string& word) { open_named({"", word, "", {}}); },
                    .chip = title_of_word,
                    .offered = cluster_names(),
                    .files = kJsonFiles});
  prices_ = new WordList({.title = "Prices of a device-hour, US dollars",
                          .hint = "2.50; none: the cluster's own",
                          .check = parse_sweep_price});
  vary_ = new WordList({.title = "Values of settings",
                        .hint = "seq=4096,8192",
                        .check = check_axis,
                        .chip = title_of_axis,
                        .offered = setting_names()});
  auto* inside = new QWidget;
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(10, 6, 10, 8);
  column->setSpacing(10);
  for (WordList* list : {models_, clusters_, vary_, prices_}) column->addWidget(list);
  plans_ = new Segment("Plan of each combination", {"Best plan", "Open plan"});
  plans_->set_current(0);
  column->addWidget(make_label("Each combination has", 11, QFont::Normal, "second"));
  column->addWidget(plans_);
  auto* row = new QHBoxLayout;
  row->addWidget(make_label("Minimise", 12, QFont::Normal, "second"));
  row->addStretch(1);
  objective_ = new Field("Minimise in each search");
  objective_->addItems({"step time", "peak memory", "money"});
  objective_->setFixedSize(104, kFieldHeight);
  row->addWidget(objective_);
  column->addLayout(row);
  about_ = make_label("", 11, QFont::Normal, "third");
  about_->setWordWrap(true);
  column->addWidget(about_);
  column->addStretch(1);
  return inside;
}

std::optional<SweepQuestion> SweepPanel::question() const {
  const ProjectPlan* plan = document_.plan();
  const auto searched = space_.question();
  if (plan == nullptr || !searched) return std::nullopt;
  SweepQuestion asked;
  asked.models = models_->words();
  asked.clusters = clusters_->words();
  for (const QString& word : prices_->on())
    asked.prices.push_back(parse_sweep_price(word.toStdString()));
  for (const QString& word : vary_->on())
    asked.vary.push_back(parse_sweep_axis(word.toStdString()));
  asked.as_given = plans_->current() == 1;
  asked.plan = plan->file;
  asked.settings =
      without_varied(asked.as_given ? plan->settings : searched->request.settings, asked.vary);
  asked.calibration = searched->calibration;
  PlanWish wish = space_.wish();
  wish.objective = static_cast<PlanObjective>(objective_->currentIndex());
  asked.options = options_of(wish);
  if (!asked.as_given) asked.bounds = searched->bounds;
  return asked;
}

QString SweepPanel::fingerprint() const {
  const auto asked = question();
  if (!asked) return {};
  QStringList words = {QString::number(plans_->current()), q(asked->plan), q(asked->calibration),
                       QString::number(objective_->currentIndex()),
                       QString::number(asked->options.spare.value)};
  for (const WordList* list : {models_, clusters_, prices_, vary_}) words << "" << list->on();
  words << "";
  for (const std::string& word : asked->settings) words << q(word);
  for (const Bound& bound : asked->bounds) words << q(bound.key + " in " + bound.values);
  return words.join('\n');
}

// Returns what the question lacks, found without opening anything; empty if it is complete.
QString SweepPanel::missing() const {
  const auto asked = question();
  if (!asked) return "Open a model and a plan first.";
  if (asked->models.empty()) return "Add a model, or turn one on.";
  if (asked->clusters.empty()) return "Add a cluster, or turn one on.";
  try {
    expect_sweep_size(*asked);
    std::vector<std::string> first = asked->settings;
    for (const SweepAxis& axis : asked->vary)
      first.push_back(axis.name + "=" + axis.values.front());
    const std::vector<std::string> keys = setting_keys(first);
    if (asked->as_given || std::find(keys.begin(), keys.end(), "global-batch") != keys.end())
      return {};
    if (open_named({"", "", asked->plan, asked->settings}).plan.batch.global > 0) return {};
    return "A search compares steps of one size: expected a global batch of the plan, found none.";
  } catch (const Error& error) {
    return q(error.what());
  }
}

bool SweepPanel::commit() {
  bool whole = true;
  for (WordList* list : {models_, clusters_, vary_, prices_}) {
    list->refuse({});
    whole = list->commit() && whole;
  }
  asked_ = fingerprint();
  return whole && missing().isEmpty();
}

void SweepPanel::refresh() {
  const Project& project = document_.project();
  models_->set_usual(project.model.empty() ? QStringList() : QStringList{q(project.model)});
  clusters_->set_usual(project.cluster.empty() ? QStringList() : QStringList{q(project.cluster)});
  refresh_size();
}

void SweepPanel::refresh_size() {
  const bool as_given = plans_->current() == 1;
  objective_->setEnabled(!as_given);
  about_->setText(as_given
                      ? "Each combination is simulated with the settings of the open plan; those "
                        "that are varied take their values in turn."
                      : "Each search goes through the space of the tab Plans, with its memory "
                        "reserve, and takes everything else from the open plan.");
  refresh_progress();
  Q_EMIT changed();
}

void SweepPanel::refresh_progress() {
  const bool running = sweeping_.running();
  const SweepStudy& study = sweeping_.study();
  const QString wrong = running ? QString() : missing();
  show_run(running,
           running              ? "Stop"
           : study.axes.empty() ? "Sweep"
                                : "Sweep again",
           running ? "Stop the sweep" : "Sweep all combinations", "play");
  run_->setEnabled(running || wrong.isEmpty());
  if (running) {
    const std::size_t all = combinations(study.axes), done = study.rows.size();
    state_->setText("running");
    count_->setText(QString("%1 of %2 done").arg(done).arg(study.axes.empty() ? 1 : all));
    bar_->setRange(0, static_cast<int>(all));
    bar_->setValue(static_cast<int>(done));
    QString words = done < all ? q(combination_words(study, done)) : QString();
    if (sweeping_.tried() > 0)
      words += QString(words.isEmpty() ? "%1 plans tried" : "\n%1 plans tried")
                   .arg(q(format_count(static_cast<std::int64_t>(sweeping_.tried()))));
    now_->setText(words);
    now_->setVisible(!words.isEmpty());
    show_wrong({});
    return;
  }
  const auto asked = question();
  const std::size_t size = asked ? combinations(sweep_axes(*asked)) : 0;
  count_->setText(size == 0                  ? QString("Nothing to sweep")
                  : size > kMostCombinations ? QString("Too many combinations")
                  : size == 1                ? QString("1 combination")
                              : q(format_count(static_cast<std::int64_t>(size))) + " combinations");
  state_->setText(study.axes.empty() ? "" : study.stopped() ? "stopped" : "done");
  now_->hide();
  show_wrong(wrong);
  show_error();
}

// Puts the sentence of a refused question under the field that it is about.
void SweepPanel::show_error() {
  const std::optional<Error>& error = sweeping_.error();
  if (!error || fingerprint() != asked_) return;
  const std::pair<const char*, WordList*> places[] = {
      {"--model", models_}, {"--cluster", clusters_}, {"--price", prices_}, {"--vary", vary_}};
  for (const auto& [place, list] : places)
    if (error->place().text.starts_with(place)) return list->refuse(q(error->what()));
  show_wrong(q(error->what()));
}

}  // namespace trainyard
