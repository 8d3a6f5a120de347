// knobs: what each knob of a plan is worth, how far it can be turned, and what would have to change
// for another plan to win.
#include <ostream>

#include "app/cli/knobs_text.h"
#include "app/cli/scenario_words.h"
#include "app/workspace/workspace.h"

namespace trainyard {
namespace {

constexpr int kNeighbours = 1, kLongRange = 12;

CostOf costs_of(const std::unique_ptr<CostModel>& given) {
  using Shared = std::shared_ptr<const CostModel>;
  if (given != nullptr)
    return [lent = given.get()](const Scenario&) { return Shared(Shared(), lent); };
  return [](const Scenario& s) { return Shared(cost_model(s)); };
}

int run_knobs(const Words& words, Streams& streams) {
  Scenario scenario = open_scenario(words, streams);
  const std::unique_ptr<CostModel> calibrated = open_costs(words, scenario);
  const CostOf cost = costs_of(calibrated);
  const bool alone = words.has("knob");
  const Sensitivity found =
      sensitivity(scenario, cost, {words.texts("knob"), alone ? kLongRange : kNeighbours});
  deliver(words.has("json") ? strips_document(found) : strips_text(found, alone), words, streams);
  return kDone;
}

}  // namespace

Verb knobs_verb() {
  return {.name = "knobs",
          .summary = "A sensitivity strip per knob of a plan: step, memory and fit of each value.",
          .flags = with_scenario_flags(
              {{"knob", "KEY", "this one only, over a longer range", true},
               calibration_flag(),
               {"json", "", "one trainyard/knobs@1 document and nothing else"}}),
          .examples = {"knobs --model llama-3-70b --cluster h100-sxm:64 --set tp=8 --set pp=4 "
                       "--set global-batch=128"},
          .run = run_knobs};
}

}  // namespace trainyard
