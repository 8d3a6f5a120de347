// Writes a drawing to the files that --svg and --png name.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "app/cli/verb.h"
#include "visualizers/chart/table.h"
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

/// --csv and --svg, which these words explain, --png and --theme.
std::vector<Flag> table_and_picture_flags(std::string_view csv, std::string_view svg);
/// Writes the files that these flags name. The picture is made only where a file wants it. Throws
/// Error{InvalidInput} for an unknown theme, and Error{Io}.
void write_table_and_picture(const DataTable&, const std::function<Drawing()>& picture,
                             const Words&, Streams&);

}  // namespace trainyard
