// How wide text is, without a font: advance widths of Inter and JetBrains Mono from a table, so
// that layout is the same on every machine. Within 2 % of the rendered width where those fonts are
// used; other fonts may differ more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Logical px. Digits are tabular. Characters outside the table count as an average wide one;
/// broken UTF-8 counts a byte as a character.
float text_width(std::string_view, float size, Weight = Weight::Medium, Face = Face::Sans);
inline float text_width(const Label& label) {
  return text_width(label.text, label.size, label.weight, label.face);
}

/// The text if it fits, else its longest beginning that fits followed by an ellipsis, else "".
std::string fit_text(std::string_view, float width, float size, Weight = Weight::Medium,
                     Face = Face::Sans);

/// The lines of a text that is broken between words, none of them wider than `width` but for a line
/// of one word. An empty text has none.
std::vector<std::string> wrapped_lines(std::string_view, float width, float size,
                                       Weight = Weight::Regular);

}  // namespace trainyard
