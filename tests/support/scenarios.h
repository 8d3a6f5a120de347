// Scenarios of a few equal layers, and shorthand for tests of pipelines.
#pragma once

#include <string>
#include <vector>

#include "backends/simulator/simulator.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/ops.h"
#include "core/timeline/metrics.h"

namespace trainyard::testing {

/// A model of `layers` products of one width and nothing else.
inline Model layers_model(int layers, std::int64_t width = 8) {
  Block block;
  block.name = "layers";
  block.count = layers;
  Graph& g = block.graph;
  g.input = g.add({"x", {{0, Axis::Batch}, {width}}, TensorKind::Activation, ""});
  const TensorId weight = g.add({"weight", {{width}, {width}}, TensorKind::Parameter, ""});
  g.output = g.add("product", matmul(), {g.input, weight});
  Model model;
  model.name = "layers";
  model.family = "mlp";
  model.tokens = false;
  model.blocks.push_back(std::move(block));
  return model;
}

struct PipelineShape {
  std::string schedule = "1f1b";
  int devices = 1, virtual_stages = 1, microbatches = 1;
};

inline Scenario pipeline(const PipelineShape& shape) {
  Scenario s{layers_model(shape.devices * shape.virtual_stages),
             make_cluster(device("h100-sxm"), 8 * shape.devices),  // one node per stage
             {}};
  s.plan.mesh.pp = shape.devices;
  s.plan.virtual_stages = shape.virtual_stages;
  s.plan.batch = {8 * shape.microbatches, 1, 1};
  choice(s.plan, shape.schedule);
  return s;
}

/// Prices with a fixed time for each phase of a stage; everything else is free.
inline TaskPrices fixed_prices(const Program& p, Duration forward, Duration backward) {
  TaskPrices prices;
  for (const Task& task : p.tasks) {
    const bool compute = task.kind == TaskKind::Compute;
    prices.time.push_back(!compute                        ? Duration{}
                          : task.phase == Phase::Forward  ? forward
                          : task.phase == Phase::Backward ? backward
                                                          : Duration{});
    prices.fill.push_back(1.0);
    prices.resource.push_back(compute ? 0 : 1);
    prices.recompute_share.push_back(0);
    prices.flops.push_back({});
    prices.model_flops.push_back({});
  }
  return prices;
}

struct Ran {
  Program program;
  Timeline timeline;
};

/// Lowers at order grain and runs with times F and B of one virtual stage.
inline Ran run(const PipelineShape& shape, Duration forward, Duration backward) {
  Ran ran{lower(pipeline(shape)), {}};
  ran.timeline = simulate(ran.program, fixed_prices(ran.program, forward, backward));
  return ran;
}

}  // namespace trainyard::testing
