// A Swatch is a square of a data colour with its pattern and outline, as in legends.
#pragma once

#include <QIcon>
#include <QWidget>

#include "visualizers/drawing/palette.h"

class QPainter;

namespace trainyard {

/// Fills the rectangle like a box of that ink: with colour, pattern and, in the light theme, an
/// outline.
void paint_swatch(QPainter&, const QRectF&, Ink);

/// The same as an icon of 10 px, for rows of tables.
QIcon swatch_icon(Ink);

class Swatch : public QWidget {
 public:
  explicit Swatch(Ink ink, int size = 10) : ink_(ink) { setFixedSize(size, size); }

 protected:
  void paintEvent(QPaintEvent*) override;

 private:
  Ink ink_;
};

}  // namespace trainyard
