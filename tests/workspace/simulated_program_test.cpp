// A program as text is simulated as the plan that it was printed from is.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/program/program_text.h"

namespace trainyard {
namespace {

Scenario scenario_of(const std::string& model, const std::string& cluster,
                     const std::vector<std::string>& settings) {
  return open({model, cluster, "", settings});
}

ExperimentPtr simulated(const Scenario& scenario, Grain grain, const Program* program = nullptr) {
  return simulate(scenario, {.grain = grain, .fixes = false, .program = program});
}

TEST(SimulatedProgram, IsThePlansOwnToTheNanosecondAndTheByte) {
  struct Case {
    std::string model, cluster;
    std::vector<std::string> settings;
  };
  const Case cases[] = {
      {"gpt-tiny", "cpu:2", {"pp=2", "global-batch=8"}},
      {"llama-3-8b",
       "h100-sxm:16",
       {"tp=4", "pp=2", "zero=1", "global-batch=16", "recompute=full"}},
      {"llama-3-8b", "h100-sxm:8", {"tp=2", "pp=4", "schedule=zb-h1", "global-batch=16"}},
      {"gpt-tiny", "cpu:2", {"pp=2", "schedule=tick-tock", "global-batch=4"}},
      {"gpt-tiny", "cpu:2", {"pp=2", "schedule=pipemare", "global-batch=4", "micro-batch=1"}}};
  for (const Case& c : cases)
    for (const Grain grain : {Grain::Order, Grain::Op}) {
      const Scenario scenario = scenario_of(c.model, c.cluster, c.settings);
      const ExperimentPtr plan = simulated(scenario, grain);
      const std::string text = to_text(plan->program);
      const Program program = parse_valid_program(text);
      const ExperimentPtr again = simulated(scenario, grain, &program);
      EXPECT_EQ(again->timeline.spans, plan->timeline.spans) << c.model << " " << c.settings[1];
      EXPECT_EQ(again->grain, plan->grain);
      EXPECT_EQ(again->result.step.value, plan->result.step.value);
      EXPECT_EQ(again->result.digest, plan->result.digest);
      EXPECT_EQ(to_text(again->program), text);
      ASSERT_EQ(again->waves.size(), plan->waves.size());
      for (std::size_t d = 0; d < plan->waves.size(); ++d)
        EXPECT_EQ(peak_of(again->waves[d]), peak_of(plan->waves[d]));
    }
}

TEST(SimulatedProgram, AnEditChangesTheStep) {
  const Scenario scenario = scenario_of("gpt-tiny", "cpu:2", {"pp=2", "global-batch=8"});
  const ExperimentPtr plan = simulated(scenario, Grain::Order);
  Program late = plan->program;
  late.streams.front().delay += std::chrono::milliseconds(5);
  EXPECT_GT(simulated(scenario, Grain::Order, &late)->result.step.value, plan->result.step.value);
}

TEST(SimulatedProgram, OfAnotherPlanIsRefused) {
  const Scenario scenario = scenario_of("gpt-tiny", "cpu:2", {"pp=2", "global-batch=8"});
  const ExperimentPtr plan = simulated(scenario, Grain::Op);
  const auto refusal = [&](const Program& program) {
    try {
      simulated(scenario, Grain::Order, &program);
      return std::string("accepted");
    } catch (const Error& error) {
      return std::string(describe(error));
    }
  };
  Program other = plan->program;
  other.microbatches = 5;
  EXPECT_EQ(refusal(other), "--program: program: expected microbatches=" +
                                std::to_string(plan->program.microbatches) +
                                ", as this model, cluster and plan have, found microbatches=5");
  other = plan->program;
  other.tasks[0].layer = 99;
  EXPECT_EQ(refusal(other).rfind("--program: task 0: expected a layer from 0 to ", 0), 0U)
      << refusal(other);
}

}  // namespace
}  // namespace trainyard
