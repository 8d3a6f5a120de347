// How the layers of a model are divided over the stages of its pipeline: one bar, a part a stage,
// with the embedding ahead of the first layer and the head behind the last; between two parts a
// handle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result/experiment.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/model/layer_view.h"

namespace trainyard {

struct SplitModel {
  std::vector<int> layers;       // of each virtual stage
  std::vector<DeviceId> device;  // of each
  std::vector<Duration> times;   // of each, one microbatch; empty while they are not known
  std::string ahead, behind;     // blocks that go with the first and the last stage; empty = none
};
/// The split that an experiment has.
SplitModel split_model(const Workload&, const LayerModel&);

/// The split with boundary `i`, between stage i and i + 1, moved to `layers` layers from the start,
/// as far as both stages keep something.
SplitModel with_boundary(SplitModel, std::size_t i, int layers);
/// Layers ahead of a boundary.
int layers_ahead(const SplitModel&, std::size_t boundary);

/// Where things stand in an area.
struct SplitLayout {
  Rect bar;            // all layers
  Rect ahead, behind;  // embedding and head, empty without
  float layer = 1;     // px of one
};
SplitLayout split_layout(const SplitModel&, const Rect& area);
float boundary_x(const SplitModel&, const SplitLayout&, std::size_t boundary);
/// The handle within reach of a point.
std::optional<std::size_t> boundary_at(const SplitModel&, const SplitLayout&, Point);

/// Items: Cell, tag the stage; Ruler, tag the boundary. `selected` is a Ruler item or nothing.
void draw_split(Drawing&, const Rect& area, const SplitModel&, Item selected);
Hover describe_split(const SplitModel&, Item);

}  // namespace trainyard
