#include "app/desktop/controls/bar_delegate.h"

#include <QPainter>

#include <algorithm>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

void paint_note(QPainter& p, const QStyleOptionViewItem& option, const QModelIndex& index) {
  const QString note = index.data(kNoteRole).toString();
  if (note.isEmpty()) return;
  const Theme theme = current_theme();
  p.save();
  p.setFont(ui_font(10, QFont::Medium));
  const int left = option.rect.x() + 6 +
                   QFontMetrics(option.font).horizontalAdvance(index.data().toString()) + 8;
  const QRect chip(left, option.rect.center().y() - 7, p.fontMetrics().horizontalAdvance(note) + 10,
                   15);
  p.setPen(qcolor(Ink::BorderStrong, theme));
  p.drawRoundedRect(chip, 2, 2);
  p.setPen(qcolor(Ink::Text2, theme));
  p.drawText(chip, Qt::AlignCenter, note);
  p.restore();
}

}  // namespace

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
