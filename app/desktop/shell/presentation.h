// Presentation mode enlarges text and lines of the window by one half, for a projector.
#pragma once

class QApplication;
class QWidget;

namespace trainyard {

inline constexpr double kPresentationScale = 1.5;

/// Scales everything in the window by ui_scale(): explicit fonts and fixed sizes directly,
/// everything else through the theme. May be called again after widgets were added.
void follow_scale(QApplication&, QWidget& window);

}  // namespace trainyard
