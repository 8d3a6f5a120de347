// A theme is the look of the window: palette, fonts and style sheet, all derived from the palette
// of the canvases.
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

/// The factor by which all text and lines are enlarged: 1, or 1.5 for a projector.
double ui_scale();
void set_ui_scale(double);
/// A size in pixels at the current scale, for widgets that are created later than the window.
int ui_pixels(double);

/// Inter if installed, else DejaVu Sans. pixels: 10, 11, 12, 13, 15 or 20, at scale 1.
QFont ui_font(double pixels, QFont::Weight = QFont::Normal);
QFont code_font(double pixels = 11);

/// Loads fonts on the first call, then sets style, palette and style sheet of the whole
/// application.
void apply_theme(QApplication&, Theme);
/// While this object exists, widgets are created without the style sheet; its destructor applies
/// the sheet to all at once. With a sheet in force, Qt styles a whole subtree again each time it
/// gets a parent, so that a widget would be styled once for every box around it. If widgets are
/// already visible, the sheet stays.
class SheetAtOnce {
 public:
  SheetAtOnce();
  ~SheetAtOnce();
  SheetAtOnce(const SheetAtOnce&) = delete;
  SheetAtOnce& operator=(const SheetAtOnce&) = delete;

 private:
  QString sheet_;  // empty: the sheet stays
};

/// Returns whether the desktop's palette is dark or light: the theme of the first start.
Theme system_theme();

/// The whole style sheet with all colours filled in.
QString style_sheet(Theme);

}  // namespace trainyard
