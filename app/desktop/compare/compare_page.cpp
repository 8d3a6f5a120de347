#include "app/desktop/compare/compare_page.h"

#include <QCheckBox>
#include <QEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "app/desktop/compare/compare_choices.h"
#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/workspace/comparison/comparison_files.h"
#include "app/workspace/comparison/run_report.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "app/workspace/scenario/published.h"
#include "core/base/error.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/documents/benchmark_report_json.h"
#include "core/result/scenario_text.h"
#include "visualizers/compare/outperforming_view.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/imgui/render.h"
#include "visualizers/memory/cause_place.h"

namespace trainyard {
namespace {

constexpr int kRight = 372,
              kNotePause = 700;  // px; ms after the last key until a note is stored

// A plan's title in headings besides its letter: its schedule if it states one.
std::string heading_of(const ProjectPlan& plan) {
  const std::string schedule = own_setting(plan, "schedule");
  return schedule.empty() ? plan_title(plan).simplified().toStdString() : schedule;
}

// Converts a range to one within its step.
TimeRange within_step(const TimeRange& range, const ComparisonSide& side) {
  return {range.from - side.step.from, range.to - side.step.from};
}

TimeRange around(const TimeRange& range, Instant end) {
  const Duration room = std::max(range.length(), Duration{end.count() / 20});
  return {std::max(Instant{0}, range.from - room), std::min(end, range.to + room)};
}

}  // namespace

struct ComparePage::Answer {
  std::shared_ptr<const ResultComparison> result;
  std::shared_ptr<const ComparisonModel> timelines;
  std::string error;
};

ComparePage::ComparePage(Document& document, RunList& runs,
                         std::function<std::optional<Scenario>()> found, QWidget* parent)
    : Page(parent), document_(document), runs_(runs), found_(std::move(found)), alive_(&document) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  choices_ =
      new CompareChoices(document, runs, [this] { return found_ && found_().has_value(); }, this);
  choices_->hide();
  cards_ = new CanvasWidget("Figures of both results", card_scene(look_));
  cards_->setFixedHeight(static_cast<int>(kFigureCards));
  judged_ = new CanvasWidget("Runs of both, and the verdict", judged_scene(look_));
  judged_->hide();
  timelines_ = new CanvasWidget(
      "Timelines over each other",
      std::make_unique<CompareScene>(
          look_, CompareScene::Told{[this] { swap(); }, [this] { set_linked(!look_.state.linked); },
                                    [this] { set_deltas_only(!look_.state.deltas_only); },
                                    [this] { refresh(); }}));
  auto* middle = new QHBoxLayout;
  middle->setContentsMargins(0, 0, 0, 0);
  middle->setSpacing(1);
  middle->addWidget(timelines_, 1);
  middle->addWidget(make_right());
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_head());
  column->addWidget(cards_);
  column->addWidget(judged_);
  column->addLayout(middle, 1);
  connect(choices_, &CompareChoices::leaving, this, &ComparePage::commit_note);
  connect(choices_, &CompareChoices::chosen, this, &ComparePage::start);
  note_pause_.setSingleShot(true);
  note_pause_.setInterval(kNotePause);
  connect(&note_pause_, &QTimer::timeout, this, &ComparePage::commit_note);
  for (const auto signal : {&Document::changed, &Document::view_changed})
    connect(&document_, signal, this, [this] {
      if (!isVisible()) return;
      choices_->fill();
      start();
      if (!note_->hasFocus() && !note_pause_.isActive()) show_note();
    });
  connect(&runs_, &RunList::changed, this, [this] {
    for (const QString& word : {a(), b()})
      if (names_runs(word.toStdString())) asked_.clear();
    if (!isVisible()) return;
    choices_->fill();
    start();
  });
  // The choices are in the tool bar, which may be visible while another tab is shown. They are
  // refreshed later, when the shown data has changed.
  connect(
      &document_, &Document::view_changed, this,
      [this] {
        if (!isVisible() && choices_->isVisible()) choices_->fill();
      },
      Qt::QueuedConnection);
  refresh();
}

