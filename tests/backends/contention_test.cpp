// Tests what measured contention of computation and communication does to predicted steps.
#include <gtest/gtest.h>

#include "backends/simulator/simulator.h"
#include "core/cost/calibrated.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/timeline/metrics.h"
#include "tests/support/cases.h"
#include "tests/support/random_scenarios.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::DrawnScenario;

std::unique_ptr<CostModel> with_contention(const Scenario& s, double factor) {
  Calibration c;
  c.machine = "a recording", c.device = s.cluster.device.id;
  c.copy = {0us, {1e9}}, c.reduce = {1e9};
  c.contention = {{"products", factor, 0, 3, 1us}};
  return calibrated_cost_model(std::move(c), physical_cost_model(s), s.cluster.device);
}

// The program is one, because an order may be made of the times of phases.
TEST(Contention, AFactorOfOneChangesNothingAndALargerOneIsNeverFaster) {
  for (std::uint64_t seed = 0; seed < testing::cases(300, 20); ++seed) {
    const Workload w = prepare(DrawnScenario(seed).scenario());
    const Scenario& s = w.scenario;
    SCOPED_TRACE(testing::in_words(s));
    const auto none = with_contention(s, 1);
    const Program p = lower(w, {.times = phase_times(w, *none)});
    const auto priced = [&](const CostModel& cost) {
      return price(p, s.plan.mesh, s.cluster, cost);
    };
    EXPECT_EQ(priced(*none).contention, 0);
    Duration simulated = makespan(simulate(p, priced(*none)));
    Duration estimated = estimate_step(w, *none).step;
    for (const double factor : {1.1, 1.3, 2.0}) {
      const auto cost = with_contention(s, factor);
      EXPECT_DOUBLE_EQ(priced(*cost).contention, factor - 1);
      const Duration now = makespan(simulate(p, priced(*cost)));
      const Duration closed = estimate_step(w, *cost).step;
      EXPECT_GE(now, simulated) << factor;
      EXPECT_GE(closed, estimated) << factor;
      simulated = now, estimated = closed;
    }
  }
}

}  // namespace
}  // namespace trainyard
