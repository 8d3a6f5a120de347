#include "visualizers/time/memory_stack.h"

#include <gtest/gtest.h>

#include <set>

#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/timeline/metrics.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/small_experiment.h"

namespace trainyard {
namespace {

using namespace testing_experiment;

// Runs every instruction after the one before, which is a valid run.
ExperimentPtr lowered(const std::vector<std::string>& settings, Grain grain) {
  Scenario scenario{zoo_model("mlp-small"), parse_cluster("h100-sxm:2"), {}};
  for (const std::string& setting : settings) apply_setting(scenario.plan, setting);
  scenario.plan = complete(scenario);
  auto e = std::make_shared<Experiment>();
  e->workload = prepare(scenario);
  e->program = lower(e->workload, {.grain = grain});
  Instant at{};
  for (std::size_t i = 0; i < e->program.instructions.size(); ++i, at += Duration{1000})
    e->timeline.spans.push_back({at, at + Duration{1000}});
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(e->program.devices); ++d)
    e->waves.push_back(memory_wave(e->timeline, e->program, DeviceId{d}));
  return e;
}

void expect_bands_sum_to_the_wave(const Experiment& e, const char* what) {
  for (std::uint32_t d = 0; d < e.waves.size(); ++d)
    for (const StackBy by : {StackBy::Layer, StackBy::Microbatch, StackBy::Wave}) {
      const MemoryStack stack = memory_stack(e, DeviceId{d}, by);
      EXPECT_LE(stack.bands.size(), 9u) << what << " by " << to_string(by);
      for (std::size_t i = 0; i < e.waves[d].samples.size(); ++i) {
        std::int64_t sum = 0;
        for (const StackBand& band : stack.bands) sum += band.bytes[i];
        ASSERT_EQ(sum, total(e.waves[d].samples[i].bytes).value)
            << what << " by " << to_string(by) << ", device " << d << ", sample " << i;
      }
    }
}

TEST(MemoryStack, BandsSumToTheWave) {
  expect_bands_sum_to_the_wave(*experiment({3, 5}), "by hand");
  for (const Grain grain : {Grain::Order, Grain::Op})
    for (const std::vector<std::string>& settings :
         {std::vector<std::string>{"pp=2", "global-batch=8", "precision=fp32"},
          std::vector<std::string>{"global-batch=8", "precision=fp32", "schedule=tick-tock"}})
      expect_bands_sum_to_the_wave(*lowered(settings, grain), settings[0].c_str());
}

TEST(MemoryStack, MicrobatchesThatAreAliveTogetherHaveBandsOfTheirOwn) {
  const ExperimentPtr e = experiment({3, 6});
  const MemoryStack stack = memory_stack(*e, DeviceId{0}, StackBy::Microbatch);
  ASSERT_EQ(stack.bands.size(), 4u) << "three are alive at most, and the state";
  EXPECT_EQ(stack.bands[1].name, "microbatch 0, 3");
  for (std::size_t band = 1; band < stack.bands.size(); ++band)
    for (const std::int64_t bytes : testing::non_empty(stack.bands[band].bytes))
      EXPECT_TRUE(bytes == 0 || bytes == (1_GiB).value) << band;
  std::set<Ink> inks;
  for (const StackBand& band : stack.bands) inks.insert(band.ink);
  EXPECT_EQ(inks.size(), stack.bands.size());
}

// The two copies of a stage have numbers as waves have, and go through it in the other direction.
TEST(MemoryStack, CopiesOfAStageAreNoWaves) {
  const ExperimentPtr e =
      lowered({"pp=2", "schedule=chimera", "global-batch=8", "precision=fp32"}, Grain::Order);
  ASSERT_EQ(e->program.placement, Placement::Bidirectional);
  EXPECT_EQ(wave_count(e->program), 1);
  const MemoryStack stack = memory_stack(*e, DeviceId{0}, StackBy::Wave);
  ASSERT_EQ(stack.bands.size(), 2u);
  EXPECT_EQ(stack.bands[1].name, "microbatches");
  expect_bands_sum_to_the_wave(*e, "chimera");
}

TEST(MemoryStack, IsKeptWhileItIsOfTheSame) {
  const ExperimentPtr e = experiment({2, 4});
  ViewState state;
  state.stack_by = StackBy::Microbatch;
  state.stack = stack_of(*e, DeviceId{1}, state);
  EXPECT_EQ(stack_of(*e, DeviceId{1}, state), state.stack);
  EXPECT_NE(stack_of(*e, DeviceId{0}, state), state.stack);
  state.stack_by = StackBy::Wave;
  EXPECT_NE(stack_of(*e, DeviceId{1}, state), state.stack);
}

}  // namespace
}  // namespace trainyard
