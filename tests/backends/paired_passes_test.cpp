// DualPipe's passes that run together, in whole plans: what the layers of one send is hidden by
// what the other one computes, at every fidelity alike.
#include <gtest/gtest.h>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/model/zoo/zoo.h"
#include "core/result/verdict.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

Workload dual(std::string_view schedule, std::string_view pairs, std::string_view how) {
  Scenario s{zoo_model("gpt3-2.7b"), make_cluster(device("h100-sxm"), 16), {}};
  for (const std::string& setting :
       {std::string("pp=4"), "schedule=" + std::string(schedule),
        "virtual-stages=" + std::string(schedule == "dualpipe" ? "1" : "2"),
        std::string("micro-batch=1"), std::string("global-batch=16"), std::string(how),
        std::string(schedule) + ".pairs=" + std::string(pairs)})
    apply_setting(s.plan, setting);
  return prepare(s);
}

struct Fidelities {
  Duration closed{}, order{}, op{};
};

Fidelities steps_of(const Workload& w) {
  const auto cost = physical_cost_model(w.scenario);
  const auto simulated = [&](Grain grain) {
    LowerOptions options{.times = phase_times(w, *cost)};
    options.grain = grain;
    const Program p = lower(w, options);
    return makespan(simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost)));
  };
  return {estimate_step(w, *cost).step, simulated(Grain::Order), simulated(Grain::Op)};
}

TEST(PairedPasses, HideWhatTensorRanksSendAtEveryFidelity) {
  for (const std::string_view schedule : {"dualpipe", "dualpipe-v"}) {
    const Fidelities together = steps_of(dual(schedule, "together", "tp=4")),
                     in_turn = steps_of(dual(schedule, "in-turn", "tp=4"));
    EXPECT_LT(together.closed, in_turn.closed) << schedule;
    EXPECT_LT(together.order, in_turn.order) << schedule;
    EXPECT_LT(together.op, in_turn.op) << schedule;
    EXPECT_NEAR(to_seconds(together.closed) / to_seconds(together.order), 1, 0.02) << schedule;
  }
}

// What the closed form calls exposed is what the pairs leave, and its parts add up to the step.
TEST(PairedPasses, TheClosedFormSaysWhatIsLeftToWaitFor) {
  for (const std::string_view schedule : {"dualpipe", "dualpipe-v"}) {
    const Workload w = dual(schedule, "together", "tp=4"),
                   before = dual(schedule, "in-turn", "tp=4");
    const auto cost = physical_cost_model(w.scenario);
    const StepEstimate found = estimate_step(w, *cost), in_turn = estimate_step(before, *cost);
    EXPECT_LT(found.breakdown.tensor_parallel, in_turn.breakdown.tensor_parallel) << schedule;
    EXPECT_GE(found.breakdown.bubble, Duration{}) << schedule;
    EXPECT_EQ(found.breakdown.sum(), found.step) << schedule;
  }
}

// By itself a schedule pairs where that is faster, at the fidelity that is asked.
TEST(PairedPasses, AreAutomaticWhereTheyPay) {
  for (const std::string_view schedule : {"dualpipe", "dualpipe-v"})
    for (const std::string_view how : {"tp=4", "dp=4", "tp=2"}) {
      const Fidelities decided = steps_of(dual(schedule, "auto", how)),
                       together = steps_of(dual(schedule, "together", how)),
                       in_turn = steps_of(dual(schedule, "in-turn", how));
      // It decides by the mean stage and without contention.
      EXPECT_LE(to_seconds(decided.closed),
                1.01 * to_seconds(std::min(together.closed, in_turn.closed)))
          << schedule << how;
      EXPECT_LE(to_seconds(decided.order),
                1.01 * to_seconds(std::min(together.order, in_turn.order)))
          << schedule << how;
    }
}

// The second stream of a lane is no wave of its own.
TEST(PairedPasses, AreNotWavesThatShareADevice) {
  const Workload w = dual("dualpipe", "together", "tp=4");
  const auto cost = physical_cost_model(w.scenario);
  const Program p = lower(w, {.times = phase_times(w, *cost)});
  EXPECT_EQ(sharing_sentence(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost)), "");
}

}  // namespace
}  // namespace trainyard
