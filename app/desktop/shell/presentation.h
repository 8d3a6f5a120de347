// Presentation: the same window with text and lines one and a half times as large, to be projected.
#pragma once

class QApplication;
class QWidget;

namespace trainyard {

inline constexpr double kPresentationScale = 1.5;

/// Makes everything of the window as large as ui_scale() says: explicit fonts, fixed sizes, and
/// through the theme all the rest. May be called again after widgets were added.
void follow_scale(QApplication&, QWidget& window);

}  // namespace trainyard