QWidget* ComparePage::make_head() {
  auto* bar = new QWidget;
  bar->setObjectName("header");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(kVerdictHeight);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(12, 0, 12, 0);
  row->setSpacing(10);
  head_ = new ElidedLabel(13, "");
  head_->setFont(ui_font(13, QFont::DemiBold));
  head_->setAccessibleName("What the comparison says");
  chip_ = make_chip("", "plain");
  chip_->setAccessibleName("Freshness of the comparison");
  linked_ = new QCheckBox("Link axes");
  linked_->setAccessibleName("Link axes");
  linked_->setToolTip("One time axis for both (L)");
  linked_->setChecked(true);
  deltas_ = new QCheckBox("Deltas only");
  deltas_->setAccessibleName("Deltas only");
  deltas_->setToolTip("What B holds more or less than A, in place of the lanes (D)");
  swap_ = new QPushButton("Swap");
  swap_->setAccessibleName("Swap A and B");
  swap_->setToolTip("A becomes B and B becomes A (X)");
  export_ = new QPushButton("Export…");
  export_->setAccessibleName("Export the comparison");
  export_->setToolTip("As PNG, SVG, CSV or one HTML page");
  row->addWidget(head_, 1);
  row->addWidget(chip_);
  row->addWidget(linked_);
  row->addWidget(make_key("L"));
  row->addWidget(deltas_);
  row->addWidget(make_key("D"));
  row->addWidget(swap_);
  row->addWidget(make_key("X"));
  row->addWidget(export_);
  connect(linked_, &QCheckBox::toggled, this, &ComparePage::set_linked);
  connect(deltas_, &QCheckBox::toggled, this, &ComparePage::set_deltas_only);
  connect(swap_, &QPushButton::clicked, this, &ComparePage::swap);
  connect(export_, &QPushButton::clicked, this, &ComparePage::export_dialog);
  return bar;
}

QWidget* ComparePage::make_right() {
  auto* panel = new QWidget;
  panel->setObjectName("panel");
  panel->setAttribute(Qt::WA_StyledBackground);
  panel->setFixedWidth(kRight);
  auto* column = new QVBoxLayout(panel);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* causes = new Header("A to B by cause");
  kind_ = new Segment("Causes of", {"Time", "Memory"});
  kind_->set_current(0);
  causes->row()->addWidget(make_label("click to jump", 11, QFont::Normal, "third"));
  causes->row()->addWidget(kind_);
  column->addWidget(causes);
  causes_ = new CanvasWidget("Difference by cause", std::make_unique<CauseScene>(
                                                        look_, [this](int cause) { jump(cause); }));
  causes_->setMinimumHeight(200);
  column->addWidget(causes_, 3);
  column->addWidget(new Header("By stage"));
  ranks_ =
      new CanvasWidget("Difference by stage", std::make_unique<RankScene>(look_, [this](int r) {
                         look_.state.rank = static_cast<std::uint32_t>(r);
                         refresh();
                       }));
  ranks_->setMinimumHeight(120);
  column->addWidget(ranks_, 2);
  auto* why = new Header("Why");
  why->row()->addWidget(make_label("note saved in project", 11, QFont::Normal, "third"));
  column->addWidget(why);
  auto* words = new QVBoxLayout;
  words->setContentsMargins(12, 6, 12, 10);
  words->setSpacing(6);
  why_ = make_label("", 12, QFont::Normal, "second");
  why_->setWordWrap(true);
  why_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  why_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  words->addWidget(why_);
  note_ = new QPlainTextEdit;
  note_->setAccessibleName("Note on this comparison");
  note_->setPlaceholderText("A note on this comparison");
  note_->setTabChangesFocus(true);
  note_->setFixedHeight(56);
  note_->installEventFilter(this);
  words->addWidget(note_);
  auto* row = new QHBoxLayout;
  row->addStretch(1);
  adopt_ = new QPushButton("Adopt B");
  adopt_->setAccessibleName("Adopt B");
  adopt_->setToolTip("B becomes the open plan");
  row->addWidget(adopt_);
  words->addLayout(row);
  column->addLayout(words);
  connect(kind_, &Segment::chosen, this, [this](int index) {
    look_.memory = index == 1;
    look_.chosen.reset();
    refresh();
  });
  connect(note_, &QPlainTextEdit::textChanged, &note_pause_, qOverload<>(&QTimer::start));
  connect(adopt_, &QPushButton::clicked, this, &ComparePage::adopt);
  return panel;
}

