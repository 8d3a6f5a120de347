// Nodes over time with the jobs that run on them, each as high as the bytes that it adds, one panel
// a policy beneath the other; and the peaks of all policies as bars.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "visualizers/chart/bars_view.h"
#include "visualizers/drawing/view_state.h"

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
/// Draws one panel, its nodes lower where the area is; past the last panel the peaks. Blocks are
/// items of kind Span, tagged by their job; a pair is underlined. Peaks: as draw_bars().
void draw_occupancy(Drawing&, const Rect& area, const OccupancyModel&, std::size_t panel);
/// Says of such an item which job it is, where and when it runs, and what it adds to its node.
Hover describe_occupancy(const OccupancyModel&, std::size_t panel, Item);
/// Says for people who cannot see the panel how full each node gets and of how many jobs.
std::string occupancy_words(const OccupancyModel&, std::size_t panel);
/// All panels and the peaks, for a file.
Drawing occupancy_picture(const OccupancyModel&);

}  // namespace trainyard
