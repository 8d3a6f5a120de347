#include "app/desktop/calibrate/synchrony_page.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/tables/view_table.h"
#include "backends/cpu/hogwild/measure_hogwild.h"

namespace trainyard {
namespace {

constexpr int kFormWidth = 280;                          // px
constexpr std::int64_t kMostShown = 10'000, kEach = 20;  // replicas; replayed arrivals of each

CheckedField* range_field(const char* title, double now, double least, double most) {
  return new CheckedField({title, QString::number(now), number_check(least, most), 72});
}

QString spoken_synchrony(const SynchronyModel& m) {
  QStringList lines;
  for (const std::string& sentence : synchrony_sentences(m)) lines << q(sentence);
  return lines.join(' ');
}

}  // namespace

SynchronyPage::SynchronyPage(Document& document, QWidget* parent)
    : StudyPage(document, "synchrony", std::make_unique<HogwildMeasurement>(), parent),
      measurement_(static_cast<HogwildMeasurement&>(work())) {
  model_.replicas = straggling_answer({});
  lay_out(make_form(),
          {"Replicas and threads that share weights", "Waiting, staleness or threads",
           "Rows behind the picture", "What follows from the picture"},
          std::make_unique<ChartScene>(ChartOf<SynchronyModel>{
              [this]() -> const SynchronyModel* {
                const bool there =
                    model_.picture != SynchronyPicture::Threads || model_.threads != nullptr;
                return there ? &model_ : nullptr;
              },
              draw_synchrony, describe_synchrony, spoken_synchrony,
              [this]() -> QString {
                return measurement_.running()
                           ? "Measuring …"
                           : "Measure threads, to see what those of this machine gain that share "
                             "the weights of one model without locks, and at which loss.";
              }}));
  which_ = new Segment("What is drawn", {"Waiting", "Staleness", "Threads"});
  which_->set_current(0);
  bar().row()->addWidget(which_);
  connect(which_, &Segment::chosen, this,
          [this](int index) { show_picture(static_cast<SynchronyPicture>(index)); });
  connect(&measurement_, &BackgroundMeasurement::changed, this, [this] {
    if (const auto found = measurement_.found(); found != model_.threads) {
      model_.threads = found;
      show_picture(SynchronyPicture::Threads);
    }
    refresh_state();
  });
  refresh();
}

QWidget* SynchronyPage::make_form() {
  const auto [panel, column] = make_panel(kFormWidth, 10);
  column->setContentsMargins(10, 8, 10, 8);
  const StragglingQuestion usual;
  const HogwildQuestion threads;
  const auto about = [](const char* words) {
    QLabel* const made = make_label(words, 11, QFont::Normal, "third");
    made->setWordWrap(true);
    return made;
  };
  replicas_ =
      new CheckedField({"Replicas", QString::number(usual.replicas), whole_check(2, kMostShown)});
  sigma_ = range_field("Spread of a step's time", usual.sigma, 0, kMostSpread);
  lasting_ = range_field("Spread between devices", usual.lasting, 0, kMostSpread);
  throttled_ = range_field("One replica slower, times", usual.throttled, 1, kMostThrottled);
  exchange_ = range_field("Exchange of a meeting, in steps", usual.exchange, 0, kMostThrottled);
  slow_link_ = range_field("One link slower, times", usual.slow_link, 1, kMostThrottled);
  period_ = new CheckedField(
      {"Steps between meetings", QString::number(usual.period), whole_check(1, 1'000'000), 72});
  threads_ =
      new CheckedField({"Threads, at most", QString::number(threads.threads), whole_check(1, 64)});
  nonzeros_ = new CheckedField(
      {"Features in a sample", QString::number(threads.nonzeros), whole_check(1, 1000), 72});
  start_ = new QPushButton("Measure threads");
  start_->setAccessibleName("Measure threads that share weights");
  start_->setToolTip(
      "Trains a logistic regression on threads of this machine: alone, under a lock and without.");
  start_->setProperty("kind", "primary");
  start_->setFixedHeight(kFieldHeight);
  state_ = make_label("", 11, QFont::Normal, "second");
  state_->setWordWrap(true);
  state_->setAccessibleName("State of the measurement");
  column->addWidget(
      about("Replicas on machines of their own: their steps take log-normal times, "
            "and whoever meets waits for the slowest."));
  for (CheckedField* field : asked()) {
    column->addWidget(field);
    connect(field, &CheckedField::changed, this, &SynchronyPage::ask);
  }
  column->addSpacing(8);
  column->addWidget(
      about("Threads of this machine that share the weights of one model (Hogwild): "
            "few features in a sample seldom meet those of another."));
  for (CheckedField* field : {threads_, nonzeros_}) {
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

void SynchronyPage::connect_commands(const Actions& actions) {
  connect_runs(actions, "threads", [this] {
    show_picture(SynchronyPicture::Threads);
    start();
  });
}

void SynchronyPage::show_picture(SynchronyPicture picture) {
  model_.picture = picture;
  which_->set_current(static_cast<int>(picture));
  scene().select({});
  refresh();
}

std::vector<CheckedField*> SynchronyPage::asked() const {
  return {replicas_, sigma_, lasting_, throttled_, period_, exchange_, slow_link_};
}

void SynchronyPage::ask() {
  bool hold = true;
  for (CheckedField* field : asked()) hold = field->check() && hold;
  if (!hold) return;
  StragglingQuestion question;
  question.replicas = whole_or(*replicas_, question.replicas);
  question.period = whole_or(*period_, question.period);
  question.sigma = number_or(*sigma_, question.sigma);
  question.lasting = number_or(*lasting_, question.lasting);
  question.throttled = number_or(*throttled_, question.throttled);
  question.exchange = number_or(*exchange_, question.exchange);
  question.slow_link = number_or(*slow_link_, question.slow_link);
  question.arrivals = std::max(question.arrivals, kEach * question.replicas);
  model_.replicas = straggling_answer(question);
  refresh();
}

void SynchronyPage::start() {
  bool hold = true;
  for (CheckedField* field : {threads_, nonzeros_}) hold = field->check() && hold;
  if (!hold || measurement_.running()) return;
  HogwildQuestion question;
  question.threads = static_cast<int>(whole_or(*threads_, question.threads));
  question.nonzeros = whole_or(*nonzeros_, question.nonzeros);
  measurement_.start<HogwildQuestion>(question, measure_hogwild);
}

std::optional<Drawing> SynchronyPage::picture() const {
  if (model_.picture == SynchronyPicture::Threads && model_.threads == nullptr) return std::nullopt;
  return synchrony_picture(model_);
}

std::optional<DataTable> SynchronyPage::table() const {
  if (!picture()) return std::nullopt;
  return synchrony_table(model_);
}

void SynchronyPage::refresh() {
  rows().show_table(synchrony_table(model_));
  rows().fit_columns();
  say(synchrony_sentences(model_));
  refresh_state();
}

// A measurement tells of its progress many times, which changes no row.
void SynchronyPage::refresh_state() {
  const bool running = measurement_.running();
  start_->setText(running ? "Stop" : "Measure threads");
  set_tone(state_, measurement_.error().empty() ? "second" : "error");
  state_->setText(running ? QString("measuring, %1 %").arg(qRound(100 * measurement_.progress()))
                          : q(measurement_.error()));
  canvas()->refresh();
}

}  // namespace trainyard