QList<CanvasWidget*> ComparePage::canvases() const {
  QList<CanvasWidget*> list = {timelines_, cards_, causes_, ranks_};
  if (!judged_->isHidden()) list << judged_;
  return list;
}

std::optional<Drawing> ComparePage::picture() const {
  if (look_.result == nullptr) return std::nullopt;
  return comparison_picture(*look_.result);
}

std::optional<DataTable> ComparePage::table() const {
  const WaterfallModel* causes = look_.causes();
  if (causes == nullptr) return std::nullopt;
  const DataUnit unit = look_.memory ? DataUnit::ByteCount : DataUnit::Time;
  std::vector<std::vector<DataCell>> rows;
  for (const WaterfallPart& part : causes->parts)
    rows.push_back({part.name, part.a, part.b, part.change()});
  return listed_table(causes->title,
                      {{"cause", DataUnit::Words}, {"A", unit}, {"B", unit}, {"difference", unit}},
                      std::move(rows));
}

QWidget* ComparePage::tools() { return choices_; }
QString ComparePage::a() const { return choices_->a(); }
QString ComparePage::b() const { return choices_->b(); }

void ComparePage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  choices_->fill();
  start();
  show_note();
}

bool ComparePage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == note_ && event->type() == QEvent::FocusOut) commit_note();
  return Page::eventFilter(watched, event);
}

void ComparePage::compare(const QString& a, const QString& b) {
  commit_note();
  choices_->choose(a, b);
  start();
}

// Everything on which a result depends: an equal fingerprint means an equal result.
QString ComparePage::fingerprint(const QString& word) const {
  const Project& project = document_.project();
  QString text = word;
  if (const ProjectPlan* plan = plan_called(project, word)) {
    text += '\n' + q(project.model) + '\n' + q(project.cluster) + '\n' + q(plan->file) + '\n' +
            q(project.calibration);
    for (const std::string& setting : plan->settings) text += '\n' + q(setting);
  }
  if (word == "found")
    if (const auto scenario = found_()) text += '\n' + q(scenario_text(*scenario));
  return text;
}

std::function<ComparedResult(std::stop_token)> ComparePage::opener(const QString& word) const {
  if (const ProjectPlan* plan = plan_called(document_.project(), word)) {
    const Request request = request_of(document_.project(), *plan);
    return [request, title = heading_of(*plan)](std::stop_token stop) {
      PricedScenario priced = open_priced(request);
      return compared_plan(std::move(priced.scenario), title, std::move(stop), priced.cost.get());
    };
  }
  if (word == "found")
    return [scenario = found_()](std::stop_token stop) {
      return compared_plan(*scenario, "found", std::move(stop));
    };
  if (names_runs(word.toStdString()))
    return [path = runs_.path(), text = word.toStdString()](const std::stop_token&) {
      return compared_runs(text, RunStore(path));
    };
  return [text = word.toStdString()](const std::stop_token&) { return open_compared(text, {}); };
}

