#include "app/desktop/analyse/schedules_page.h"

#include <QHBoxLayout>
#include <QPushButton>

#include <algorithm>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/chip_row.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/schedules_scene.h"
#include "core/base/units_text.h"
#include "core/methods/catalogue.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr int kSteps = 32;  // of the budget, from nothing to what the devices have

QStringList all_schedules() {
  QStringList names;
  for (const Method& each : methods())
    if (each.axis == MethodAxis::Schedule)
      names << QString::fromUtf8(each.name.data(), static_cast<qsizetype>(each.name.size()));
  return names;
}

}  // namespace

SchedulesPage::SchedulesPage(Document& document, Session& session, QWidget* parent)
    : Page(parent),
      document_(document),
      session_(session),
      schedules_(new ChipRow("Compared schedule")),
      stepper_(new Stepper("Budget per device")) {
  auto scene = std::make_unique<SchedulesScene>(comparison_);
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Schedules at equal memory", std::move(scene));
  auto* bar = new Header("At equal memory");
  wrong_ = new ElidedLabel(11, "error");
  wrong_->setAccessibleName("Why the budget was refused");
  wrong_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->row()->addWidget(wrong_, 50);
  take_ = new QPushButton("Use this schedule");
  take_->setToolTip("Puts the selected schedule and its settings into the plan");
  bar->row()->addWidget(take_);
  bar->row()->addWidget(make_label("budget", 11, QFont::Normal, "third"));
  stepper_->setFixedWidth(128);
  stepper_->setToolTip("Memory limit per device, the same for all schedules");
  bar->row()->addWidget(stepper_);
  auto* only = new QPushButton("Clear");
  only->setToolTip("Removes all schedules but the plan's own");
  bar->row()->insertWidget(1, only);
  auto* chips = new QWidget;
  chips->setObjectName("panel");
  chips->setAttribute(Qt::WA_StyledBackground);
  auto* row = new QHBoxLayout(chips);
  row->setContentsMargins(10, 6, 8, 6);
  row->addWidget(schedules_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar);
  column->addWidget(chips);
  column->addWidget(canvas_, 1);
  setFocusProxy(canvas_);
  schedules_->set_values(all_schedules(), all_schedules(), {});
  connect(schedules_, &ChipRow::changed, this, &SchedulesPage::compare);
  connect(stepper_, &Stepper::stepped, this, &SchedulesPage::step_budget);
  connect(stepper_, &Stepper::entered, this, &SchedulesPage::set_budget);
  connect(take_, &QPushButton::clicked, this, &SchedulesPage::take);
  connect(only, &QPushButton::clicked, this, [this] { set_schedules({own_schedule()}); });
  connect(&session_, &Session::experiment_changed, this, &SchedulesPage::compare);
  connect(&comparison_, &Comparison::changed, this, &SchedulesPage::refresh);
  scene_->on_chosen = [this] { refresh(); };
  scene_->on_taken = [this] { take(); };
  refresh();
}

Bytes SchedulesPage::capacity() const {
  return session_.experiment() == nullptr ? Bytes{} : session_.experiment()->result.capacity;
}

Bytes SchedulesPage::budget() const { return budget_.value_or(capacity()); }

QString SchedulesPage::own_schedule() const {
  return session_.experiment() == nullptr
             ? "1f1b"
             : QString::fromStdString(
                   std::string(schedule_of(session_.experiment()->result.plan).name));
}

bool SchedulesPage::set_budget(const QString& text) {
  wrong_->clear();
  try {
    const QString words = text.trimmed();
    const Bytes typed = parse_bytes(words.toStdString());
    if (typed.value <= 0)
      throw Error(Error::Kind::InvalidInput,
                  "expected bytes above 0, as 40GiB, found \"" + words.toStdString() + "\"");
    budget_ = typed;
  } catch (const Error& error) {
    wrong_->setText(QString::fromUtf8(error.what()));
    return false;
  }
  compare();
  return true;
}

void SchedulesPage::step_budget(int direction) {
  const std::int64_t step =
      std::max<std::int64_t>(1, capacity().value / kSteps / kGibibyte) * kGibibyte;
  const std::int64_t now = budget().value;
  const std::int64_t next = direction > 0 ? now / step + 1 : (now + step - 1) / step - 1;
  budget_ = Bytes{std::max(step, next * step)};
  wrong_->clear();
  compare();
}

void SchedulesPage::set_schedules(const QStringList& names) {
  schedules_->set_values(all_schedules(), names.isEmpty() ? all_schedules() : names, {});
  compare();
}

void SchedulesPage::compare() {
  if (isVisible() && session_.experiment() != nullptr) {
    std::vector<std::string> names;
    for (const QString& name : schedules_->on()) names.push_back(name.toStdString());
    if (names.empty()) names.push_back(own_schedule().toStdString());
    comparison_.start(session_.experiment(), budget_.value_or(Bytes{}), std::move(names));
  }
  refresh();
}

void SchedulesPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  compare();
}

void SchedulesPage::refresh() {
  stepper_->set_value(capacity().value == 0 ? QString()
                                            : QString::fromStdString(format_bytes(budget())));
  stepper_->setEnabled(capacity().value > 0);
  const SchedulePanel* chosen = scene_->chosen_panel();
  take_->setEnabled(chosen != nullptr && !chosen->settings.empty() &&
                    !chosen->timeline.ranks.empty());
  canvas_->refresh();
}

void SchedulesPage::take() {
  const SchedulePanel* chosen = scene_->chosen_panel();
  if (chosen == nullptr || chosen->settings.empty() || chosen->timeline.ranks.empty()) return;
  QStringList assignments;
  if (session_.experiment()->workload.edited) assignments << "order=own";  // of another schedule
  for (const std::string& each : chosen->settings) assignments << QString::fromStdString(each);
  document_.apply("Take schedule " + QString::fromStdString(chosen->name), assignments);
}

std::optional<DataTable> SchedulesPage::table() const {
  if (comparison_.model() == nullptr) return std::nullopt;
  return schedules_table(*comparison_.model());
}

std::optional<Drawing> SchedulesPage::picture() const {
  const SchedulesModel* model = comparison_.model();
  if (model == nullptr) return std::nullopt;
  const Size size{1400, schedules_height(*model)};
  Drawing drawing(size);
  draw_schedules(drawing, {0, 0, size.width, size.height}, *model, {});
  return drawing;
}

}  // namespace trainyard
