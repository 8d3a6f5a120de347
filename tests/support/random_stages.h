// Stages of a layer's operators, drawn at random among those that dependences allow.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/lowering/lower.h"
#include "core/methods/layers/layer_operators.h"
#include "core/methods/layers/weight_pass.h"
#include "core/methods/parallel/operator_stages.h"

namespace trainyard::testing {

class RandomStages {
 public:
  explicit RandomStages(std::uint64_t seed) : random_(seed, 1) {}

  /// Stages of up to so many cores for the forward and backward of every kind of layer.
  std::vector<StagedOps> of(const Workload& w, int cores) {
    std::vector<StagedOps> all;
    for (const Body& body : w.bodies)
      for (const bool backward : {false, true}) {
        const std::vector<BodyOp>& ops = backward ? body.backward : body.forward;
        if (ops.empty()) continue;
        const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
        all.push_back({body.block, backward,
                       cut(layer_operators(graph, body, ops, weight_pass_reads_gradient), cores)});
      }
    return all;
  }

 private:
  using Stage = std::vector<std::vector<int>>;

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return random_.between(next_++, low, high);
  }

  std::vector<Stage> cut(const OperatorGraph& graph, int cores) {
    const std::size_t count = graph.operators.size();
    std::vector<int> stage_of(count, -1), core_of(count, 0);
    std::vector<Stage> stages;
    for (std::size_t placed = 0; placed < count;) {
      const int now = static_cast<int>(stages.size());
      Stage stage(static_cast<std::size_t>(pick(1, cores)));
      for (std::int64_t more = pick(1, 8); more > 0; --more) {
        std::vector<std::pair<int, int>> ready;  // op, and its core or -1 where any will do
        for (std::size_t op = 0; op < count; ++op)
          if (const int core = stage_of[op] < 0 ? core_for(graph, op, now, stage_of, core_of) : -2;
              core > -2)
            ready.emplace_back(static_cast<int>(op), core);
        if (ready.empty()) break;
        auto [op, core] =
            ready[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(ready.size()) - 1))];
        if (core < 0) core = static_cast<int>(pick(0, static_cast<std::int64_t>(stage.size()) - 1));
        stage[static_cast<std::size_t>(core)].push_back(op);
        stage_of[static_cast<std::size_t>(op)] = now, core_of[static_cast<std::size_t>(op)] = core;
        ++placed;
      }
      std::erase_if(stage, [](const std::vector<int>& core) { return core.empty(); });
      stages.push_back(std::move(stage));
    }
    return stages;
  }

  // The core on which an op may join the stage: any (-1), that of the ops it waits for, or none
  // (-2).
  static int core_for(const OperatorGraph& graph, std::size_t op, int stage,
                      const std::vector<int>& stage_of, const std::vector<int>& core_of) {
    int core = -1;
    for (const int before : graph.operators[op].after) {
      const auto b = static_cast<std::size_t>(before);
      if (stage_of[b] < 0) return -2;
      if (stage_of[b] < stage) continue;
      if (core >= 0 && core != core_of[b]) return -2;
      core = core_of[b];
    }
    return core;
  }

  Random random_;
  std::uint64_t next_ = 0;
};

}  // namespace trainyard::testing