void ComparePage::start() {
  if (a().isEmpty() || b().isEmpty() || document_.project().model.empty()) {
    work_.stop();
    asked_.clear();
    look_.result.reset(), look_.timelines.reset(), look_.cards.clear();
    look_.words = words_of_nothing();
    return refresh();
  }
  const QString wanted = fingerprint(a()) + "\n\n" + fingerprint(b());
  if (wanted == asked_) return refresh();
  asked_ = wanted;
  try {
    work_.ask(
        [a = opener(a()), b = opener(b())](const std::stop_token& stop, const auto&) {
          Answer answer;
          try {
            ComparedResult first = a(stop), second = b(stop);
            auto result = std::make_shared<const ResultComparison>(
                compare_results(std::move(first), std::move(second)));
            if (result->a.experiment && result->b.experiment)
              answer.timelines = std::make_shared<const ComparisonModel>(comparison_model(
                  result->a.experiment, result->a.title, result->b.experiment, result->b.title));
            answer.result = std::move(result);
          } catch (const Error& wrong) {
            answer.error = describe(wrong);
          } catch (const std::exception& wrong) {
            answer.error = std::string("the comparison failed: ") + wrong.what();
          }
          return answer;
        },
        [this](const Answer& answer) { show_answer(answer); });
  } catch (const Error& wrong) {
    show_answer({nullptr, nullptr, describe(wrong)});
  }
  look_.words = "Comparing …";
  refresh();
}

void ComparePage::show_answer(const Answer& answer) {
  look_.result = answer.result;
  look_.timelines = answer.timelines;
  look_.cards = answer.result == nullptr ? std::vector<FigureCard>{} : figure_cards(*answer.result);
  look_.words = q(answer.error);
  look_.chosen.reset();
  look_.state.a = {}, look_.state.b = {};
  show_note();
  refresh();
}

QString ComparePage::words_of_nothing() const {
  if (document_.project().model.empty()) return "Open a model and a plan first.";
  return "There is one plan only. Ctrl+D duplicates it, to change the copy; or "
         "choose a published "
         "row or a recorded run as B.";
}

void ComparePage::refresh() {
  const bool there = look_.result != nullptr;
  head_->setText(there ? q(look_.result->headline) : look_.words);
  head_->setToolTip(head_->text());
  chip_->setVisible(work_.running() || there);
  chip_->setText(work_.running() ? "comparing" : "both fresh");
  set_tone(chip_, work_.running() ? "plain" : "ok");
  QStringList reasons;
  if (there)
    for (const std::string& reason : look_.result->reasons) reasons << q(reason);
  why_->setText(reasons.join(" "));
  export_->setEnabled(there);
  swap_->setEnabled(!a().isEmpty() && !b().isEmpty());
  note_->setEnabled(there);
  const float judged = there ? outperforming_height(look_.result->judged) : 0;
  judged_->setVisible(judged > 0);
  if (judged > 0) judged_->setFixedHeight(static_cast<int>(judged));
  adopt_->setEnabled(plan_called(document_.project(), b()) != nullptr);
  for (CanvasWidget* canvas : canvases()) canvas->refresh();
}

void ComparePage::swap() {
  commit_note();
  choices_->swap();
  std::swap(look_.state.a, look_.state.b);
  start();
}

void ComparePage::set_linked(bool linked) {
  if (look_.state.linked == linked) return;
  look_.state.linked = linked;
  if (!linked) look_.state.b.shown = look_.state.a.shown;
  linked_->setChecked(linked);
  for (ViewState* state : {&look_.state.a, &look_.state.b}) state->shown.reset();
  Q_EMIT toggled();
  refresh();
}

void ComparePage::set_deltas_only(bool deltas) {
  if (look_.state.deltas_only == deltas) return;
  look_.state.deltas_only = deltas;
  deltas_->setChecked(deltas);
  Q_EMIT toggled();
  refresh();
}

