// Icons as strokes in a 16 px box, 1.35 px wide with round joins, drawn in any colour and at any
// pixel ratio.
#pragma once

#include <QColor>
#include <QIcon>
#include <QRectF>
#include <QString>
#include <QStringList>

class QPainter;

namespace trainyard {

/// Names: see icon_names(). An unknown name draws nothing.
void draw_icon(QPainter&, const QString& name, const QRectF& box, const QColor&);
/// An icon in that colour, paler where it is disabled.
QIcon icon(const QString& name, const QColor&);
QStringList icon_names();
/// The sign of the program: three bars of a schedule, for windows and the menu bar.
QIcon program_icon();

}  // namespace trainyard
