#include "app/desktop/planner/range_sheet.h"

#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include <memory>
#include <string>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/range_scene.h"
#include "core/base/units_text.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

QString steps_of(const TraceExtent& extent) {
  if (extent.steps.empty()) return "No steps are marked in it.";
  if (extent.steps.size() == 1)
    return "Step " + QString::number(extent.steps[0].number) + " is marked in it.";
  return "Steps " + QString::number(extent.steps.front().number) + " to " +
         QString::number(extent.steps.back().number) + " are marked in it.";
}

QString cost_of(const TraceExtent& extent, double share) {
  const ImportCost cost = import_cost(extent, share);
  return q(readable(cost.memory)) + " of memory and " + q(readable(cost.time));
}

// The steps that lie within the part, as ", steps 6 to 8,".
QString chosen_steps(const TraceExtent& extent, const TraceRange& range) {
  const ExtentStep *first = nullptr, *last = nullptr;
  for (const ExtentStep& step : extent.steps) {
    if (step.from < range.from || step.to > range.to) continue;
    if (first == nullptr) first = &step;
    last = &step;
  }
  if (first == nullptr) return "";
  if (first == last) return ", step " + QString::number(first->number) + ",";
  return ", steps " + QString::number(first->number) + " to " + QString::number(last->number) + ",";
}

// A time in the largest unit of which it has at least one, to the nanosecond: "33.112393 ms".
QString exact_time(Duration time) {
  constexpr std::pair<const char*, std::int64_t> kUnits[] = {
      {" s", 1'000'000'000}, {" ms", 1'000'000}, {" us", 1000}};
  for (const auto& [name, unit] : kUnits) {
    if (time.count() < unit) continue;
    std::string digits = std::to_string(time.count() % unit + unit).substr(1);
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    const std::string text =
        std::to_string(time.count() / unit) + (digits.empty() ? "" : "." + digits) + name;
    if (parse_duration(text) == time) return q(text);
  }
  return q(to_text(time));
}

QLineEdit* time_field(const QString& name) {
  auto* field = new QLineEdit;
  field->setAccessibleName(name);
  field->setFixedSize(180, kFieldHeight);
  field->setToolTip("A time with its unit, as 1.2 s or 350 ms, from the first event on");
  return field;
}

}  // namespace

RangeSheet::RangeSheet(const TraceExtent& extent, const QString& file, qint64 bytes,
                       QWidget* parent)
    : QDialog(parent), extent_(extent) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle("Import of " + file.section('/', -1));
  setMinimumSize(640, 300);
  auto* column = new QVBoxLayout(this);
  column->setSpacing(8);
  about_ = make_label(q(readable(Bytes{bytes})) + ", " +
                          q(format_count(static_cast<std::int64_t>(extent.events))) +
                          " events in " + q(format_duration(extent.end)) + ". " + steps_of(extent),
                      13, QFont::DemiBold);
  about_->setWordWrap(true);
  column->addWidget(about_);
  column->addWidget(
      make_label("Drag over the strip, or click a step. Left and Right choose a step, "
                 "with Shift they move the end, Home takes all.",
                 12, QFont::Normal, "second"));
  auto scene = std::make_unique<RangeScene>(extent, [this] { follow_strip(); });
  scene_ = scene.get();
  strip_ = new CanvasWidget("Time of the recording", std::move(scene));
  strip_->setMinimumHeight(84);
  column->addWidget(strip_, 1);
  auto* times = new QHBoxLayout;
  times->addWidget(make_label("From", 12, QFont::Normal));
  times->addWidget(from_ = time_field("From"));
  times->addWidget(make_label("to", 12, QFont::Normal));
  times->addWidget(to_ = time_field("To"));
  times->addStretch(1);
  column->addLayout(times);
  refusal_ = make_label("", 12, QFont::Normal, "warn");
  refusal_->setTextFormat(Qt::PlainText);
  refusal_->setWordWrap(true);
  refusal_->setAccessibleName("Why this is no range");
  column->addWidget(refusal_);
  cost_ = make_label("", 12, QFont::Normal, "second");
  cost_->setWordWrap(true);
  cost_->setAccessibleName("What it takes");
  column->addWidget(cost_);
  auto* buttons = new QDialogButtonBox;
  read_ = buttons->addButton("Read", QDialogButtonBox::AcceptRole);
  buttons->addButton("Cancel", QDialogButtonBox::RejectRole);
  for (QAbstractButton* button : buttons->buttons()) button->setAccessibleName(button->text());
  read_->setDefault(true);
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  for (QLineEdit* field : {from_, to_})
    connect(field, &QLineEdit::textEdited, this, &RangeSheet::follow_fields);
  strip_->installEventFilter(this);
  follow_strip();
  strip_->setFocus();
}

bool RangeSheet::eventFilter(QObject* watched, QEvent* event) {
  if (watched != strip_ || event->type() != QEvent::KeyPress)
    return QDialog::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (key == Qt::Key_Escape)
    reject();
  else if ((key == Qt::Key_Return || key == Qt::Key_Enter) && read_->isEnabled())
    accept();
  else
    return QDialog::eventFilter(watched, event);
  return true;
}

QString RangeSheet::refusal() const { return refusal_->text(); }

QString RangeSheet::text() const {
  return about_->text() + '\n' + refusal_->text() + '\n' + cost_->text();
}

void RangeSheet::follow_strip() {
  const TimeRange chosen = scene_->range();
  from_->setText(exact_time(chosen.from));
  to_->setText(exact_time(chosen.to));
  refusal_->clear();
  refresh();
}

void RangeSheet::follow_fields() {
  try {
    const TraceRange typed =
        range_within(extent_, parse_duration(from_->text().toStdString(), {"From"}),
                     parse_duration(to_->text().toStdString(), {"To"}));
    scene_->set_range({typed.from, typed.to});
    refusal_->clear();
  } catch (const Error& error) {
    refusal_->setText(q(describe(error)));
  }
  refresh();
}

void RangeSheet::refresh() {
  const TimeRange chosen = scene_->range();
  range_.reset();
  if (chosen != scene_->all())
    range_ = TraceRange{chosen.from, chosen.to, extent_.base, extent_.end};
  const double share = to_seconds(chosen.length()) / to_seconds(extent_.end);
  QString words = "All of it takes about " + cost_of(extent_, 1);
  if (range_)
    words += ". This part" + chosen_steps(extent_, *range_) + " takes " + cost_of(extent_, share) +
             " if its spans are spread evenly: the text is gone through either way";
  cost_->setText(words + ". By " + QString::number(kBytesOfSpan) + " bytes a span and " +
                 QString::number(kTextASecond / 1e6) + " MB of text a second, as measured.");
  refusal_->setVisible(!refusal_->text().isEmpty());
  read_->setEnabled(refusal_->text().isEmpty());
  read_->setText(range_ ? "Read this part" : "Read all");
  strip_->refresh();
}

}  // namespace trainyard
