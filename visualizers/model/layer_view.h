// The model as the plan divides it: an outline of stages, layers and ops as rows for a table, and a
// chart of each layer's forward, backward and weight-gradient time with the stages beneath.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// A row of the outline. Rows are in the order of data flow; a row's children follow it, one
/// deeper.
struct LayerRow {
  int depth = 0;      // 0: a run of layers on a stage; then a layer; then its ops
  std::string name;   // "layers 0 to 4", "layer 0", "q_proj"
  std::string shape;  // "5 identical layers", "8192 \u00D7 1024", "rms_norm"
  StageId stage;
  std::int64_t parameters = 0;  // of the whole model, not of one device
  Bytes saved{};                // kept for backward on one device, one microbatch
  Duration forward{};           // of one microbatch on one device, blocking communication included
};

/// Times of one layer for one microbatch on one device, blocking communication included.
struct LayerBar {
  std::string name;  // "layers.5", "lm_head"
  StageId stage;
  Duration forward{}, backward{}, weight{};
  Duration sum() const { return forward + backward + weight; }
};

struct LayerModel {
  std::vector<LayerRow> rows;
  std::vector<LayerBar> bars;
  std::vector<Duration> stages;  // sum of each virtual stage's bars
};
LayerModel layer_model(const Workload&, const CostModel&);

/// Items: Cell, tag the bar.
void draw_layers(Drawing&, const Rect& area, const Experiment&, const LayerModel&,
                 const ViewState&);
Hover describe_layer(const LayerModel&, Item);

DataTable layer_table(const LayerModel&);

template <>
LayerModel make_model(const ViewData&);

extern const View kLayersView;

}  // namespace trainyard
