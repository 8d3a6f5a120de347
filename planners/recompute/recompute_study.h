// A RecomputeStudy holds what is published about recomputation against one stage of a plan: the
// memory that each method needs for one microbatch, and how much longer it computes for that. It
// looks twice: at the stage's layers as a chain (Chen's sqrt n, Revolve, and the optimum for layers
// that differ), and at the ops of its most frequent layer as a graph (the kept sets that a plan can
// state, and Checkmate's integer program).
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"

namespace trainyard {

/// The integer program has a row for each pair of ops, and takes minutes for layers of more.
inline constexpr int kMostProgramOps = 32;

struct RecomputeTrade {
  std::string method;  // "keep everything", "sqrt n", "revolve", "optimal chain", "keep",
                       // "integer program"
  std::string words;   // "4 segments", "2 checkpoints", "attention+act"; may be empty
  Bytes kept{};        // of a chain the most that is kept at once; of a layer, from its forward to
                       // its backward
  Bytes peak{};        // most that is there at once of one microbatch, gradients on their way too
  Duration time{};     // its forward and backward, and what is done again
  std::optional<bool> optimal;  // no schedule within that peak takes less time; empty where the
                                // method does not ask
};

struct RecomputeStudy {
  int stage = 0, layers = 0;          // of that virtual stage
  std::vector<RecomputeTrade> chain;  // rising peak; the last keeps everything
  std::string block;                  // name of the layer's block
  int ops = 0;                        // of the layer, forward and backward
  std::vector<RecomputeTrade> layer;  // rising bytes kept; the last keeps everything
};

/// Of the stage whose microbatch holds most. Whatever the plan says of recomputation is left out.
/// Blocks for seconds. Throws as prepare() does; Error{Cancelled} when stopped.
RecomputeStudy study_recomputation(const Scenario&, const CostModel&, std::stop_token = {});

}  // namespace trainyard
