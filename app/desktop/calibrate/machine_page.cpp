#include "app/desktop/calibrate/machine_page.h"

#include <QAction>
#include <QCheckBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <fmt/format.h>

#include "app/desktop/calibrate/probe_panel.h"
#include "app/desktop/controls/actions.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "app/desktop/tables/view_table.h"
#include "core/base/units_text.h"
#include "core/cost/kernels/learned_kernels.h"
#include "core/cost/kernels/variant_ranking.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/probe/staircase_view.h"
#include "visualizers/roofline/variants_table.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr int kCard = 336;
constexpr const char* kFilter = "Calibrations and profiles (*.json);;All files (*)";

QPushButton* button(const QString& words, const QString& tip) {
  auto* made = new QPushButton(words);
  made->setAccessibleName(words);
  made->setToolTip(tip);
  made->setFixedHeight(kFieldHeight);
  return made;
}

QString facts_of(const Calibration& c) {
  QStringList lines = {q(format_count(static_cast<std::int64_t>(c.kernels.size()))) +
                       " kernels, by shape and what runs before"};
  if (c.device.empty())
    lines << "copies start in " + q(readable(c.copy.start)) + ", then " + q(readable(c.copy.rate))
          << "sums of gradients " + q(readable(c.reduce))
          << "an executor adds " + q(readable(c.overhead)) + " to a kernel";
  else
    lines << "for clusters of " + q(c.device);
  if (!c.exchanges.empty())
    lines << q(format_count(static_cast<std::int64_t>(c.exchanges.size()))) +
                 " sizes of collectives and messages";
  if (c.issue > Duration{1}) lines << "the host issues a kernel in " + q(readable(c.issue));
  if (c.reserve > 0)
    lines << q(fmt::format("the allocator reserves {:.3g} times what is allocated", c.reserve));
  if (const std::optional<double> lost = contention_of(c.contention))
    lines << q(fmt::format("communication hidden behind computation costs {:.1f} % of its time",
                           100 * *lost));
  for (const MeasuredContention& m : c.contention)
    lines << q(fmt::format("{}: {:.3g} times as long beside {} (by {} pieces, spread {:.1f} %)",
                           m.of, m.factor, m.of == kCommunicates ? "computation" : "communication",
                           m.kernels, 100 * m.spread));
  if (!c.variants.empty())
    for (const HeldOutVariants& found : rank_variants(c.variants)->held_out())
      lines << q(held_out_words(found));
  for (const std::string& note : c.notes) lines << q(note);
  return lines.join("\n");
}

QString facts_of(const ParameterProfile& profile) {
  const std::string devices = fmt::format("{}", fmt::join(profile.devices, " and "));
  const QString of = devices.empty() ? QString() : " of " + q(devices);
  QStringList lines = {
      profile.steps ? "one factor fitted to rows" + of +
                          (devices.empty() ? ", for every cluster" : ", for clusters of it alone")
                    : "parameters fitted to rows" + of + ", for every cluster"};
  for (const std::string& note : profile.notes) lines << q(note);
  return lines.join("\n");
}

}  // namespace

MachinePage::MachinePage(Document& document, Session& session, QWidget* parent)
    : Page(parent), document_(document), session_(session) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto scene = residuals_scene(
      [this]() -> const ResidualsModel* {
        const auto found = measurement_.found();
        return found && found->residuals ? &*found->residuals : nullptr;
      },
      [this] { return words_of_nothing(); }, [this](Item item) { rows_->choose(item); });
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Kernels, measured against predicted", std::move(scene));
  canvas_->setMinimumHeight(180);
  rows_ = new ViewTable;
  variants_ = new ViewTable;
  variants_->hide();
  probe_ = new ProbePanel([this] { return prices_of_this_machine(); });
  auto* left = new QWidget;
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_bar());
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(canvas_);
  halves->addWidget(rows_);
  halves->addWidget(variants_);
  halves->addWidget(probe_);
  halves->setSizes({300, 180, 160, 360});
  for (int part = 0; part < 4; ++part) halves->setStretchFactor(part, part % 3 == 0 ? 3 : 2);
  column->addWidget(halves, 1);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(left, 1);
  row->addWidget(make_card());
  connect(rows_, &ViewTable::chosen, this, [this](const Item& item) {
    scene_->select(item);
    canvas_->refresh();
  });
  connect(rows_, &ViewTable::closed, this, &MachinePage::toggle_rows);
  connect(variants_, &ViewTable::closed, variants_, &QWidget::hide);
  connect(&measurement_, &MachineMeasurement::changed, this, [this] {
    if (measurement_.found().get() != shown_) probe_last_ = false;
    refresh();
  });
  connect(&probe_->measurement(), &ProbeMeasurement::changed, this, [this] {
    probe_last_ = probe_->measurement().found() != nullptr;
    Q_EMIT turned();
  });
  connect(&document_, &Document::changed, this, &MachinePage::refresh_card);
  connect(&session_, &Session::experiment_changed, this, &MachinePage::refresh_card);
  refresh();
}

