// The look of the window in each theme: palette, fonts and style sheet, all made from the one
// palette of the canvases.
#pragma once

#include <QFont>
#include <QString>

#include "app/desktop/controls/theme_colours.h"

class QApplication;

namespace trainyard {

/// Pixel sizes of the layout, at device pixel ratio 1.
inline constexpr int kMenuBarHeight = 28, kToolBarHeight = 40, kVerdictHeight = 34,
                     kStatusBarHeight = 24;
inline constexpr int kTitleHeight = 28, kTreeRow = 23, kTableRow = 21, kTableHeader = 23,
                     kFieldHeight = 22;
inline constexpr int kLeftDock = 208, kRightDock = 316, kRightDockDesign = 398, kBottomDock = 172;

/// How much larger than usual all text and every line is: 1, or 1.5 for a projector.
double ui_scale();
void set_ui_scale(double);
/// What is so many pixels at scale 1, for widgets that are made later than the window.
int ui_pixels(double);

/// Inter where it is installed, else DejaVu Sans. pixels: 10, 11, 12, 13, 15, 20,
/// at scale 1.
QFont ui_font(double pixels, QFont::Weight = QFont::Normal);
QFont code_font(double pixels = 11);

/// Loads fonts once, then sets style, palette and style sheet of the whole application.
void apply_theme(QApplication&, Theme);
/// While it lives, widgets are made without the style sheet; at its end all get it at once. With a
/// sheet in force Qt styles a whole subtree anew each time that it is given a parent, so that a
/// widget is styled once for every box around it. Where widgets are already seen the sheet stays.
class SheetAtOnce {
 public:
  SheetAtOnce();
  ~SheetAtOnce();
  SheetAtOnce(const SheetAtOnce&) = delete;
  SheetAtOnce& operator=(const SheetAtOnce&) = delete;

 private:
  QString sheet_;  // empty: it stays
};

/// Whether the desktop's own palette is dark: the theme of the first start.
Theme system_theme();

/// The whole style sheet with every colour written out.
QString style_sheet(Theme);

}  // namespace trainyard
