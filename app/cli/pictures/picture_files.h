// Writes a drawing to the files that --svg and --png name.
#pragma once

#include "app/cli/verb.h"
#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/palette.h"

namespace trainyard {

/// --theme, which theme_of() reads.
Flag theme_flag();
/// Throws Error{InvalidInput} for a theme that there is not.
Theme theme_of(const Words&);
/// Returns whether either flag was given.
bool asks_for_picture(const Words&);
/// Writes the files that were given, and says so. Throws Error{Io}.
void write_picture(const Drawing&, Theme, const Words&, Streams&);

}  // namespace trainyard
