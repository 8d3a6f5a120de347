// Finds the words in a picture, and words that a reader could not read.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/text_metrics.h"

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

/// The box of a label's letters, from the baseline to the height of a capital.
inline Rect place_of(const Label& label) {
  const float width = text_width(label);
  const float left = label.align == Align::Left     ? label.at.x
                     : label.align == Align::Center ? label.at.x - width / 2
                                                    : label.at.x - width;
  return {left, label.at.y - label.size * 0.36f, width, label.size * 0.72f};
}

/// Returns a sentence for every label that is cut at the left or right, that another label or a
/// filled area painted later touches, or that speaks like a command line.
inline std::vector<std::string> label_faults(const Drawing& drawing) {
  constexpr float kRounding = 0.5f;  // px: measured widths are within 2 % of those drawn
  struct Seen {
    std::string text;
    Rect place;  // of what is within its clip
  };
  std::vector<Seen> seen;
  std::vector<std::string> faults;
  const auto meet = [](const Rect& a, const Rect& b) {
    const Rect both = intersect(a, b);
    return both.width > kRounding && both.height > kRounding;
  };
  for (const Mark& mark : drawing.marks) {
    const Rect& clip = drawing.clips[mark.clip];
    if ((mark.kind == MarkKind::Fill || mark.kind == MarkKind::Box) && mark.style.alpha > 0.9f) {
      const Rect covers = intersect(mark.rect, clip);
      std::erase_if(seen, [&](const Seen& label) {
        if (!meet(label.place, covers)) return false;
        const bool whole = intersect(label.place, covers) == label.place;
        if (!whole) faults.push_back("\"" + label.text + "\" lies partly under an area");
        return true;
      });
    }
    if (mark.kind != MarkKind::Text) continue;
    for (std::uint32_t i = mark.first; i < mark.first + mark.count; ++i) {
      const Label& label = drawing.labels[i];
      const Rect all = place_of(label),
                 shown = intersect(intersect(all, clip), whole(drawing.size));
      if (shown.width <= 0 || shown.height <= 0) continue;
      if (shown.width < all.width - kRounding) faults.push_back("\"" + label.text + "\" is cut");
      for (const Seen& other : seen)
        if (meet(shown, other.place))
          faults.push_back("\"" + label.text + "\" lies over \"" + other.text + "\"");
      for (const char* words : {"--", "#/", "schedule="})
        if (label.text.find(words) != std::string::npos)
          faults.push_back("\"" + label.text + "\" speaks like the command line");
      seen.push_back({label.text, shown});
    }
  }
  return faults;
}

}  // namespace trainyard::testing
