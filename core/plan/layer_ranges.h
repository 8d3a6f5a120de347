// Ranges of a model's layers, for what a plan does to some layers and not to others. Layers are
// counted from 0 in order of data flow; embedding and head are none.
//
//   none, all
//   first:2,last:8     the first two and the last eight
//   0-1,30             layers 0 and 1, and layer 30
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

struct LayerRange {
  enum class From : std::uint8_t { Start, End };
  From from = From::Start;
  int low = 0, high = 0;  // both included, counted from that side
  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// As they were written: in any order, and they may overlap. "all" is one range that no model
/// exceeds.
using LayerRanges = std::vector<LayerRange>;

/// Throws Error{InvalidInput} that says what was expected and found.
LayerRanges parse_layer_ranges(std::string_view text, const Place& = {});
/// Returns what is wrong with a text of layer ranges, "" when nothing is.
std::string layer_ranges_refusal(std::string_view text);

/// Says of each of so many layers whether a range holds it. What lies outside is left out.
std::vector<bool> in_ranges(const LayerRanges&, int layers);
/// Adds an error for each range that names a layer beyond the last of so many, unless it is "all".
void check_layer_ranges(const LayerRanges&, int layers, const Place&, Diagnostics& found);

}  // namespace trainyard
