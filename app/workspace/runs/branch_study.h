// Studies what it is worth to run independent operators of a layer beside each other on the cores
// of this machine, or as one where they read the same input: measures each operator and each merged
// one, finds stages (planners/branches/operator_stages.h), and runs them, while it goes on to
// measure operators.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/workspace/scenario/request.h"
#include "core/model/op.h"
#include "core/plan/plan.h"
#include "planners/branches/merged_stage.h"

namespace trainyard {

struct BranchQuestion {
  int cores = 0;    // 0: all that this machine has
  int rounds = 31;  // of every measurement, >= 1
  StageLimits limits = {};
  std::stop_token stop = {};
  std::function<void(double)> progress = {};     // share that is done, in [0, 1]
  StageStrategy strategy = StageStrategy::Both;  // of the best stages
};

/// A schedule, what it should take by the times of its operators, and what it takes. Both times are
/// the least of rounds in which operators and schedules took turns, so that they are of one
/// machine. The groups of its stages, as they run, are those of the cores.
struct RunSchedule {
  OperatorSchedule schedule;  // its time is the predicted one
  Duration measured{};        // by the clock, the quickest of the rounds
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
};

/// Numbers of merged operators further off than this are an error of the program: sums of some
/// thousand products in 4-byte floats in another order, which norms and gradients enlarge.
inline constexpr double kMostMergedDifference = 1e-3;

/// The name of an operator, or of a merge by its number behind the operators.
const std::string& operator_name(const BranchPass&, int op);
/// The schedules of a pass that were run, with their names: "one after another", "greedy",
/// "concurrent" and "merged" where they are apart from the best, "best".
std::vector<std::pair<std::string_view, const RunSchedule*>> schedules_of(const BranchPass&);
/// Returns whether any stage of it runs several operators as one.
bool merges_operators(const BranchPass&, const RunSchedule&);

/// "forward" or "backward".
std::string_view direction(const BranchPass&);

/// The measured time of one operator after another over that of the best stages.
double measured_gain(const BranchPass&);

struct BranchStudy {
  std::string machine;
  CoreSharing sharing;
  int rounds = 0;
  std::vector<BranchPass> passes;  // by kind of layer, forward before backward
  StageStrategy strategy = StageStrategy::Both;
  bool in_floats = true;  // tensors are in 4-byte floats; else nothing is merged
};

/// The command line that asks the same of the request's model, such as "trainyard branches --model
/// inception-tiny --cores 2".
std::string branch_command(const Request&, const BranchQuestion&);

/// Measures on all cores and blocks. Leaves out passes of one operator. Merges nothing where
/// tensors are not in 4-byte floats. Throws Error{InvalidInput} for a scenario that is not of one
/// device of this machine or whose layers do not fit into its memory, and for more cores than it
/// has; Error{Cancelled} when stopped.
BranchStudy branch_study(const Scenario&, const BranchQuestion& = {});

/// Returns the pass that gains most, of the kind of layer `block` or, where that is empty, of all;
/// null where there is none.
const BranchPass* most_gaining(const BranchStudy&, std::string_view block = {});

/// Sentences that follow from the study: the pass that gains most, the time of all layers where
/// each pass runs in the quickest of its schedules, passes whose best stages lose, what merging
/// gains, and how equal the numbers are that schedules leave.
std::vector<std::string> branch_sentences(const BranchStudy&);

}  // namespace trainyard
