// Studies what it is worth to run independent operators of a layer beside each other on the cores
// of a processor, or as one where they read the same input. It measures each operator and each
// merged one on this machine, finds stages (planners/branches/operator_stages.h), and runs them,
// while it goes on to measure operators; or a cost model prices each operator, and nothing runs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/workspace/runs/branches/branch_pass.h"
#include "app/workspace/scenario/request.h"
#include "core/plan/plan.h"

namespace trainyard {

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

/// The time of one operator after another over that of the best stages, both as taken().
double gain_of(const BranchPass&);

/// The command line that asks the same of the request's model, such as "trainyard branches --model
/// inception-tiny --cores 2".
std::string branch_command(const Request&, const BranchQuestion&);

/// Measures on all cores and blocks, or prices the cores of a processor and runs nothing. Leaves
/// out passes of one operator. Merges nothing that is measured where tensors are not in 4-byte
/// floats. `calibration`: the measured kernels of prices that are not of the roofline, as
/// open_cost_model() reads them. Throws Error{InvalidInput} for a scenario of several devices or of
/// one without cores that are priced one by one, for measurements of another device than this
/// machine's or of layers that do not fit into its memory, for more cores than there are, and for a
/// calibration that is missing or of another device; Error{Cancelled} when stopped.
BranchStudy branch_study(const Scenario&, const BranchQuestion& = {},
                         const std::string& calibration = {});

/// Returns the pass that gains most, of the kind of layer `block` or, where that is empty, of all;
/// null where there is none.
const BranchPass* most_gaining(const BranchStudy&, std::string_view block = {});

/// Sentences that follow from the study: the pass that gains most, the time of all layers where
/// each pass runs in the quickest of its schedules, passes whose best stages lose, what merging
/// gains, and how equal the numbers are that schedules leave.
std::vector<std::string> branch_sentences(const BranchStudy&);

}  // namespace trainyard
