// A search for plans as both programs run it: the space opened from words, the engine given its
// simulator and its prices, and what is asked of it afterwards: results of candidates, a sample of
// every fate, what lies between two plans by cause.
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

/// A search as words: what --model, --cluster, --plan, --set, --bound and --calibration say.
struct PlanQuestion {
  Request request;  // its settings fix the knobs that they name; a plan's file fixes none, and
                    // gives what no knob changes
  std::vector<Bound> bounds;
  std::string calibration;  // a file; empty = none
};

/// Throws Error{InvalidInput} or Error{Io}: as open() and PlanSpace do.
PlanSpace open_space(const PlanQuestion&);
/// The keys that settings like "tp=8 pp=4" name.
std::vector<std::string> setting_keys(const std::vector<std::string>& settings);

/// What SearchOptions ask of an application, for a question: prices and the simulator. Keeps the
/// results that it simulated. Must outlive the searches that it equips.
class PlanPrices {
 public:
  /// The calibration is read once. Throws as open_measured_prices() does.
  explicit PlanPrices(const std::string& calibration);
  /// Fills `cost` and `simulator`; the latter stops with options.stop.
  void equip(SearchOptions&);

  /// By the closed form, with what it assumes.
  Result estimated(const Scenario&) const;
  /// At order grain where the candidate was simulated, else by the closed form.
  Result result(const PlanSpace&, const Candidate&);

 private:
  std::unique_ptr<CostModel> cost(const Scenario&) const;
  /// Throws Error{InvalidInput} for more than can be simulated.
  Result simulated(const Scenario&, std::stop_token);

  std::optional<MeasuredPrices> calibration_;
  std::mutex lock_;
  std::map<std::string, Result> simulated_;  // by document of plan and cluster
};

/// One plan of each fate that occurs: the one with the fewest words apart from the winner (from
/// the plan that needs least memory where nothing fits); ties go to the lower id.
struct FateSample {
  Fate fate = Fate::Untried;
  std::uint64_t count = 0;
  PlanId id = 0;
  Reason reason;
};
std::vector<FateSample> fate_samples(const PlanSpace&, const SearchResult&, const SearchOptions&);

/// Knobs in which two points differ.
std::size_t words_apart(const PlanSpace&, PlanId, PlanId);
/// Whether a knob says something in a point's plan: sequence parallelism says nothing with one
/// tensor rank, nor a knob that has one value.
bool speaks(const PlanSpace&, PlanId, std::size_t knob);
/// "tp=8 pp=2": the words that say something.
std::string telling_words(const PlanSpace&, PlanId);
/// "micro-batch=2 zero=1": the first's words where they differ; "" where they do not.
std::string words_beside(const PlanSpace&, PlanId id, PlanId other);

/// A step or a device's memory by cause, nanoseconds or bytes; parts sum to the whole exactly.
struct CausePart {
  std::string name;
  std::int64_t mine = 0, theirs = 0;
  std::int64_t difference() const { return theirs - mine; }
};
struct Waterfall {
  std::int64_t mine = 0, theirs = 0;
  std::vector<CausePart> parts;  // what differs most first; what both lack is left out
};
/// From mine to theirs, of each one's critical device.
Waterfall time_by_cause(const Result& mine, const Result& theirs);
/// From mine to theirs, of each one's fullest device; what is reserved beyond its tensors is a
/// part.
Waterfall bytes_by_cause(const Result& mine, const Result& theirs);
/// What is reserved there.
Bytes reserved(const Result&);

/// Every plan tried, a line each: its words, figures, whether they are exact or bounds, its fate.
std::string plans_csv(const PlanSpace&, const SearchResult&);

/// What `--out` writes: the plan with every default written out.
std::string chosen_plan(const PlanSpace&, PlanId);

}  // namespace trainyard
