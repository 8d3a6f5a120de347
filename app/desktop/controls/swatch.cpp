#include "app/desktop/controls/swatch.h"

#include <QPainter>
#include <QPixmap>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

void strokes(QPainter& p, const QRectF& r, double pitch, bool rising, const QColor& colour) {
  p.setPen(QPen(colour, 1));
  for (double x = -r.height(); x < r.width(); x += pitch) {
    const QPointF low(r.left() + x + (rising ? 0 : r.height()), r.bottom());
    const QPointF high(r.left() + x + (rising ? r.height() : 0), r.top());
    p.drawLine(low, high);
  }
}

}  // namespace

void paint_swatch(QPainter& p, const QRectF& r, Ink ink) {
  const Theme theme = current_theme();
  p.save();
  p.setClipRect(r);
  const Pattern pattern = ink == Ink::Idle ? Pattern::Idle : pattern_of(ink);
  p.fillRect(r, qcolor(ink == Ink::Idle ? Ink::Canvas : ink, theme));
  const Rgba c = colour(pattern == Pattern::None ? Pattern::Idle : pattern, theme);
  const QColor stroke(c.r, c.g, c.b, c.a);
  if (pattern == Pattern::Idle) strokes(p, r, 6, true, stroke);
  if (pattern == Pattern::Communication || pattern == Pattern::Swap)
    strokes(p, r, 4, false, stroke);
  if (pattern == Pattern::Swap) strokes(p, r, 4, true, stroke);
  if (pattern == Pattern::Recompute) {
    p.setPen(Qt::NoPen);
    p.setBrush(stroke);
    for (double y = 2.5; y < r.height(); y += 5)
      for (double x = 2.5; x < r.width(); x += 5)
        p.drawEllipse(r.topLeft() + QPointF(x, y), 0.9, 0.9);
  }
  if (ink == Ink::Idle || outlined(ink, theme)) {
    const Rgba o = ink == Ink::Idle ? colour(Ink::BorderStrong, theme) : outline_colour(ink, theme);
    p.setPen(QColor(o.r, o.g, o.b));
    p.setBrush(Qt::NoBrush);
    p.drawRect(r.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  p.restore();
}

QIcon swatch_icon(Ink ink) {
  QPixmap image(10, 10);
  image.fill(Qt::transparent);
  QPainter p(&image);
  paint_swatch(p, QRectF(0, 0, 10, 10), ink);
  return image;
}

void Swatch::paintEvent(QPaintEvent*) {
  QPainter p(this);
  paint_swatch(p, rect(), ink_);
}

}  // namespace trainyard
