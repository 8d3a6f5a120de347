#include "app/desktop/planner/tune_panel.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/training_fields.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/controls/word_list.h"
#include "app/workspace/runs/fused_trials.h"
#include "app/workspace/runs/tuning/tune_words.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr std::int64_t kUsualTrials = 100, kUsualSteps = 20;
constexpr std::int64_t kMostWhole = 1'000'000;

// The figures that either way of trying can make small, in the order of their list.
constexpr TuneGoal kSimulatedGoals[] = {TuneGoal::Time, TuneGoal::Memory, TuneGoal::Money};
constexpr TuneGoal kMeasuredGoals[] = {TuneGoal::Loss, TuneGoal::Time, TuneGoal::Memory};

QString goal_title(TuneGoal goal) {
  switch (goal) {
    case TuneGoal::Time:
      return "step time";
    case TuneGoal::Memory:
      return "peak memory";
    case TuneGoal::Money:
      return "money";
    case TuneGoal::Loss:
      return "loss";
  }
  return {};
}

void check_budget(const std::string& text) {
  double number = 0;
  try {
    number = parse_number(text);
  } catch (const Error&) {  // said below
  }
  if (!(number >= 1e-9 && number <= 1e12))
    throw Error(Error::Kind::InvalidInput,
                "expected seconds, a number above 0, found \"" + text.substr(0, 40) + "\"");
}

void check_local(const std::string& word) {
  const Scenario named = open_named({"", word, "", {}});
  if (named.cluster.device.id != "cpu")
    throw Error(Error::Kind::InvalidInput,
                "expected devices of this machine, such as cpu:1, found " + named.cluster.name);
}

// A word such as "schedule=1f1b,zb-h1" is a family for each of its values, unless a plan takes it
// as one setting.
std::vector<std::string> families_of(const std::string& word) {
  if (word.find(',') == std::string::npos || word.find(' ') != std::string::npos) return {word};
  try {
    Plan plan;
    apply_words(plan, word);
    return {word};
  } catch (const Error&) {
    return parse_families(word);
  }
}

void check_families(const std::string& word) {
  for (const std::string& family : families_of(word)) {
    Plan plan;
    apply_words(plan, family);
  }
}

// "micro-batch=1..64" as "micro-batch 1 to 64", "train.rate=1e-4..0.1" as "rate of training ...".
QString title_of_vary(const QString& word) {
  QString key = word.section('=', 0, 0), values = word.section('=', 1);
  const bool training = key.startsWith("train.");
  if (training) key = key.mid(6) + " of training";
  values.replace("..", " to ").replace(",", ", ").replace("@", " from ");
  return key + " " + values;
}

QString title_of_family(const QString& word) {
  QString title = word;
  return title.replace(",", ", ").replace('=', ' ');
}

QStringList varied_names() {
  QStringList names;
  for (const Setting& each : settings()) names << q(each.key) + "=";
  for (const TrainingKey& each : training_keys()) names << "train." + q(each.key) + "=";
  return names;
}

}  // namespace

TunePanel::TunePanel(Document& document, const TuningSession& tuning, QWidget* parent)
    : QuestionPanel({"Tune", "Size of the tuning", "Trials done", "Why nothing is tuned",
                     "Question of the tuning"},
                    268, parent),
      document_(document),
      tuning_(tuning) {
  set_fields(make_question());
  connect(&tuning_, &TuningSession::changed, this, &TunePanel::refresh_progress);
  for (const WordList* list : {vary_, families_, training_})
    connect(list, &WordList::changed, this, &TunePanel::refresh_question);
  for (const CheckedField* field : {cluster_, steps_, trials_, budget_, seed_})
    connect(field, &CheckedField::changed, this, &TunePanel::refresh_question);
  for (const Field* field : {goal_, data_, fuse_})
    connect(field, &QComboBox::activated, this, &TunePanel::refresh_question);
  connect(ways_, &Segment::chosen, this, [this] {
    show_goals();
    refresh_question();
  });
  show_goals();
  refresh();
}

