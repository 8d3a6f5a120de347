// Measures what watching a run by all rules costs at their usual interval of 50 steps: the
// processor time of a run with rules over that of the same run without, which take turns at being
// the first of a pair. Other programs on the machine disturb single pairs, so the median is held
// against the bar of at most 3 % and the quartiles say how far to trust it. Steps that nobody looks
// at run the same instructions as without rules.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "core/model/zoo/zoo.h"
#include "tests/support/watched_runs.h"

namespace trainyard {
namespace {

constexpr std::size_t kPairs = 21;
constexpr std::int64_t kSteps = 100;

double seconds_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double run_seconds(const Model& model, const testing::Settings& settings, bool watched) {
  testing::Settings all = {"precision=fp32", "optimizer=momentum"};
  all.insert(all.end(), settings.begin(), settings.end());
  const Workload w = prepare(testing::scenario(model, 1, all, "cpu"));
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  const Program program = lower(w, lowering);
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  Training training;
  training.steps = kSteps;
  CpuOptions options;
  if (watched)
    options.rules = std::make_shared<RuleRun>(RuleWatch{usual_rules(), kRuleInterval, false});
  const testing::TaughtSamples source;
  CpuBackend backend({w, program, prices, &training, &source}, options);
  const double before = seconds_now();
  backend.run();
  return seconds_now() - before;
}

void measure_rules(const char* name, const testing::Settings& settings) {
  const Model model = zoo_model(name);
  std::vector<double> ratios;
  run_seconds(model, settings, true);  // brings code and memory in, and is not counted
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const bool first = pair % 2 == 0;
    const double one = run_seconds(model, settings, first),
                 other = run_seconds(model, settings, !first);
    ratios.push_back(first ? one / other : other / one);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf(
      "%-12s %.4f of the run without rules (quartiles %.4f and %.4f, all within %.4f to %.4f, of "
      "%zu pairs), bar 1.03\n",
      name, ratios[kPairs / 2], ratios[kPairs / 4], ratios[kPairs - 1 - kPairs / 4], ratios.front(),
      ratios.back(), kPairs);
  std::fflush(stdout);
}

}  // namespace
}  // namespace trainyard

int main() {
  trainyard::measure_rules("mlp-small", {"global-batch=64", "micro-batch=64"});
  trainyard::measure_rules("gpt-tiny", {"global-batch=4", "micro-batch=4"});
  trainyard::measure_rules("resnet-20", {"global-batch=16", "micro-batch=16"});
}
