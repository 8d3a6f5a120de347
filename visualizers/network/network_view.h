// Draws the work of a cluster's links during a step: the load of the busiest ones over time, how
// much of it other jobs are, and which transfers waited for which.
#pragma once

#include <string>
#include <vector>

#include "core/network/network_use.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// Number of columns of time that a picture asks of NetworkOptions::bins.
inline constexpr std::size_t kNetworkBins = 128;

/// A row for each kind of links, the busiest first, as many as there is room for, and below them
/// the longest waits. Items: Cell, tag load_cell(); Lane, tag the row of a link; Dot, tag the row
/// of a wait.
void draw_network(Drawing&, const Rect& area, const NetworkUse&, const ViewState& = {});
Hover describe_network(const NetworkUse&, Item);
Drawing network_picture(const NetworkUse&);
/// All links, then all waits.
DataTable network_table(const NetworkUse&);
/// Returns one sentence for each conclusion from the picture.
std::vector<std::string> network_sentences(const NetworkUse&);

/// The load of a row of the picture in a bin of time.
constexpr std::uint64_t load_cell(std::size_t row, std::size_t bin) { return row << 16 | bin; }

}  // namespace trainyard
