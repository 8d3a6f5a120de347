// Gives controls the colours of inks in each theme, and the theme in use.
#pragma once

#include <QColor>

#include "visualizers/drawing/palette.h"

namespace trainyard {

QColor qcolor(Ink, Theme);

/// The theme that apply_theme() set last.
Theme current_theme();
/// Only for apply_theme() (theme.h).
void set_current_theme(Theme);

}  // namespace trainyard
