#include "app/desktop/controls/icons.h"

#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

#include "app/desktop/controls/theme_colours.h"

namespace trainyard {
namespace {

// Each icon is strokes separated by ';': "M x y L x y ..." with Z to close, or "O x y r" for a
// circle.
struct IconShape {
  const char* name;
  const char* strokes;
};
constexpr IconShape kShapes[] = {
    {"play", "M 5 3.5 L 12.5 8 L 5 12.5 Z"},
    {"stop", "M 4.5 4.5 L 11.5 4.5 L 11.5 11.5 L 4.5 11.5 Z"},
    {"search", "O 7 7 4;M 10 10 L 13.5 13.5"},
    {"undo", "M 6 3 L 3 6 L 6 9;M 3 6 L 10 6 L 12.2 7 L 13 9.2 L 12.2 11.6 L 10 12.5 L 6.5 12.5"},
    {"redo", "M 10 3 L 13 6 L 10 9;M 13 6 L 6 6 L 3.8 7 L 3 9.2 L 3.8 11.6 L 6 12.5 L 9.5 12.5"},
    {"pin", "M 6 2.5 L 10 2.5 L 10 7 L 12 9 L 4 9 L 6 7 Z;M 8 9 L 8 13.5"},
    {"model",
     "M 8 2.5 L 13 5 L 13 11 L 8 13.5 L 3 11 L 3 5 Z;M 3 5 L 8 7.5 L 13 5;M 8 7.5 L 8 13.5"},
    {"cluster",
     "M 3 3 L 13 3 L 13 6.5 L 3 6.5 Z;M 3 9.5 L 13 9.5 L 13 13 L 3 13 Z;M 5 4.8 L 6 4.8;M 5 11.3 L "
     "6 11.3"},
    {"plan", "M 2.5 4 L 8 4;M 5 8 L 11 8;M 8 12 L 13.5 12"},
    {"lock",
     "M 4 7.5 L 12 7.5 L 12 13 L 4 13 Z;M 5.5 7.5 L 5.5 5 L 6.5 3.3 L 8 2.8 L 9.5 3.3 L 10.5 5 L "
     "10.5 7.5"},
    {"close", "M 4 4 L 12 12;M 12 4 L 4 12"},
    {"plus", "M 8 3.5 L 8 12.5;M 3.5 8 L 12.5 8"},
    {"minus", "M 3.5 8 L 12.5 8"},
    {"check", "M 3.2 8.4 L 6.6 11.8 L 13 4.6"},
    {"info", "O 8 8 5.6;M 8 7.4 L 8 11;M 8 5 L 8 5.1"},
    {"warning", "M 8 2.6 L 14 13 L 2 13 Z;M 8 6.4 L 8 9.6;M 8 11.2 L 8 11.3"},
    {"error", "O 8 8 5.6;M 8 4.8 L 8 8.6;M 8 11 L 8 11.1"},
    {"export", "M 8 9.8 L 8 2.5;M 5 5.2 L 8 2.4 L 11 5.2;M 3 8.5 L 3 13 L 13 13 L 13 8.5"},
    {"file", "M 4 2.5 L 9.5 2.5 L 12.5 5.5 L 12.5 13.5 L 4 13.5 Z;M 9.5 2.5 L 9.5 5.5 L 12.5 5.5"},
    {"copy", "M 3 5.5 L 3 13 L 10 13 L 10 5.5 Z;M 6 5.5 L 6 3 L 13 3 L 13 10 L 10 10"},
    {"trash",
     "M 3 4.5 L 13 4.5;M 4.5 4.5 L 5.2 13.3 L 10.8 13.3 L 11.5 4.5;M 6.2 4.5 L 6.2 2.6 L 9.8 2.6 L "
     "9.8 4.5"},
    {"chevron-down", "M 4.5 6.4 L 8 9.9 L 11.5 6.4"},
    {"chevron-up", "M 4.5 9.6 L 8 6.1 L 11.5 9.6"},
    {"chevron-right", "M 6.4 4.5 L 9.9 8 L 6.4 11.5"},
};

QPainterPath path_of(const QString& strokes) {
  QPainterPath path;
  for (const QString& stroke : strokes.split(';')) {
    const QStringList words = stroke.split(' ', Qt::SkipEmptyParts);
    for (int i = 0; i < words.size();) {
      const auto number = [&](int k) { return words[i + k].toDouble(); };
      if (words[i] == "M")
        path.moveTo(number(1), number(2)), i += 3;
      else if (words[i] == "L")
        path.lineTo(number(1), number(2)), i += 3;
      else if (words[i] == "O")
        path.addEllipse(QPointF(number(1), number(2)), number(3), number(3)), i += 4;
      else
        path.closeSubpath(), ++i;
    }
  }
  return path;
}

QPixmap pixmap(const QString& name, const QColor& colour, int scale) {
  QPixmap out(16 * scale, 16 * scale);
  out.fill(Qt::transparent);
  QPainter p(&out);
  draw_icon(p, name, QRectF(0, 0, 16 * scale, 16 * scale), colour);
  p.end();
  out.setDevicePixelRatio(scale);
  return out;
}

}  // namespace

void draw_icon(QPainter& p, const QString& name, const QRectF& box, const QColor& colour) {
  for (const IconShape& shape : kShapes) {
    if (name != QLatin1String(shape.name)) continue;
    p.save();
    p.setRenderHint(QPainter::Antialiasing);
    p.translate(box.topLeft());
    p.scale(box.width() / 16, box.height() / 16);
    p.setPen(QPen(colour, 1.35, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    p.setBrush(name == "play" ? QBrush(colour) : QBrush(Qt::NoBrush));
    p.drawPath(path_of(QString::fromLatin1(shape.strokes)));
    p.restore();
  }
}

QIcon icon(const QString& name, const QColor& colour) {
  QIcon out;
  QColor pale = colour;
  pale.setAlphaF(0.4F);
  for (int scale : {1, 2}) {
    out.addPixmap(pixmap(name, colour, scale), QIcon::Normal);
    out.addPixmap(pixmap(name, pale, scale), QIcon::Disabled);
  }
  return out;
}

QStringList icon_names() {
  QStringList names;
  for (const IconShape& shape : kShapes) names << QString::fromLatin1(shape.name);
  return names;
}

QIcon program_icon() {
  QIcon out;
  for (int size : {16, 32, 64}) {
    QPixmap image(size, size);
    image.fill(Qt::transparent);
    QPainter p(&image);
    const double u = size / 16.0;
    const auto bar = [&](double x, double y, double w, Ink ink) {
      p.fillRect(QRectF(x * u, y * u, w * u, 3 * u), qcolor(ink, Theme::Dark));
    };
    bar(1, 2.5, 6, Ink::WeightGradient);
    bar(8, 2.5, 3, Ink::Backward);
    bar(3, 6.5, 4, Ink::WeightGradient);
    bar(8, 6.5, 6, Ink::Backward);
    bar(6, 10.5, 5, Ink::Backward);
    bar(12, 10.5, 3, Ink::Forward);
    out.addPixmap(image);
  }
  return out;
}

}  // namespace trainyard