QWidget* MachinePage::make_bar() {
  auto* bar = new Header("This machine");
  consent_ = new QCheckBox("Run benchmarks on this machine for");
  consent_->setAccessibleName("I agree that kernels run on this machine");
  consent_->setToolTip(
      "One core runs the kernels of the chosen models with made-up numbers; nothing is sent "
      "anywhere and nothing is kept that you do not save.");
  box_ = new QDoubleSpinBox;
  box_->setAccessibleName("Seconds to measure for");
  box_->setRange(0.1, 3600);
  box_->setDecimals(1);
  box_->setValue(10);
  box_->setSuffix(" s");
  box_->setFixedHeight(kFieldHeight);
  what_ = new Field("What is measured");
  what_->addItems({"small models of the zoo", "the open plan", "100 random networks"});
  what_->setFixedWidth(190);
  start_ = button("Measure", "Runs in the background; agree first.");
  start_->setProperty("kind", "primary");
  stop_ = button("Stop", "Ends early and keeps what was measured.");
  bar_ = new QProgressBar;
  bar_->setAccessibleName("Share of the time that has gone");
  bar_->setRange(0, 100);
  bar_->setFixedSize(120, 14);
  state_ = new ElidedLabel(11, "second");
  bar->row()->addWidget(state_, 1);
  for (QWidget* part : std::initializer_list<QWidget*>{
           consent_, box_, make_label("with", 12, QFont::Normal, ""), what_, bar_, stop_, start_})
    bar->row()->addWidget(part);
  connect(consent_, &QCheckBox::toggled, this, &MachinePage::refresh);
  connect(consent_, &QCheckBox::toggled, probe_, &ProbePanel::allow);
  connect(start_, &QPushButton::clicked, this, &MachinePage::start);
  connect(stop_, &QPushButton::clicked, this, [this] { measurement_.stop(); });
  return bar;
}

QWidget* MachinePage::make_card() {
  const auto [card, column] = make_panel(kCard, 8);
  title_ = make_label("", 13, QFont::DemiBold);
  facts_ = make_label("", 12, QFont::Normal, "second");
  use_ = make_label("", 12, QFont::Normal);
  for (QLabel* label : {title_, facts_, use_}) label->setWordWrap(true);
  facts_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  other_shapes_ = new Field("How kernels are priced at shapes that were not measured");
  other_shapes_->addItems({"other shapes interpolated", "other shapes learned"});
  other_shapes_->setToolTip(
      "Interpolated: on a line between measured shapes of the same kernel. Learned: by trees that "
      "learned from all measured kernels, best from those of many random networks.");
  accept_ = button("Accept for this project",
                   "The project's predictions use it from now on. It is kept in the project's "
                   "file; Undo takes it back.");
  accept_->setProperty("kind", "primary");
  remove_ = button("Remove calibration", "The project uses the built-in efficiencies again.");
  open_ = button("Open calibration or profile…", "A trainyard/calibration or trainyard/profile.");
  save_ = button("Save as a file…", "For this project's neighbours, and for --calibration.");
  column->addWidget(title_);
  column->addWidget(facts_);
  column->addWidget(other_shapes_);
  column->addWidget(accept_);
  column->addWidget(save_);
  column->addWidget(open_);
  column->addSpacing(8);
  column->addWidget(make_label("In this project", 12, QFont::DemiBold));
  column->addWidget(use_);
  column->addWidget(remove_);
  column->addStretch(1);
  connect(other_shapes_, &QComboBox::activated, this,
          [this](int index) { measurement_.price_other_shapes(static_cast<OtherShapes>(index)); });
  connect(accept_, &QPushButton::clicked, this, &MachinePage::accept);
  connect(remove_, &QPushButton::clicked, this, [this] { document_.set_calibration(""); });
  connect(open_, &QPushButton::clicked, this, &MachinePage::ask_for_file);
  connect(save_, &QPushButton::clicked, this, &MachinePage::ask_where_to_save);
  return card;
}

