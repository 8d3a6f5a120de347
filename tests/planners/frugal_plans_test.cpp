// Checks the goal of the cost-frugal search: four families of plans, thousands of plans each
// simulated once, and the share of the cost of all of them that it takes to come near the best.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "backends/simulator/simulator.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/timeline/metrics.h"
#include "planners/plans/plan_space.h"
#include "planners/tuning/cost_frugal.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

// The first value of each knob is one that is cheap to try.
const std::vector<Knob> kKnobs = {{"tp", {"1", "2", "4", "8"}},
                                  {"pp", {"2", "4", "8", "16"}},
                                  {"micro-batch", {"1", "2", "4", "8", "16"}},
                                  {"recompute", {"none", "op", "full"}},
                                  {"zero", {"0", "1", "2"}}};
const std::vector<std::vector<std::string>> kFamilies = {
    {"schedule=gpipe"},
    {"schedule=1f1b"},
    {"schedule=interleaved", "virtual-stages=2"},
    {"schedule=zb-v", "virtual-stages=2"}};

// A step of it for real would take that long, whether or not it then runs out of memory; what is
// refused is refused in a second.
Evaluation simulated(Scenario s) {
  constexpr double kRefused = 1, kIllegal = 1e30;
  const auto refused = [&](std::string why) {
    return Evaluation{{std::nullopt, kIllegal}, kRefused, std::move(why)};
  };
  if (const Diagnostics found = check(s); has_errors(found)) return refused(found.front().message);
  const auto cost = physical_cost_model(s);
  const Workload w = prepare(s);
  const StepEstimate closed = estimate_step(w, *cost);
  const Program p = lower(w, {.verify = false, .times = phase_times(w, *cost)});
  const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
  Evaluation found;
  found.cost = to_seconds(step_window(t, p).length());
  Bytes missing{};
  for (const Bytes reserved : closed.reserved)
    missing = std::max(missing, reserved - w.scenario.cluster.device.memory.value);
  if (missing > Bytes{})
    found.loss = {std::nullopt, static_cast<double>(missing.value)}, found.why_not = "memory";
  else
    found.loss = {found.cost, 0};
  return found;
}

// Every plan once.
struct Space {
  std::vector<Arm> arms;
  std::vector<std::map<SearchPoint, Evaluation>> table;
  double cost = 0, best = 1e300;
  int plans = 0, fit = 0;
};

Space explored() {
  Space space;
  const Model model = zoo_model("llama-2-13b");
  const Cluster cluster = parse_cluster("h100-sxm:64");
  for (const std::vector<std::string>& family : kFamilies) {
    Arm arm{family.front(), {}};
    for (const Knob& knob : kKnobs)
      arm.space.push_back({knob.key, 0, static_cast<double>(knob.values.size() - 1),
                           Dimension::Kind::Integer, false, 0});
    std::map<SearchPoint, Evaluation> table;
    SearchPoint point(kKnobs.size());
    for (bool more = true; more;) {
      Scenario s{model, cluster, {}};
      apply_setting(s.plan, "global-batch=256");
      for (const std::string& word : family) apply_setting(s.plan, word);
      for (std::size_t i = 0; i < point.size(); ++i)
        apply_setting(s.plan, kKnobs[i].key, kKnobs[i].values[static_cast<std::size_t>(point[i])]);
      const Evaluation found = simulated(std::move(s));
      space.cost += found.cost, ++space.plans, space.fit += found.loss.value.has_value();
      if (found.loss.value) space.best = std::min(space.best, *found.loss.value);
      table.emplace(point, found);
      more = false;
      for (std::size_t i = 0; i < point.size() && !more; ++i) {
        more = point[i] < arm.space[i].high;
        point[i] = more ? point[i] + 1 : 0;
      }
    }
    space.arms.push_back(std::move(arm)), space.table.push_back(std::move(table));
  }
  return space;
}

// The best found by the time a share of the exhaustive cost was spent; infinite before any.
double best_by(const FrugalSearch& found, double spent) {
  double best = std::numeric_limits<double>::infinity();
  for (const Trial& trial : found.trials)
    if (trial.spent <= spent && trial.better) best = *trial.evaluation.loss.value;
  return best;
}

TEST(FrugalPlans, NearTheBestForATenthOfTheCostAndBetterThanDrawingAtEveryBudget) {
  if (testing::sanitized()) GTEST_SKIP() << "it counts trials; the search itself is in other tests";
  constexpr std::uint64_t kSeeds = 10;
  const Space space = explored();
  ASSERT_GE(space.plans, 2000);
  ASSERT_GE(space.fit, 200);
  const EvaluatePoint evaluate = [&](std::size_t arm, const SearchPoint& point) {
    return space.table[arm].at(point);
  };
  std::vector<FrugalSearch> frugal, drawn;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    FrugalOptions options{.most_evaluations = 1'000'000, .seed = seed};
    frugal.push_back(search(space.arms, evaluate, options));
    drawn.push_back(random_search(space.arms, evaluate, options));
    EXPECT_EQ(frugal.back().trials.size(), static_cast<std::size_t>(space.plans));
  }
  std::printf("%d plans, %d fit, %.0f s of steps; best %.3f s\n", space.plans, space.fit,
              space.cost, space.best);
  std::printf("%8s  %14s  %14s  %s\n", "cost", "flow2 + eci", "drawn", "seeds within 2 %");
  for (const int percent : {1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75}) {
    const double spent = space.cost * percent / 100;
    double ours = 0, theirs = 0;
    int near = 0, near_drawn = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const double a = best_by(frugal[seed], spent), b = best_by(drawn[seed], spent);
      ours += a / space.best / kSeeds, theirs += b / space.best / kSeeds;
      near += a <= 1.02 * space.best, near_drawn += b <= 1.02 * space.best;
    }
    std::printf("%6d %%  %12.2f %%  %12.2f %%  %d, drawn %d\n", percent, 100 * (ours - 1),
                100 * (theirs - 1), near, near_drawn);
    if (percent == 10) {
      EXPECT_GE(near, 8);
    }
    if (percent >= 5 && theirs > 1) {
      EXPECT_LT(ours, theirs) << percent;
    }
  }
}

}  // namespace
}  // namespace trainyard
