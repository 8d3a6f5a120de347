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
/// Reads "2.5", or "2.5USD/h" as a cluster's option has it. Throws Error{InvalidInput}.
double parse_sweep_price(const std::string& text);

/// The question's axes, as the study has them: model, cluster, settings, price.
std::vector<SweepAxis> sweep_axes(const SweepQuestion&);
/// Throws Error{InvalidInput} where no model or cluster is named, a value is named twice, or there
/// are more than kMostCombinations.
void expect_sweep_size(const SweepQuestion&);

/// Blocks. What is wrong with the words themselves is refused at once: throws Error{InvalidInput}
/// as expect_sweep_size() does, for a model or cluster that cannot be opened, a setting or value
/// that no plan takes, and where no combination can be opened at all. A combination that has no
/// plan is a row that says why. When stopped, the rows are those that were finished. The answer is
/// the same for any number of threads.
SweepStudy sweep(const SweepQuestion&);

}  // namespace trainyard
