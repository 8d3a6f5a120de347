// Nodes over time with the jobs that run on them, each as high as the bytes that it adds, one panel
// a policy beneath the other; and the peaks of all policies as bars.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "visualizers/chart/bars_view.h"

namespace trainyard {

struct OccupancyBlock {
  int job = 0, node = 0;
  int kind = 0;  // index into OccupancyModel::kinds
  Instant from{}, to{};
  std::int64_t low = 0, high = 0;  // bytes of the node between which it lies
  bool paired = false;
};

struct OccupancyPanel {
  std::string title;
  std::vector<OccupancyBlock> blocks;
};

struct OccupancyModel {
  std::vector<std::string> kinds;
  int nodes = 1;
  std::int64_t capacity = 1;  // bytes of a node
  Instant end{1};
  std::vector<OccupancyPanel> panels;
  BarsModel peaks;
};

Ink occupancy_ink(int kind);
/// Blocks are items of kind Span, tagged by their job; a pair is underlined.
void draw_occupancy(Drawing&, const Rect& area, const OccupancyModel&);
/// For a file.
Drawing occupancy_picture(const OccupancyModel&);

}  // namespace trainyard