QWidget* TunePanel::make_question() {
  auto* inside = new QWidget;
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(10, 6, 10, 8);
  column->setSpacing(10);
  add_lists(column);
  add_ways(column);
  add_measured(column);
  add_limits(column);
  column->addStretch(1);
  return inside;
}

void TunePanel::add_lists(QVBoxLayout* column) {
  vary_ = new WordList({.title = "Settings to try",
                        .hint = "micro-batch=1..64",
                        .check = [this](const std::string& word) { check_vary(word); },
                        .chip = title_of_vary,
                        .offered = varied_names()});
  vary_->setToolTip(
      "A range as 1..64 or values as 1,2,4. The search begins at the first, or at what follows a "
      "@, which should be cheap.");
  families_ = new WordList({.title = "Families of settings",
                            .hint = "recompute=none,full",
                            .check = check_families,
                            .chip = title_of_family,
                            .offered = {}});
  families_->setToolTip(
      "Each value, or each line of several settings, is a family that is searched beside the "
      "others; the search spends where the next improvement is cheapest.");
  for (WordList* list : {vary_, families_}) column->addWidget(list);
}

void TunePanel::add_ways(QVBoxLayout* column) {
  ways_ = new Segment("How trials are tried", {"Simulated", "Measured"});
  ways_->set_current(0);
  column->addWidget(make_label("Each trial is", 11, QFont::Normal, "second"));
  column->addWidget(ways_);
  auto* row = new QHBoxLayout;
  row->addWidget(make_label("Minimise", 12, QFont::Normal, "second"));
  row->addStretch(1);
  goal_ = new Field("Minimise in the tuning");
  goal_->setFixedSize(104, kFieldHeight);
  row->addWidget(goal_);
  column->addLayout(row);
  about_ = make_label("", 11, QFont::Normal, "third");
  about_->setWordWrap(true);
  column->addWidget(about_);
}

void TunePanel::add_measured(QVBoxLayout* column) {
  real_ = new QWidget;
  auto* inner = new QVBoxLayout(real_);
  inner->setContentsMargins(0, 0, 0, 0);
  inner->setSpacing(8);
  cluster_ = new CheckedField({"Devices here", "", check_local});
  inner->addWidget(cluster_);
  const auto add = [&](const QString& title, Field* field) {
    auto* row = new QHBoxLayout;
    row->addWidget(make_label(title, 12, QFont::Normal, "second"));
    row->addStretch(1);
    field->setFixedSize(124, kFieldHeight);
    row->addWidget(field);
    inner->addLayout(row);
  };
  data_ = make_data_field("Data of the trials");
  add("Data", data_);
  fuse_ = new Field("Trials trained together");
  fuse_->addItem("each alone", -1);
  fuse_->addItem("as many as pay", 0);
  for (int most = 2; most <= FusedTrials::kMostJobs; most *= 2)
    fuse_->addItem(QString("at most %1").arg(most), most);
  add("Trained together", fuse_);
  about_fuse_ = make_label("", 11, QFont::Normal, "third");
  about_fuse_->setWordWrap(true);
  inner->addWidget(about_fuse_);
  training_ = make_training_list();
  inner->addWidget(training_);
  column->addWidget(real_);
}

void TunePanel::add_limits(QVBoxLayout* column) {
  steps_ = new CheckedField({"Updates per trial", "1", whole_check(1, kMostWhole)});
  trials_ = new CheckedField(
      {"Trials, at most", QString::number(kUsualTrials), whole_check(1, kMostWhole)});
  budget_ = new CheckedField({"Cost in seconds, at most", "no limit", check_budget, 84});
  seed_ = new CheckedField({"Seed", "0", whole_check(0, INT64_MAX)});
  for (QWidget* each : {steps_, trials_, budget_, seed_}) column->addWidget(each);
}

bool TunePanel::measured() const { return ways_->current() == 1; }

