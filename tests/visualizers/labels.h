// What a picture says in words.
#pragma once

#include <algorithm>
#include <string>

#include "visualizers/drawing/drawing.h"

namespace trainyard::testing {

/// A label is these words and no others.
inline bool has_label(const Drawing& drawing, const std::string& words) {
  return std::any_of(drawing.labels.begin(), drawing.labels.end(),
                     [&](const Label& label) { return label.text == words; });
}

/// They are somewhere in a label.
inline bool says(const Drawing& drawing, const std::string& words) {
  return std::any_of(drawing.labels.begin(), drawing.labels.end(), [&](const Label& label) {
    return label.text.find(words) != std::string::npos;
  });
}

}  // namespace trainyard::testing
