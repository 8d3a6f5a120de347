// A ControlStyle draws the few controls for which a style sheet would need image files: check
// boxes, branches, arrows, combo boxes and the signs of message boxes.
#pragma once

#include <QProxyStyle>

namespace trainyard {

class ControlStyle : public QProxyStyle {
  Q_OBJECT

 public:
  ControlStyle();
  void drawPrimitive(PrimitiveElement, const QStyleOption*, QPainter*,
                     const QWidget*) const override;
  int pixelMetric(PixelMetric, const QStyleOption*, const QWidget*) const override;
  QIcon standardIcon(StandardPixmap, const QStyleOption*, const QWidget*) const override;
  int styleHint(StyleHint, const QStyleOption*, const QWidget*, QStyleHintReturn*) const override;
};

}  // namespace trainyard