TuneGoal TunePanel::goal() const {
  const auto index = static_cast<std::size_t>(std::max(0, goal_->currentIndex()));
  return measured() ? kMeasuredGoals[index] : kSimulatedGoals[index];
}

std::optional<int> TunePanel::fuse() const {
  const int most = fuse_->currentData().toInt();
  return measured() && goal() == TuneGoal::Loss && most >= 0 ? std::optional(most) : std::nullopt;
}

std::vector<std::string> TunePanel::families() const {
  std::vector<std::string> all;
  for (const std::string& word : families_->words())
    for (const std::string& family : families_of(word)) all.push_back(family);
  return all;
}

// The open plan in each family.
std::vector<Plan> TunePanel::plans() const {
  const ProjectPlan* own = document_.plan();
  const Plan base = own == nullptr ? Plan() : open_named({"", "", own->file, own->settings}).plan;
  std::vector<Plan> all;
  for (const std::string& family : families()) {
    all.push_back(base);
    apply_words(all.back(), family);
  }
  if (all.empty()) all.push_back(base);
  return all;
}

void TunePanel::check_vary(const std::string& word) const {
  const Vary vary = parse_vary(word, plans());
  if (vary.training && !measured())
    throw Error(Error::Kind::InvalidInput, vary.key +
                                               " is a setting of training, which only measured "
                                               "trials have; choose Measured first");
}

void TunePanel::show_goals() {
  goal_->clear();
  for (const TuneGoal each : measured() ? kMeasuredGoals : kSimulatedGoals)
    goal_->addItem(goal_title(each));
  goal_->setCurrentIndex(0);
}

bool TunePanel::fields_hold() const {
  const std::initializer_list<const CheckedField*> always = {steps_, trials_, budget_, seed_};
  return std::all_of(always.begin(), always.end(),
                     [](const CheckedField* field) { return field->refusal().isEmpty(); }) &&
         (!measured() || cluster_->refusal().isEmpty());
}

std::optional<TuneRequest> TunePanel::request() const {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty() || !fields_hold()) return std::nullopt;
  TuneRequest asked;
  asked.base = request_of(document_.project(), *plan);
  asked.measure = measured();
  if (asked.measure)
    asked.base.cluster = cluster_->text().empty() ? here_.toStdString() : cluster_->text();
  else
    asked.calibration = asked.base.calibration;
  asked.base.calibration.clear();
  asked.vary = vary_->words();
  asked.arms = families();
  asked.goal = goal();
  if (asked.measure) {
    for (const std::string& word : training_->words()) apply_training(asked.training, word);
    asked.data = data_in(*data_);
  }
  asked.training.steps = whole_or(*steps_, asked.measure ? kUsualSteps : 1);
  asked.fuse = fuse();
  asked.options.most_evaluations = whole_or(*trials_, kUsualTrials);
  if (!budget_->text().empty()) asked.options.most_cost = parse_number(budget_->text());
  asked.options.seed = static_cast<std::uint64_t>(whole_or(*seed_, 0));
  return asked;
}

QString TunePanel::fingerprint() const {
  const auto asked = request();
  return asked ? q(tune_command(*asked)) : QString();
}

// Returns what the question lacks, found without opening the model; empty if it is complete.
QString TunePanel::missing() const {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty()) return "Open a model and a plan first.";
  const auto asked = request();
  if (!asked) return "A field below is wrong; the sentence under it says how.";
  if (asked->vary.empty() && asked->arms.size() < 2)
    return "Add a setting to try, or two families of settings.";
  QStringList keys;
  for (const std::string& word : asked->vary) {
    const QString key = q(word).section('=', 0, 0);
    const QString title = title_of_vary(key).trimmed();
    if (keys.contains(key)) return title + " is to be tried twice; turn one of the two off.";
    if (key.startsWith("train.") && !asked->measure)
      return title + " is only there where trials are measured; choose Measured, or turn it off.";
    keys << key;
  }
  return {};
}

