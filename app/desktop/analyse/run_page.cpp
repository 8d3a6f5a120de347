#include "app/desktop/analyse/run_page.h"

#include <QAction>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <exception>
#include <variant>

#include "app/desktop/controls/actions.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/run_scene.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "core/base/error.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr const char* kWhat =
    "The project's predictions go by the run's own kernels from now on. It is kept in the "
    "project's file; Undo takes it back.";

RunProfile profile_of(const TrainingReport& report, const TrainingWish& wish,
                      const std::stop_token& stop) {
  const PricedScenario priced = open_priced(wish.request);
  const std::unique_ptr<CostModel> own = priced.cost ? nullptr : cost_model(priced.scenario);
  std::optional<MeasuredPrices> prior;
  if (!wish.request.calibration.empty()) prior = open_measured_prices(wish.request.calibration);
  return run_profile(report, training_of(wish), own ? *own : *priced.cost,
                     run_machine(prior ? std::get_if<Calibration>(&*prior) : nullptr), stop);
}

QString run_words(const RunProfile& profile) {
  const Calibration& c = profile.calibration;
  QString text = QString(
                     "%1 kernels measured, by shape and what runs before; old prediction %2, new "
                     "prediction %3 (measured %4)")
                     .arg(q(format_count(static_cast<std::int64_t>(c.kernels.size()))),
                          q(format_step_time(profile.before)), q(format_step_time(profile.after)),
                          q(format_step_time(profile.measured)));
  if (c.residual_worst > 0)
    text += QString("; errors of other steps: median %1, max %2")
                .arg(q(format_percent(c.residual_median)), q(format_percent(c.residual_worst)));
  return text + ".";
}

}  // namespace

RunPage::RunPage(Document& document, TrainingSession& training, QWidget* parent)
    : Page(parent),
      document_(document),
      training_(training),
      canvas_(new CanvasWidget("Run beside its prediction",
                               std::make_unique<RunScene>(training.model()))),
      troubles_(make_label("", 12, QFont::Normal, "second")),
      words_(new ElidedLabel(11, "second")),
      accept_(new QPushButton("Accept profile")),
      start_(new QPushButton("Start run…")) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  accept_->setAccessibleName("Accept profile of the run");
  accept_->setProperty("kind", "primary");
  accept_->setFixedHeight(kFieldHeight);
  auto* bar = new Header("This machine");
  bar->row()->addWidget(words_, 100);  // the title takes what it needs
  bar->row()->addWidget(accept_);
  // Under the sentence that says there is nothing yet.
  start_->setAccessibleName("Start run");
  start_->setProperty("kind", "primary");
  auto* empty = new QVBoxLayout(canvas_);
  empty->setContentsMargins(12, 48, 12, 12);
  empty->addWidget(start_, 0, Qt::AlignLeft | Qt::AlignTop);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(canvas_, 1);
  troubles_->setTextFormat(Qt::PlainText);
  troubles_->setWordWrap(true);
  troubles_->setContentsMargins(10, 6, 10, 6);
  troubles_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  troubles_->setAccessibleName("Flipped bits and failed ranks of the run");
  column->addWidget(troubles_);
  column->addWidget(bar);
  setFocusProxy(canvas_);
  connect(accept_, &QPushButton::clicked, this, &RunPage::accept);
  connect(&training_, &TrainingSession::changed, canvas_, &CanvasWidget::refresh);
  connect(&training_, &TrainingSession::started, start_, &QWidget::hide);
  connect(&training_, &TrainingSession::finished, this,
          [this] { start_->setVisible(!training_.model().predicted); });
  connect(canvas_, &CanvasWidget::painted, &training_, &TrainingSession::count_frame);
  connect(&training_, &TrainingSession::started, this, &RunPage::begin);
  connect(&training_, &TrainingSession::finished, this, &RunPage::work_out);
  connect(&document_, &Document::changed, this, &RunPage::refresh);
  refresh();
}

