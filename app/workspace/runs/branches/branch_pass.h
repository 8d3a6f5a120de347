// This file has the question about branches and its answer: a study has a pass for the forward and
// the backward of each kind of layer, and a pass its operators and schedules.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/op.h"
#include "planners/branches/merged_stage.h"

namespace trainyard {

/// Where the times of operators are from: they run here, or a cost model prices their work.
enum class OperatorPrices : std::uint8_t { Measured, Roofline, Calibrated, Learned };
inline constexpr std::string_view kOperatorPrices[] = {"measured", "roofline", "calibrated",
                                                       "learned"};
inline std::string_view to_string(OperatorPrices prices) {
  return kOperatorPrices[static_cast<std::size_t>(prices)];
}

struct BranchQuestion {
  int cores = 0;    // 0: all that this machine has, or the processor that is priced
  int rounds = 31;  // of every measurement, >= 1
  StageLimits limits = {};
  std::stop_token stop = {};
  std::function<void(double)> progress = {};     // share that is done, in [0, 1]
  StageStrategy strategy = StageStrategy::Both;  // of the best stages
  OperatorPrices prices = OperatorPrices::Measured;
};

/// A schedule, what it should take by the times of its operators, and what it takes. Both times are
/// the least of rounds in which operators and schedules took turns, so that they are of one
/// machine. The groups of its stages, as they run, are those of the cores.
struct RunSchedule {
  OperatorSchedule schedule;  // its time is the predicted one
  Duration measured{};        // by the clock, the quickest of the rounds; 0 = it was not run

  /// As measured, or else as predicted.
  Duration taken() const { return measured > Duration{} ? measured : schedule.time; }
};

/// The forward or the backward of one kind of layer, for one microbatch.
struct BranchPass {
  std::string block;    // the name of its kind in the model
  std::int64_t layers;  // of that kind in the model
  bool backward = false;
  OperatorGraph graph;
  std::vector<OperatorTime> times;  // by operator, and then by merge of the graph
  // The best is found by the times of the first rounds, and is the least of those that were run.
  RunSchedule sequential, greedy, best;
  BestStages found;              // without its schedule, which is in `best`
  bool same_bits = true;         // schedules without merged operators leave the same numbers
  std::vector<Pass> parts = {};  // by operator: of which pass of its node it is
  // The best stages by the other two strategies, where the question is of both and something may
  // merge; without stages otherwise.
  RunSchedule concurrent = {}, merged = {};
  std::vector<Work> works = {};   // by merge: at its own sizes, with zeros around kernels
  std::vector<Flops> apart = {};  // by merge: of its operators one by one
  // The largest difference between numbers that merged operators leave and those of single ones,
  // over the largest number of the tensor; 0 where none of the schedules merges anything.
  double merged_difference = 0;
  // Seconds for each byte of a tensor that another core has, as measured where operators run one
  // after another on alternating cores; 0 where one core is measured, or nothing.
  double handover = 0;
};

struct BranchStudy {
  std::string machine;  // or the processor that is priced
  CoreSharing sharing;
  int rounds = 0;                  // 0 = nothing was measured
  std::vector<BranchPass> passes;  // by kind of layer, forward before backward
  StageStrategy strategy = StageStrategy::Both;
  bool in_floats = true;  // tensors are in 4-byte floats; else nothing that is measured merges
  OperatorPrices prices = OperatorPrices::Measured;
  std::vector<std::string> leaves_out = {};  // of prices: what they do not have, as list items

  bool measured() const { return prices == OperatorPrices::Measured; }
};

}  // namespace trainyard