void MachinePage::connect_commands(const Actions& actions) {
  const auto on = [&](const char* id, auto run) {
    connect(actions[id], &QAction::triggered, this, [this, run] {
      document_.show_perspective("calibrate", "machine");
      run();
    });
  };
  // Without consent, the command only moves the focus to the consent box.
  on("calibrate.measure", [this] { consent_->isChecked() ? start() : consent_->setFocus(); });
  on("calibrate.probe", [this] { consent_->isChecked() ? probe_->start() : consent_->setFocus(); });
  on("calibrate.stop", [this] {
    measurement_.stop();
    probe_->measurement().stop();
  });
  on("calibrate.open", [this] { ask_for_file(); });
  on("calibrate.save", [this] { ask_where_to_save(); });
  on("calibrate.accept", [this] { accept(); });
  on("calibrate.remove", [this] { document_.set_calibration(""); });
  const auto refresh_actions = [this, &actions] {
    const bool some = measurement_.found() != nullptr;
    actions["calibrate.stop"]->setEnabled(!settled());
    actions["calibrate.save"]->setEnabled(some);
    actions["calibrate.accept"]->setEnabled(some);
    actions["calibrate.remove"]->setEnabled(!document_.project().calibration.empty());
  };
  connect(&measurement_, &MachineMeasurement::changed, this, refresh_actions);
  connect(&probe_->measurement(), &ProbeMeasurement::changed, this, refresh_actions);
  connect(&document_, &Document::changed, this, refresh_actions);
  refresh_actions();
}

void MachinePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!measurement_.found() && !measurement_.running() && !document_.project().calibration.empty())
    measurement_.open(document_.project().calibration);
}

void MachinePage::measure_plan(bool plan) { what_->setCurrentIndex(plan ? 1 : 0); }

void MachinePage::start() {
  if (!consent_->isChecked() || measurement_.running()) return;
  MeasureWish wish;
  wish.seconds = box_->value();
  if (what_->currentIndex() == 2) wish.networks = 100;
  if (what_->currentIndex() == 1) {
    const ProjectPlan* plan = document_.plan();
    Request request = plan == nullptr ? Request{} : request_of(document_.project(), *plan);
    request.calibration.clear();  // a measurement uses no prices
    wish.plan = std::move(request);
  }
  measurement_.start(wish);
}

void MachinePage::accept() {
  if (const auto found = measurement_.found()) document_.set_calibration(found->word);
}

void MachinePage::open(const QString& path) { measurement_.open(path.toStdString()); }

void MachinePage::save(const QString& path) const {
  if (const auto found = measurement_.found())
    write_file_atomically(path.toStdString(), write_measured_prices(found->prices));
}

void MachinePage::ask_for_file() {
  const QString path = QFileDialog::getOpenFileName(this, "Open calibration", {}, kFilter);
  if (!path.isEmpty()) open(path);
}

void MachinePage::ask_where_to_save() {
  if (!measurement_.found()) return;
  const QString path =
      QFileDialog::getSaveFileName(this, "Save calibration", "machine.json", kFilter);
  if (path.isEmpty()) return;
  try {
    save(path);
  } catch (const Error& error) {
    complain(this, "The calibration was not saved", q(describe(error)));
  }
}

QString MachinePage::words_of_nothing() const {
  const auto found = measurement_.found();
  if (found)
    return "A profile keeps no rows: the table has the parameters that they moved, and " +
           q(residual_words(found->prices)) + ".";
  if (measurement_.running()) return "Measuring …";
  return "Agree to let this machine be measured, or open or drop what was measured before: a "
         "trainyard/calibration or trainyard/profile.";
}

