// The colours of inks in each theme, and which theme is in use: what controls draw themselves with.
#pragma once

#include <QColor>

#include "visualizers/drawing/palette.h"

namespace trainyard {

QColor qcolor(Ink, Theme);

/// The theme that apply_theme set last.
Theme current_theme();
/// For apply_theme (theme.h) alone.
void set_current_theme(Theme);

}  // namespace trainyard
