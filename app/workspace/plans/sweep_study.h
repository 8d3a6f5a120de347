// A sweep with the workbench's prices: a search for each combination, as `plan` searches, or the
// plan as it is given, as `simulate` simulates it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/estimate/sweep.h"
#include "planners/plans/plan_search.h"

namespace trainyard {

struct SweepQuestion {
  std::vector<std::string> models, clusters;  // words of --model and --cluster
  std::vector<double> prices = {};            // of a device-hour; empty = the cluster's own
  std::vector<SweepAxis> vary = {};           // settings, each with its values
  std::string plan = {};                      // a plan file, as Request has it
  std::vector<std::string> settings = {};     // of every combination
  bool as_given = false;                      // the plan is not searched
  std::vector<Bound> bounds = {};             // of the searches
  std::string calibration = {};  // as open_cost_model() reads it; empty = the workbench's prices
  SearchOptions options = {};    // of each search; its stop ends the sweep
  // Called when a combination begins, and by its search as SearchOptions says; the rows of the
  // study are those that are finished.
  std::function<void(const SweepStudy&, const SearchProgress*)> progress = {};
};

/// Reads "seq=4096,8192". A value may bring further settings with it, as in "seq=4096
/// global-batch=64,8192 global-batch=32". Throws Error{InvalidInput} where the key or a value is
/// missing.
SweepAxis parse_sweep_axis(std::string_view text);

/// Blocks. What is wrong with the words themselves is refused at once: throws Error{InvalidInput}
/// for a model or cluster that cannot be opened, a setting or value that no plan takes, a value
/// that is named twice, more than kMostCombinations, and where no combination can be opened at all.
/// A combination that has no plan is a row that says why. When stopped, the rows are those that
/// were finished. The answer is the same for any number of threads.
SweepStudy sweep(const SweepQuestion&);

}  // namespace trainyard
