// A square of a data colour with its pattern and outline, as legends show it.
#pragma once

#include <QIcon>
#include <QWidget>

#include "visualizers/drawing/palette.h"

class QPainter;

namespace trainyard {

/// Fills the rectangle as a box of that ink: colour, pattern and, in the light theme, outline.
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
