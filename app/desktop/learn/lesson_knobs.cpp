#include "app/desktop/learn/lesson_knobs.h"

#include <QHBoxLayout>
#include <QLabel>

#include <algorithm>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"

namespace trainyard {
namespace {

// The index of the value in the knob's list; -1 if it is not there.
int place_of(const LessonKnob& knob, const LessonSettings& settings) {
  const auto now = settings.find(knob.key);
  if (now == settings.end()) return -1;
  const auto found = std::find(knob.values.begin(), knob.values.end(), now->second);
  return found == knob.values.end() ? -1 : static_cast<int>(found - knob.values.begin());
}

}  // namespace

LessonKnobs::LessonKnobs(LessonSession& session, QWidget* parent)
    : QWidget(parent), session_(session) {
  column_ = new QVBoxLayout(this);
  column_->setContentsMargins(12, 8, 12, 8);
  column_->setSpacing(6);
}

void LessonKnobs::rebuild() {
  rows_.clear();
  while (QLayoutItem* item = column_->takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    delete item;
  }
  for (const LessonKnob& knob : session_.lesson().knobs) {
    auto* line = new QWidget;
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(0, 0, 0, 0);
    Row made{knob.key, new Stepper(q(knob.label)), new QLabel};
    made.lock->setFixedWidth(ui_pixels(20));
    row->addWidget(make_label(q(knob.label), 12, QFont::Normal));
    row->addStretch(1);
    row->addWidget(made.stepper);
    row->addWidget(made.lock);
    made.stepper->setFixedWidth(ui_pixels(150));
    connect(made.stepper, &Stepper::stepped, this,
            [this, key = knob.key](int direction) { step(key, direction); });
    connect(made.stepper, &Stepper::entered, this,
            [this, key = knob.key](const QString& value) { enter(key, value); });
    column_->addWidget(line);
    rows_.push_back(made);
  }
  built_ = session_.lesson_index();
}

void LessonKnobs::refresh() {
  if (built_ != session_.lesson_index()) rebuild();
  const std::vector<std::string>& free = session_.current().free;
  for (const Row& row : rows_) {
    const LessonKnob& knob = *find_knob(session_.lesson(), row.key);
    const bool open = std::find(free.begin(), free.end(), row.key) != free.end();
    const int place = place_of(knob, session_.settings());
    const auto now = session_.settings().find(row.key);
    row.stepper->set_value(now == session_.settings().end() ? QString() : q(now->second));
    row.stepper->setEnabled(open);
    row.stepper->set_steps(open && place > 0,
                           open && place + 1 < static_cast<int>(knob.values.size()));
    row.lock->setPixmap(open ? QPixmap()
                             : icon("lock", qcolor(Ink::Text3, current_theme())).pixmap(14, 14));
    row.lock->setToolTip(open ? "" : "Locked in this step");
    row.lock->setAccessibleName(open ? "free" : "locked in this step");
  }
}

void LessonKnobs::step(const std::string& key, int direction) {
  const LessonKnob* knob = find_knob(session_.lesson(), key);
  if (knob == nullptr) return;
  const int place = place_of(*knob, session_.settings()) + direction;
  if (place < 0 || place >= static_cast<int>(knob->values.size())) return;
  session_.turn(key, knob->values[static_cast<std::size_t>(place)]);
}

void LessonKnobs::enter(const std::string& key, const QString& value) {
  session_.turn(key, value.trimmed().toStdString());
  refresh();  // an invalid value is reverted
}

void LessonKnobs::step_free(std::size_t which, int direction) {
  if (which < session_.current().free.size()) step(session_.current().free[which], direction);
}

}  // namespace trainyard