std::optional<Drawing> RunPage::picture() const {
  if (!training_.model().predicted) return std::nullopt;
  Drawing run({1400, 900});
  draw_run(run, trainyard::whole(run.size), training_.model(), {});
  return run;
}

std::vector<RunTrouble> RunPage::troubles() const {
  const TrainingReport* const report = training_.report().get();
  if (report == nullptr || training_.running()) return {};
  return run_troubles(report->run.flips, report->run.recovery, {report->run.kept, report->kept});
}

std::optional<DataTable> RunPage::table() const {
  DataTable table = run_table(training_.model());
  add_troubles(table, troubles());
  return table;
}

void RunPage::connect_commands(const Actions& actions) {
  connect(start_, &QPushButton::clicked, actions["run.start"], &QAction::trigger);
  start_->setToolTip(actions["run.start"]->toolTip());
  QAction* accept = actions["run.accept"];
  connect(accept, &QAction::triggered, this, [this] {
    document_.show_perspective("analyse", "run");
    this->accept();
  });
  const auto follow = [this, accept] {
    const QString why = why_not();
    accept->setEnabled(why.isEmpty());
    accept->setStatusTip(why.isEmpty() ? accept->toolTip() : why);
  };
  connect(this, &RunPage::changed, accept, follow);
  follow();
}

void RunPage::begin() {
  work_.stop();
  profile_.reset(), number_.reset(), error_.clear(), repeats_.clear();
  awaits_number_ = false;
  refresh();
}

void RunPage::await_number() {
  awaits_number_ = true;
  refresh();
}

void RunPage::set_number(std::optional<std::int64_t> run, const QString& repeats) {
  number_ = run;
  repeats_ = repeats;
  awaits_number_ = false;
  refresh();
}

void RunPage::work_out() {
  const std::shared_ptr<const TrainingReport> report = training_.report();
  if (report == nullptr || !report->measured) return refresh();
  work_.ask(
      [report, wish = training_.wish()](const std::stop_token& stop, const auto&) {
        Answer answer;
        try {
          answer.profile = std::make_shared<const RunProfile>(profile_of(*report, wish, stop));
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        } catch (const std::exception& wrong) {
          answer.error = wrong.what();
        }
        return answer;
      },
      [this](Answer answer) {
        profile_ = std::move(answer.profile);
        error_ = std::move(answer.error);
        refresh();
      });
  refresh();
}

std::string RunPage::word() const {
  const Result& predicted = training_.report()->predicted->result;
  return measured_prices_word(
      named_after_run(*profile_, number_, predicted.model_name + " on " + predicted.cluster_name));
}

QString RunPage::why_not() const {
  const RunModel& model = training_.model();
  if (model.running) return "Running: its measurements can be accepted at the end.";
  if (awaits_number_) return "The run's recording is being written.";
  if (work_.running()) return "Fitting the run's measurements.";
  if (!error_.empty()) return "The measurements cannot be used for prices: " + q(error_) + ".";
  if (model.failed) return "The run failed, so that there is nothing to accept.";
  if (profile_ == nullptr)
    return !model.predicted ? "Nothing was trained here yet: Ctrl R trains the plan, and its "
                              "measurements can be accepted."
                            : "No step of the run was measured whole, so that there is nothing to "
                              "accept.";
  if (profile_->calibration.kernels.empty()) return "The run measured no kernel.";
  if (document_.project().calibration == word())
    return "Accepted: the project's predictions go by this run.";
  return {};
}

void RunPage::accept() {
  if (!why_not().isEmpty()) return;
  document_.set_calibration(word());
}

void RunPage::refresh() {
  QStringList told;
  for (const std::string& sentence : trouble_sentences(troubles())) told << q(sentence);
  troubles_->setText(told.join(' '));
  troubles_->setVisible(!told.isEmpty());
  const QString why = why_not();
  accept_->setEnabled(why.isEmpty());
  accept_->setToolTip(why.isEmpty() ? QString(kWhat) : why);
  words_->setText(repeats_ + (why.isEmpty() ? run_words(*profile_) : why));
  Q_EMIT changed();
}

}  // namespace trainyard