void ComparePage::jump(int cause) {
  const WaterfallModel* causes = look_.causes();
  if (causes == nullptr || cause < 0 || cause >= static_cast<int>(causes->parts.size())) return;
  look_.chosen = cause;
  if (look_.timelines == nullptr) return refresh();
  const ComparisonModel& model = *look_.timelines;
  ComparisonState& state = look_.state;
  if (look_.memory) {
    // The peak of the side that holds more.
    const bool b = causes->b() >= causes->a();
    const ComparisonSide& side = b ? model.b : model.a;
    state.rank = side.memory.worst.value;
    const Instant at = peak_at(side.memory.totals[*state.rank]) - side.step.from;
    const TimeRange shown = around({at, at + Duration{1}}, model.end);
    state.a.cursor = state.b.cursor = at;
    state.a.range.reset(), state.b.range.reset();
    state.a.shown = state.b.shown = shown;
    return refresh();
  }
  const WaterfallPart& part = causes->parts[static_cast<std::size_t>(cause)];
  const auto stretch = [&](const ComparedResult& side) {
    return longest_stretch(*side.experiment, side.experiment->result.critical_device, part.name);
  };
  const auto in_a = stretch(look_.result->a), in_b = stretch(look_.result->b);
  // Both timelines move to where the side with more of this part has most of it.
  const bool of_b = (part.b >= part.a && in_b) || !in_a;
  if (!in_a && !in_b) return refresh();
  const TimeRange found = of_b ? within_step(*in_b, model.b) : within_step(*in_a, model.a);
  state.a.range = state.linked ? found : in_a ? within_step(*in_a, model.a) : found;
  state.b.range = in_b ? within_step(*in_b, model.b) : found;
  state.a.shown = around(*state.a.range, state.linked ? model.end : model.a.step.length());
  state.b.shown = around(*state.b.range, model.b.step.length());
  state.a.cursor.reset(), state.b.cursor.reset();
  refresh();
}

void ComparePage::adopt() {
  const Project& project = document_.project();
  if (const ProjectPlan* plan = plan_called(project, b()))
    document_.show_plan(static_cast<int>(plan - project.plans.data()));
}

void ComparePage::show_note() {
  const QSignalBlocker quiet(note_);
  note_->setPlainText(q(note_on(document_.project(), a().toStdString(), b().toStdString())));
}

void ComparePage::commit_note() {
  note_pause_.stop();
  // The last loss of focus may come while the window is destroyed.
  if (alive_ == nullptr || look_.result == nullptr || a().isEmpty() || b().isEmpty()) return;
  const std::string first = a().toStdString(), second = b().toStdString(),
                    text = note_->toPlainText().toStdString();
  if (text == note_on(document_.project(), first, second)) return;
  document_.change("Note on " + a() + " against " + b(),
                   with_note(document_.project(), first, second, text), "note " + a() + " " + b());
}

std::string ComparePage::report() const {
  const std::string first = a().toStdString(), second = b().toStdString();
  if (!names_runs(first) || !names_runs(second))
    throw Error(
        Error::Kind::InvalidInput,
        "a benchmark report is of recorded runs on both sides, found " + first + " and " + second,
        {"export"});
  return write_json(
      benchmark_report_fields().write(report_of_runs(first, second, RunStore(runs_.path()))));
}

void ComparePage::export_to(const QString& path) {
  if (look_.result == nullptr) return;
  const std::string note = note_on(document_.project(), a().toStdString(), b().toStdString());
  const auto bytes = [&]() -> std::string {
    if (path.endsWith(".json")) return report();
    if (path.endsWith(".csv")) return comparison_csv(*look_.result);
    if (path.endsWith(".html")) return comparison_html(*look_.result, note, current_theme());
    const Drawing drawing = comparison_picture(*look_.result);
    if (path.endsWith(".svg")) return to_svg(drawing, current_theme());
    if (path.endsWith(".png")) return to_png(trainyard::render(drawing, 2, current_theme()));
    throw Error(Error::Kind::InvalidInput,
                "expected a name that ends in .png, .svg, .csv, .html or .json, found \"" +
                    path.section('/', -1).toStdString() + "\"",
                {"export"});
  };
  write_file_atomically(path.toStdString(), bytes());
}

void ComparePage::export_dialog() {
  commit_note();
  const QString path =
      QFileDialog::getSaveFileName(this, "Export comparison", "comparison.html",
                                   "Page (*.html);;PNG (*.png);;SVG (*.svg);;Spreadsheet (*.csv);;"
                                   "Benchmark report of runs (*.json)");
  if (path.isEmpty()) return;
  try {
    export_to(path);
  } catch (const Error& error) {
    complain(this, "The comparison was not exported", q(describe(error)));
  }
}

}  // namespace trainyard
