// The physical cost model makes the predictions: it prices each kind of work by what limits it on a
// real device, with named parameters (parameters.h). Products depend on tiles, waves, inner length
// and clock; attention on its kernel and head width; chains of element-wise operators on their
// memory traffic and on what fuses them; a phase on its kernels or on the host that issues them;
// links on bus bandwidth and latency by algorithm.
#pragma once

#include <memory>

#include "core/cost/cost_model.h"
#include "core/cost/generation.h"
#include "core/cost/parameters.h"
#include "core/plan/plan.h"
#include "core/plan/software.h"

namespace trainyard {

std::unique_ptr<CostModel> physical_cost_model(const SettledSoftware&, const Parameters& = {});
/// Makes the model for the scenario's plan on its device.
std::unique_ptr<CostModel> physical_cost_model(const Scenario&, const Parameters& = {});

/// Returns the parameters that predictions for the device use, in the order of the table.
std::vector<Parameter> parameters_of(const Device&);

struct TileShape {
  double inner = 200;        // time to fill and drain a tile, as a length of the inner dimension
  double wave = 0.7;         // exponent applied to the idle share of the last wave
  double small_tile = 1.08;  // cost factor of a tile of half the area; a quarter of the area costs
                             // its square
};
/// Returns the time of `count` products m x k by k x n on a device with `units` units, relative to
/// whole tiles in whole waves without fill and drain; it is >= 1 apart from the effect of the wave
/// exponent. Takes the best tile shape and split of the inner dimension (split-k). The losses are
/// the parts of tiles beyond the matrix edges, units that idle in the last wave to the power
/// `wave`, and inner / k in each tile.
double tile_time(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int units,
                 const TileShape&);

}  // namespace trainyard
