// Device by device: how much each sends to each in a step, as a heat map with totals at its edges,
// and beside it the calls that make it, with the bandwidth that each reaches of its links.
#pragma once

#include <optional>

#include "visualizers/chart/table.h"
#include "visualizers/communication/communication_model.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

struct CommunicationState {
  TrafficQuantity quantity = TrafficQuantity::Sent;
  bool logarithmic = true;
  bool most = false;             // cells of several pairs show their largest, else their sum
  double scale = 1;              // device pixels a logical one
  std::optional<DeviceId> rank;  // a pipeline rank whose devices are marked
  Item selected;
};

/// Where the parts lie within an area.
struct CommunicationLayout {
  Rect header, map, sent, received, calls;
  std::size_t most_cells = 1;  // a side: one a device pixel, and no more than 512
};
CommunicationLayout communication_layout(const Rect& area, const CommunicationState&);
/// What the layout has room for.
TrafficGrid grid_of(const CommunicationModel&, const Rect& area, const CommunicationState&);

/// Items: Cell, tag row * cells + column of the grid; Legend, tag the index of a flow. The grid
/// must be grid_of() the same area and state.
void draw_communication(Drawing&, const Rect& area, const CommunicationModel&, const TrafficGrid&,
                        const CommunicationState&);
Hover describe_communication(const CommunicationModel&, const TrafficGrid&, Item);
/// What a cell shows.
double shown_value(const TrafficCell&, const CommunicationState&);

/// "33.1 GiB a step, 91.2 % of it inside nodes": the whole in words.
std::string communication_words(const CommunicationModel&, const TrafficGrid&);
/// The calls, then every pair of devices where they are at most 4096.
DataTable communication_table(const CommunicationModel&);

template <>
CommunicationModel make_model(const ViewData&);

extern const View kCommunicationView;

}  // namespace trainyard
