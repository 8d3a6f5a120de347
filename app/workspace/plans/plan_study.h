// Runs a search for plans as both programs do: opens the space from words, gives the engine its
// simulator and its prices, and answers questions about the search afterwards: results of
// candidates, a sample of every fate, and the difference between two plans by cause.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/scenario/priced_scenario.h"
#include "app/workspace/scenario/workspace.h"
#include "planners/plans/plan_search.h"

namespace trainyard {

/// A search as words: the values of --model, --cluster, --plan, --set, --bound and --calibration.
struct PlanQuestion {
  // Settings fix the knobs that they name. A plan file fixes none; it gives what no knob changes.
  Request request;
  std::vector<Bound> bounds;
  std::string calibration;  // file name; empty = none
};

/// Throws Error{InvalidInput} or Error{Io} as open() and PlanSpace do.
PlanSpace open_space(const PlanQuestion&);
/// Searches the question's space; where nothing of it fits and the question leaves open what is
/// offloaded, plans whose activations leave too, as search_offloading() does.
SearchResult search_question(const PlanQuestion&, PlanSpace& space, const SearchOptions&);
/// Throws Error{InvalidInput} where money is the objective and nobody's price of the device is
/// known, and where more memory is to be spared than a device has.
void expect_searchable(const PlanSpace&, const SearchOptions&);
/// The arguments of --set that make a plan of the question's space: the question's settings, and
/// every knob that they do not fix.
std::vector<std::string> whole_words(const PlanQuestion&, const PlanSpace&, PlanId);
/// The keys that settings such as "tp=8 pp=4" name.
std::vector<std::string> setting_keys(const std::vector<std::string>& settings);

/// Supplies the prices and the simulator that SearchOptions need. It keeps simulated results and
/// must outlive the searches that it equips.
class PlanPrices {
 public:
  /// Reads the calibration once. Throws as open_measured_prices() does.
  explicit PlanPrices(const std::string& calibration);
  /// Sets `cost` and `simulator`; the simulator stops with options.stop.
  void equip(SearchOptions&);

  /// The result by the closed form, with its assumptions.
  Result estimated(const Scenario&) const;
  /// The result at order grain if the candidate was simulated, else by the closed form.
  Result result(const PlanSpace&, const Candidate&);

 private:
  std::unique_ptr<CostModel> cost(const Scenario&) const;
  /// Throws Error{InvalidInput} if the scenario is too large to simulate.
  Result simulated(const Scenario&, std::stop_token);

  std::optional<MeasuredPrices> calibration_;
  std::mutex lock_;
  std::map<std::string, Result> simulated_;  // by document of plan and cluster
};

/// One plan for each fate that occurs: the one that differs from the winner (or, if nothing fits,
/// from the plan that needs least memory) in the fewest words; ties go to the lower id.
struct FateSample {
  Fate fate = Fate::Untried;
  std::uint64_t count = 0;
  PlanId id = 0;
  Reason reason;
};
std::vector<FateSample> fate_samples(const PlanSpace&, const SearchResult&, const SearchOptions&);

/// The number of knobs in which two points differ.
std::size_t words_apart(const PlanSpace&, PlanId, PlanId);
/// Returns whether a knob has an effect in a point's plan: sequence parallelism has none with one
/// tensor rank, and a knob with a single value never has one.
bool speaks(const PlanSpace&, PlanId, std::size_t knob);
/// The words that have an effect, such as "tp=8 pp=2".
std::string telling_words(const PlanSpace&, PlanId);
/// The first plan's words where it differs from the second, such as "micro-batch=2 zero=1"; "" if
/// it does not.
std::string words_beside(const PlanSpace&, PlanId id, PlanId other);

/// A step (nanoseconds) or a device's memory (bytes) by cause; the parts sum to the whole exactly.
struct CausePart {
  std::string name;
  std::int64_t mine = 0, theirs = 0;
  std::int64_t difference() const { return theirs - mine; }
};
struct Waterfall {
  std::int64_t mine = 0, theirs = 0;
  std::vector<CausePart> parts;  // largest difference first; parts that both lack are left out
};
/// Goes from mine to theirs, each on its critical device.
Waterfall time_by_cause(const Result& mine, const Result& theirs);
/// Goes from mine to theirs, each on its fullest device; memory reserved beyond tensors is a part
/// of its own.
Waterfall bytes_by_cause(const Result& mine, const Result& theirs);

/// One line for each plan tried: its words, its figures, whether they are exact or bounds, and its
/// fate.
std::string plans_csv(const PlanSpace&, const SearchResult&);

/// The text that `--out` writes: the plan with every default stated.
std::string chosen_plan(const PlanSpace&, PlanId);

}  // namespace trainyard
