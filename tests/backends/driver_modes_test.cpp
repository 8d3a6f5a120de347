// The driver that schedules instructions makes no difference to training: every schedule gives the
// same bits on the wall clock and in virtual time.
#include <gtest/gtest.h>

#include <map>

#include "core/methods/catalogue.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

bool can_train(const Model& model, int devices, const testing::Settings& settings) {
  const Scenario s = testing::scenario(model, devices, settings, "cpu");
  if (has_errors(check(s))) return false;
  const Workload w = prepare(s);
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  const Program p = lower(w, lowering);
  const Training training;
  return !has_errors(CpuBackend::check({w, p, TaskPrices{}, &training}));
}

TEST(DriverModes, LearnTheSame) {
  const Model model = testing::tiny_mlp(6);
  int ran = 0;
  for (const Method& m : testing::non_empty(methods())) {
    if (!m.order) continue;
    const std::string schedule = "schedule=" + std::string(m.name);
    std::map<std::string_view, std::vector<double>> replicated;  // by chunks
    for (const std::string_view extra : {"pp=1", "pp=2", "pp=4", "dp=2", "zero=3"})
      for (const std::string_view chunks : {"virtual-stages=1", "virtual-stages=2"}) {
        const bool replicas = extra == "dp=2" || extra == "zero=3";
        const int devices = extra == "pp=1" ? 1 : 4;
        testing::Settings settings = {"precision=fp32", schedule, "global-batch=16",
                                      "micro-batch=1", chunks};
        if (replicas) settings.emplace_back("pp=2");
        settings.push_back(extra);
        if (!can_train(model, devices, settings)) continue;
        SCOPED_TRACE(schedule + " " + std::string(extra) + " " + std::string(chunks));
        Training training;
        training.steps = 3;
        CpuOptions wall;
        wall.mode = RunMode::WallClock;
        wall.threads = 3;
        try {
          const auto a = testing::train_on_cpu(model, devices, settings, training);
          const auto b = testing::train_on_cpu(model, devices, settings, training, wall);
          EXPECT_EQ(a.run.losses, b.run.losses);
          if (extra == "dp=2") replicated[chunks] = a.run.losses;
          // Sharded state gives the same results.
          if (extra == "zero=3" && !replicated[chunks].empty()) {
            for (std::size_t i = 0; i < a.run.losses.size(); ++i)
              EXPECT_NEAR(a.run.losses[i], replicated[chunks][i], 1e-6);
          }
          ASSERT_EQ(a.parameters.size(), b.parameters.size());
          for (std::size_t i = 0; i < a.parameters.size(); ++i)
            EXPECT_EQ(a.parameters[i].values, b.parameters[i].values) << a.parameters[i].name;
        } catch (const Error& error) {
          ADD_FAILURE() << describe(error);
        }
        ++ran;
      }
  }
  EXPECT_GE(ran, 40);
}

// What a wave finds of the others' weights when it takes their mean does not depend on who is
// faster, and neither does what batch norms remember of microbatches of several waves.
TEST(DriverModes, WavesLearnTheSame) {
  for (const Model& model : {testing::tiny_mlp(4), testing::tiny_convnet(2)})
    for (const char* sync :
         {"tick-tock.sync=accumulate", "tick-tock.sync=async", "tick-tock.sync=local"})
      for (const char* policy : {"tick-tock.policy=half-cycle", "tick-tock.policy=exclusive",
                                 "tick-tock.policy=aligned"}) {
        const testing::Settings settings = {"schedule=tick-tock",
                                            "global-batch=6",
                                            "micro-batch=1",
                                            "tick-tock.waves=3",
                                            "tick-tock.period=2",
                                            sync,
                                            policy};
        // Aligned waves add to one gradient at one time, in whichever order they come.
        if (sync == std::string("tick-tock.sync=accumulate") &&
            policy == std::string("tick-tock.policy=aligned"))
          continue;
        SCOPED_TRACE(std::string(sync) + " " + policy);
        Training training;
        training.steps = 5;
        CpuOptions wall;
        wall.mode = RunMode::WallClock;
        wall.threads = 3;
        const auto a = testing::train_on_cpu(model, 1, settings, training);
        const auto b = testing::train_on_cpu(model, 1, settings, training, wall);
        EXPECT_EQ(a.run.losses, b.run.losses);
        for (std::size_t i = 0; i < a.parameters.size(); ++i)
          EXPECT_EQ(a.parameters[i].values, b.parameters[i].values) << a.parameters[i].name;
        ASSERT_EQ(a.statistics.size(), b.statistics.size());
        for (std::size_t i = 0; i < a.statistics.size(); ++i)
          EXPECT_EQ(a.statistics[i].values, b.statistics[i].values) << a.statistics[i].name;
      }
}

// Keys and values pass between ranks beside the attention that reads them.
TEST(DriverModes, LearnTheSameOverPartsOfASequence) {
  const Model model = testing::tiny_transformer({.family = "gpt2"});  // it has dropout
  for (const testing::Settings& plan : {testing::Settings{"pp=2", "overlap=off"},
                                        {"pp=2", "schedule=zb-h1"},
                                        {"dp=2", "recompute=full"}}) {
    testing::Settings settings = {"global-batch=8", "micro-batch=1", "seq=4", "cp=2"};
    settings.insert(settings.end(), plan.begin(), plan.end());
    SCOPED_TRACE(std::string(plan[0]) + " " + std::string(plan[1]));
    Training training;
    training.steps = 2;
    const auto here = testing::train_on_cpu(model, 4, settings, training);
    for (const double bytes_per_second : {0.0, 1e9})
      for (const int threads : {1, 3}) {
        CpuOptions wall;
        wall.mode = RunMode::WallClock;
        wall.threads = threads;
        wall.link_bytes_per_second = bytes_per_second;
        const auto there = testing::train_on_cpu(model, 4, settings, training, wall);
        EXPECT_EQ(here.run.losses, there.run.losses);
        for (std::size_t i = 0; i < here.parameters.size(); ++i)
          EXPECT_EQ(here.parameters[i].values, there.parameters[i].values)
              << here.parameters[i].name;
      }
  }
}

}  // namespace
}  // namespace trainyard
