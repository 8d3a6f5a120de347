#include "app/desktop/controls/chip_row.h"

#include <QKeyEvent>
#include <QStyle>
#include <QToolButton>

#include <algorithm>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

constexpr int kChip = 20, kGap = 4, kMostTitle = 190;

}  // namespace

ChipRow::ChipRow(const QString& accessible_name, QWidget* parent)
    : QWidget(parent), name_(accessible_name) {
  setAccessibleName(accessible_name);
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void ChipRow::set_values(const QStringList& values, const QStringList& on, const QString& own) {
  if (values != values_) {
    qDeleteAll(chips_);
    chips_.clear();
    values_ = values;
    for (const QString& value : values) {
      auto* chip = new QToolButton(this);
      chip->setObjectName("value");
      chip->setCheckable(true);
      chip->setFont(ui_font(11, QFont::Medium));
      const QString title = title_ ? title_(value) : value;
      chip->setText(chip->fontMetrics().elidedText(title, Qt::ElideMiddle, kMostTitle));
      chip->setAccessibleName(name_ + " " + title);
      chip->setFocusPolicy(chips_.isEmpty() ? Qt::TabFocus : Qt::ClickFocus);
      chip->installEventFilter(this);
      connect(chip, &QToolButton::clicked, this, &ChipRow::changed);
      chip->show();
      chips_ << chip;
    }
  }
  for (qsizetype i = 0; i < chips_.size(); ++i) {
    QToolButton* chip = chips_[i];
    chip->setChecked(on.contains(values_[i]));
    const bool is_own = values_[i] == own;
    chip->setToolTip(chip->accessibleName() + (is_own ? ": the open plan has it" : ""));
    if (chip->property("own").toBool() == is_own) continue;
    chip->setProperty("own", is_own);
    chip->style()->unpolish(chip);
    chip->style()->polish(chip);
  }
  lay_out(width(), true);
  updateGeometry();
}

QStringList ChipRow::on() const {
  QStringList list;
  for (qsizetype i = 0; i < chips_.size(); ++i)
    if (chips_[i]->isChecked()) list << values_[i];
  return list;
}

int ChipRow::lay_out(int width, bool move) const {
  int x = 0, y = 0;
  for (QToolButton* chip : chips_) {
    const int wide = std::max(24, chip->fontMetrics().horizontalAdvance(chip->text()) + 14);
    if (x > 0 && x + wide > width) x = 0, y += kChip + kGap;
    if (move) chip->setGeometry(x, y, wide, kChip);
    x += wide + kGap;
  }
  return y + kChip;
}

void ChipRow::resizeEvent(QResizeEvent*) {
  lay_out(width(), true);
  updateGeometry();
}

bool ChipRow::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return false;
  const int key = static_cast<QKeyEvent*>(event)->key();
  const int by = key == Qt::Key_Right || key == Qt::Key_Down ? 1
                 : key == Qt::Key_Left || key == Qt::Key_Up  ? -1
                                                             : 0;
  if (by == 0) return false;
  const qsizetype at = chips_.indexOf(static_cast<QToolButton*>(object)) + by;
  if (at >= 0 && at < chips_.size()) chips_[at]->setFocus(Qt::OtherFocusReason);
  return true;
}

}  // namespace trainyard