bool TunePanel::commit() {
  bool whole = true;
  for (WordList* list : {vary_, families_, training_}) {
    list->refuse({});
    whole = list->commit() && whole;
  }
  for (CheckedField* field : {cluster_, steps_, trials_, budget_, seed_}) field->check();
  asked_ = fingerprint();
  if (const auto asked = request()) trials_asked_ = asked->options.most_evaluations;
  return whole && missing().isEmpty();
}

void TunePanel::refresh() {
  here_ = "cpu:1";
  if (const ProjectPlan* plan = document_.plan(); plan != nullptr) {
    const Project& project = document_.project();
    try {
      Scenario open_plan = open({project.model, project.cluster, plan->file, plan->settings});
      open_plan.plan = complete(open_plan);
      here_ = open_plan.cluster.device.id == "cpu"
                  ? q(project.cluster)
                  : q(local_cluster(devices_here(open_plan), {}).name);
    } catch (const Error&) {  // a plan that cannot run may still be tuned
    }
  }
  cluster_->set_usual(here_);
  refresh_question();
}

void TunePanel::refresh_question() {
  const bool real = measured();
  real_->setVisible(real);
  steps_->set_usual(QString::number(real ? kUsualSteps : 1));
  const bool loss = goal() == TuneGoal::Loss;
  fuse_->setEnabled(loss);
  about_->setText(
      real ? "Each trial trains the plan on this machine and costs the seconds that this takes."
           : "Each trial is simulated and costs the seconds that its updates would take. Cheap "
             "trials come first, and the search goes on where the next improvement costs least.");
  about_fuse_->setText(
      loss ? "Trials that differ in training alone can be trained as one program, which has the "
             "same losses and takes less time."
           : "Only trials that minimise the loss can be trained together, because those together "
             "have no step and no memory of their own.");
  refresh_progress();
  Q_EMIT changed();
}

void TunePanel::refresh_progress() {
  const bool running = tuning_.running();
  const TuneReport& report = tuning_.report();
  const QString wrong = running ? QString() : missing();
  show_run(running,
           running               ? "Stop"
           : report.arms.empty() ? "Tune"
                                 : "Tune again",
           running ? "Stop tuning" : "Start tuning", "play");
  run_->setEnabled(running || wrong.isEmpty());
  now_->hide();
  const auto asked = request();
  const std::int64_t most = running ? trials_asked_ : asked ? asked->options.most_evaluations : 0;
  if (running) {
    const auto done = static_cast<std::int64_t>(tuning_.waiting() ? 0 : report.trials.size());
    state_->setText("running");
    count_->setText(QString("%1 of at most %2 trials done").arg(done).arg(most));
    bar_->setRange(0, static_cast<int>(most));
    bar_->setValue(static_cast<int>(done));
    now_->setText(QString("Trial %1 is under way.").arg(done + 1));
    now_->show();
    show_wrong({});
    return;
  }
  count_->setText(
      wrong.isEmpty()
          ? QString("At most %1 %2").arg(q(format_count(most)), most == 1 ? "trial" : "trials")
          : QString("Nothing to tune"));
  state_->setText(report.arms.empty() ? "" : report.stopped ? "stopped" : "done");
  show_wrong(wrong);
  show_error();
}

// Puts the sentence of a refused question under the field that it is about.
void TunePanel::show_error() {
  const std::optional<Error>& error = tuning_.error();
  if (!error || fingerprint() != asked_) return;
  const QString sentence = q(error->what());
  const std::string& place = error->place().text;
  const std::pair<const char*, WordList*> lists[] = {
      {"--vary", vary_}, {"--arm", families_}, {"--train", training_}};
  for (const auto& [flag, list] : lists)
    if (place.starts_with(flag)) return list->refuse(sentence);
  if (place.starts_with("--cluster") && measured()) return cluster_->refuse(sentence);
  show_wrong(sentence);
}

}  // namespace trainyard