void MachinePage::refresh() {
  const bool running = measurement_.running();
  start_->setEnabled(consent_->isChecked() && !running);
  stop_->setEnabled(running);
  bar_->setVisible(running);
  bar_->setValue(static_cast<int>(100 * measurement_.progress()));
  const auto found = measurement_.found();
  set_tone(state_, measurement_.error().empty() ? "second" : "error");
  if (running)
    state_->setText("measuring");
  else if (!measurement_.error().empty())
    state_->setText(q(measurement_.error()));
  else
    state_->setText(found && !found->source.empty() ? QFileInfo(q(found->source)).fileName() : "");
  if (found.get() != shown_) {
    shown_ = found.get();
    scene_->select({});
    if (found) rows_->show_table(*table());
    const auto* kernels = found ? std::get_if<Calibration>(&found->prices) : nullptr;
    const bool several = kernels != nullptr && !kernels->variants.empty();
    if (several) variants_->show_table(variants_table(*kernels));
    variants_->setVisible(several);
  }
  canvas_->refresh();
  refresh_card();
  Q_EMIT turned();
}

void MachinePage::refresh_card() {
  const auto found = measurement_.found();
  const std::string& accepted = document_.project().calibration;
  const auto* kernels = found ? std::get_if<Calibration>(&found->prices) : nullptr;
  other_shapes_->setVisible(kernels != nullptr);
  if (kernels != nullptr) {
    other_shapes_->setEnabled(kernels->kernels.size() >= LearnedKernels::kLeastShapes);
    other_shapes_->setCurrentIndex(static_cast<int>(kernels->other_shapes));
  }
  accept_->setEnabled(found && found->word != accepted);
  save_->setEnabled(found != nullptr);
  remove_->setEnabled(!accepted.empty());
  title_->setText(found ? q(provenance(found->prices)) : QString("Nothing is measured yet"));
  facts_->setText(!found
                      ? QString()
                      : q(residual_words(found->prices)) + "\n" +
                            std::visit([](const auto& p) { return facts_of(p); }, found->prices));
  use_->setText(use());
}

QString MachinePage::use() const {
  const std::string& accepted = document_.project().calibration;
  if (accepted.empty()) return "No calibration: predictions use the built-in efficiencies.";
  const Outcome& outcome = session_.outcome();
  QString text = "Accepted.";
  const auto found = measurement_.found();
  if (found && found->word != accepted) text = "Another calibration than this is accepted.";
  if (!outcome.not_calibrated.empty())
    return text + " The open plan is not priced by it: " + q(outcome.not_calibrated) + ".";
  if (outcome.calibrated.empty() || !outcome.experiment) return text;
  return text + " The open plan is priced by it: a step takes " +
         q(band_text(outcome.experiment->result.step).text()) + ".";
}

bool MachinePage::toggle_rows() {
  const bool shown = rows_->isHidden();
  rows_->setVisible(shown);
  (shown ? static_cast<QWidget*>(rows_->rows()) : canvas_)->setFocus();
  return true;
}

QList<CanvasWidget*> MachinePage::canvases() const { return {canvas_, probe_->canvas()}; }

bool MachinePage::settled() const {
  return !measurement_.running() && !probe_->measurement().running();
}

// Prices of a recorded run are of another device than the cores that a probe measures.
std::string MachinePage::prices_of_this_machine() const {
  const auto found = measurement_.found();
  const auto* kernels = found ? std::get_if<Calibration>(&found->prices) : nullptr;
  return kernels != nullptr && kernels->device.empty() ? found->word : std::string();
}

std::optional<Drawing> MachinePage::picture() const {
  if (probe_last_) return staircase_picture(*probe_->measurement().found());
  const auto found = measurement_.found();
  if (!found || !found->residuals) return std::nullopt;
  return residuals_picture(*found->residuals);
}

std::optional<DataTable> MachinePage::table() const {
  if (probe_last_) return staircase_table(*probe_->measurement().found());
  const auto found = measurement_.found();
  if (!found) return std::nullopt;
  if (found->residuals) return residuals_table(*found->residuals);
  return profile_table(std::get<ParameterProfile>(found->prices));
}

}  // namespace trainyard
