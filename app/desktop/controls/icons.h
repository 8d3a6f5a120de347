// Icons are strokes in a 16 px box, 1.35 px wide with round joins, drawn in any colour and at any
// pixel ratio.
#pragma once

#include <QColor>
#include <QIcon>
#include <QRectF>
#include <QString>
#include <QStringList>

class QPainter;

namespace trainyard {

/// Names are listed by icon_names(). An unknown name draws nothing.
void draw_icon(QPainter&, const QString& name, const QRectF& box, const QColor&);
/// An icon in that colour, paler if disabled.
QIcon icon(const QString& name, const QColor&);
QStringList icon_names();
/// The program's logo, three bars of a schedule, for windows and the menu bar.
QIcon program_icon();

}  // namespace trainyard
