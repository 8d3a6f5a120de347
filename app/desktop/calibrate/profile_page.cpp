#include "app/desktop/calibrate/profile_page.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <memory>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/tables/view_table.h"
#include "app/workspace/runs/profile_study.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "visualizers/profile/profile_view.h"

namespace trainyard {
namespace {

constexpr int kProfileForm = 280;  // px
constexpr std::int64_t kUpdatesOfPlan = 10;

QString spoken_profile(const ProfileStudy& study) {
  QStringList lines;
  for (const std::string& sentence : profile_sentences(study)) lines << q(sentence);
  return lines.join(' ');
}

// A plan for other devices is put on virtual devices of this machine.
Scenario opened_here(const Request& request) {
  Scenario scenario = open(request);
  if (scenario.cluster.device.id == "cpu") return scenario;
  Scenario whole_plan = scenario;
  whole_plan.plan = complete(scenario);
  scenario.cluster = local_cluster(devices_here(whole_plan), {});
  return scenario;
}

ProfileStudy profile_of(const ProfileWish& wish) {
  ProfileQuestion question;
  if (wish.learner)
    question = cart_pole_question(wish.updates);
  else
    question.scenario = opened_here(wish.request);
  question.training.steps = wish.updates;
  question.rounds = wish.rounds, question.window = wish.window;
  question.stop = wish.stop, question.progress = wish.progress;
  return profile_study(question);
}

Duration window_or(const CheckedField& field, Duration usual) {
  const std::string typed = field.text();
  return typed.empty() ? usual : parse_duration(typed);
}

}  // namespace

ProfilePage::ProfilePage(Document& document, QWidget* parent)
    : StudyPage(document, "profile", std::make_unique<ProfileMeasurement>(), parent),
      document_(document),
      measurement_(static_cast<ProfileMeasurement&>(work())) {
  lay_out(make_form(),
          {"A profile that corrects itself", "Time by annotation and level",
           "Times by annotation and level", "What follows from the profile"},
          std::make_unique<ChartScene>(ChartOf<ProfileStudy>{
              [this] { return measurement_.found().get(); }, draw_profile, describe_profile,
              spoken_profile,
              [this]() -> QString {
                return measurement_.running()
                           ? "Profiling …"
                           : "Profile a training on this machine, to see where its time goes by "
                             "annotation, task, op and kernel, and what recording it took.";
              }}));
  canvas()->setMinimumHeight(320);  // four levels, one under another
  say({});
  connect(&measurement_, &BackgroundMeasurement::changed, this, [this] {
    if (measurement_.found().get() != shown_) show_found();
    refresh_state();
  });
  refresh_state();
}

QWidget* ProfilePage::make_form() {
  const auto [panel, column] = make_panel(kProfileForm, 10);
  column->setContentsMargins(10, 8, 10, 8);
  const ProfileQuestion usual;
  QLabel* const about = make_label(
      "Every round trains without records, with those of each level, without these and with all. "
      "What a record takes follows from the differences, and is taken out of the last.",
      11, QFont::Normal, "third");
  about->setWordWrap(true);
  which_ = new Segment("What is profiled", {"This plan", "Cart-pole learner"});
  which_->set_current(0);
  updates_ = new CheckedField(
      {"Updates of a run", QString::number(kUpdatesOfPlan), whole_check(1, 100'000), 72});
  rounds_ = new CheckedField({"Rounds", QString::number(usual.rounds), whole_check(1, 1000), 72});
  window_ = new CheckedField({"Time between samples", q(readable(usual.window)),
                              [](const std::string& typed) {
                                if (parse_duration(typed) <= Duration{})
                                  refuse("expected a time above 0, found \"" + typed + "\"");
                              },
                              72});
  start_ = new QPushButton("Profile");
  start_->setAccessibleName("Profile a training");
  start_->setToolTip("Trains on this machine in the background, again and again.");
  start_->setProperty("kind", "primary");
  start_->setFixedHeight(kFieldHeight);
  state_ = make_label("", 11, QFont::Normal, "second");
  state_->setWordWrap(true);
  state_->setAccessibleName("State of the profile");
  column->addWidget(about);
  column->addWidget(which_);
  for (CheckedField* field : {updates_, rounds_, window_}) {
    column->addWidget(field);
    connect(field, &CheckedField::changed, this, [field] { field->check(); });
  }
  column->addWidget(start_);
  column->addWidget(state_);
  column->addStretch(1);
  connect(start_, &QPushButton::clicked, this, [this] {
    if (measurement_.running())
      measurement_.stop();
    else
      start();
  });
  return panel;
}

void ProfilePage::connect_commands(const Actions& actions) {
  connect_runs(actions, "profile", [this] { start(); });
}

void ProfilePage::choose_learner(bool learner) { which_->set_current(learner ? 1 : 0); }

void ProfilePage::start() {
  bool hold = true;
  for (CheckedField* field : {updates_, rounds_, window_}) hold = field->check() && hold;
  if (!hold || measurement_.running()) return;
  const ProfileQuestion usual;
  ProfileWish wish;
  wish.learner = which_->current() == 1;
  if (!wish.learner) {
    const ProjectPlan* const plan = document_.plan();
    if (plan == nullptr || document_.project().model.empty())
      return measurement_.refuse("Open a model first, or profile the learner.");
    wish.request = request_of(document_.project(), *plan);
  }
  wish.updates = whole_or(*updates_, kUpdatesOfPlan);
  wish.rounds = static_cast<int>(whole_or(*rounds_, usual.rounds));
  wish.window = window_or(*window_, usual.window);
  measurement_.start<ProfileWish>(std::move(wish), profile_of);
}

std::optional<Drawing> ProfilePage::picture() const {
  if (measurement_.found() == nullptr) return std::nullopt;
  return profile_picture(*measurement_.found());
}

std::optional<DataTable> ProfilePage::table() const {
  if (measurement_.found() == nullptr) return std::nullopt;
  return profile_table(*measurement_.found());
}

void ProfilePage::show_found() {
  const auto found = measurement_.found();
  shown_ = found.get();
  scene().select({});
  rows().show_table(profile_table(*found));
  rows().fit_columns();
  std::vector<std::string> told = profile_sentences(*found);
  told.insert(told.begin(), found->work + ".");
  say(told);
}

// A profile tells of its progress many times, which changes no row.
void ProfilePage::refresh_state() {
  const bool running = measurement_.running();
  start_->setText(running ? "Stop" : "Profile");
  set_tone(state_, measurement_.error().empty() ? "second" : "error");
  state_->setText(running ? QString("profiling, %1 %").arg(qRound(100 * measurement_.progress()))
                          : q(measurement_.error()));
  canvas()->refresh();
}

}  // namespace trainyard
