#include "app/desktop/controls/bar_delegate.h"

#include <QPainter>

#include <algorithm>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

constexpr int kBeforeName = 6, kAfterName = 8, kChipPad = 10;

QFont chip_font() { return ui_font(10, QFont::Medium); }

int chip_width(const QModelIndex& index) {
  return QFontMetrics(chip_font()).horizontalAdvance(index.data(kNoteRole).toString()) + kChipPad;
}

// The name as far as it leaves room for the chip behind it.
QString name_before_chip(const QStyleOptionViewItem& option, const QModelIndex& index) {
  const int room = option.rect.width() - kBeforeName - kAfterName - chip_width(index);
  return QFontMetrics(option.font).elidedText(index.data().toString(), Qt::ElideRight, room);
}

// A name of which nothing would be left has no chip.
bool has_chip(const QStyleOptionViewItem& option, const QModelIndex& index) {
  constexpr int kLeastName = 36;
  return !index.data(kNoteRole).toString().isEmpty() &&
         option.rect.width() - kBeforeName - kAfterName - chip_width(index) >= kLeastName;
}

void paint_note(QPainter& p, const QStyleOptionViewItem& option, const QModelIndex& index) {
  if (!has_chip(option, index)) return;
  const QString note = index.data(kNoteRole).toString();
  const Theme theme = current_theme();
  p.save();
  p.setFont(chip_font());
  const int name = QFontMetrics(option.font).horizontalAdvance(name_before_chip(option, index));
  const QRect chip(option.rect.x() + kBeforeName + name + kAfterName, option.rect.center().y() - 7,
                   chip_width(index), 15);
  p.setPen(qcolor(Ink::BorderStrong, theme));
  p.drawRoundedRect(chip, 2, 2);
  p.setPen(qcolor(Ink::Text2, theme));
  p.drawText(chip, Qt::AlignCenter, note);
  p.restore();
}

}  // namespace

void BarDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  if (index.column() == 0 && has_chip(*option, index))
    option->text = name_before_chip(*option, index);
}

void BarDelegate::paint(QPainter* p, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
  QStyledItemDelegate::paint(p, option, index);
  if (index.column() == 0) return paint_note(*p, option, index);
  const QVariant share = index.data(kShareRole);
  if (!share.isValid()) return;
  const Theme theme = current_theme();
  const QRectF track = QRectF(option.rect).adjusted(6, option.rect.height() / 2.0 - 3, -4, 0);
  const QRectF bar(track.x(), track.y(), track.width(), 6);
  p->fillRect(bar, qcolor(Ink::Grid, theme));
  const Ink ink = index.column() == weights_column_ ? Ink::MemoryWeights : Ink::Forward;
  p->fillRect(QRectF(bar.x(), bar.y(), std::max(1.0, bar.width() * share.toDouble()), bar.height()),
              qcolor(ink, theme));
}

}  // namespace trainyard
