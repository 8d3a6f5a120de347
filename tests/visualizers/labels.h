// Finds the words in a picture.
#pragma once

#include <algorithm>
#include <string>

#include "visualizers/drawing/drawing.h"

namespace trainyard::testing {

/// Returns whether a label consists of exactly these words.
inline bool has_label(const Drawing& drawing, const std::string& words) {
  return std::any_of(drawing.labels.begin(), drawing.labels.end(),
                     [&](const Label& label) { return label.text == words; });
}

/// Returns whether some label contains these words.
inline bool says(const Drawing& drawing, const std::string& words) {
  return std::any_of(drawing.labels.begin(), drawing.labels.end(), [&](const Label& label) {
    return label.text.find(words) != std::string::npos;
  });
}

}  // namespace trainyard::testing
