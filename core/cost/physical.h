// The cost model that predictions use: each kind of work by what limits it on a real device, in
// named parameters (parameters.h). Products: tiles, waves, inner length, clock. Attention: its
// kernel, head width. Chains of element-wise operators: traffic by who fuses them. A phase: its
// kernels, or the host that issues them. Links: bus bandwidth and latency by algorithm.
#pragma once

#include <memory>

#include "core/cost/cost_model.h"
#include "core/cost/generation.h"
#include "core/cost/parameters.h"
#include "core/plan/plan.h"
#include "core/plan/software.h"

namespace trainyard {

std::unique_ptr<CostModel> physical_cost_model(const SettledSoftware&, const Parameters& = {});
/// Of the scenario's plan on its device.
std::unique_ptr<CostModel> physical_cost_model(const Scenario&, const Parameters& = {});

/// Those that predictions for the device read, in the order of the table.
std::vector<Parameter> parameters_of(const Device&);

struct TileShape {
  double inner = 200;        // length of the inner dimension that filling and draining a tile costs
  double wave = 0.7;         // exponent of the idle share of the last wave
  double small_tile = 1.08;  // cost of a tile of half the size, by area; of a quarter its square
};
/// Time of count products m x k by k x n on a device of so many units, of the time that whole tiles
/// in whole waves without an end would take; >= 1 but for the wave exponent. The best over tile
/// shapes and splits of the inner dimension (split-k). Lost: what hangs over the edges of the
/// matrix, units that idle in the last wave to the power `wave`, and inner / k in each tile.
double tile_time(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int units,
                 const TileShape&);

}  // namespace trainyard
