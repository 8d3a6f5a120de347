// Jobs that are trained together have the weights of their own runs.
#include "backends/cpu/fused.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>

#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::scenario;
using testing::Settings;
using testing::tiny_convnet;
using testing::tiny_mlp;
using testing::tiny_transformer;

// A model and a plan that jobs share, and its prices.
struct Shared {
  Workload workload;
  Program program;
  TaskPrices prices;

  Shared(const Model& model, const Settings& settings, std::int64_t devices = 1) {
    Settings all{"precision=fp32"};
    all.insert(all.end(), settings.begin(), settings.end());
    workload = prepare(scenario(model, devices, all, "cpu"));
    LowerOptions lowering;
    lowering.grain = Grain::Op;
    program = lower(workload, lowering);
    const Scenario& s = workload.scenario;
    prices = price(program, s.plan.mesh, s.cluster, *roofline_cost_model());
  }
  BackendJob job(const Training* training = nullptr, const DataSource* data = nullptr) const {
    return {workload, program, prices, training, data};
  }
};

struct Jobs {
  std::vector<Training> trainings;
  std::vector<std::unique_ptr<DataSource>> data;
  std::vector<TrainedJob> list;

  // Jobs of one seed share their data.
  explicit Jobs(std::vector<Training> all) : trainings(std::move(all)) {
    for (std::size_t j = 0; j < trainings.size(); ++j) {
      const auto same =
          std::find_if(trainings.begin(), trainings.begin() + static_cast<std::ptrdiff_t>(j),
                       [&](const Training& t) { return t.seed == trainings[j].seed; });
      const auto first = static_cast<std::size_t>(same - trainings.begin());
      data.push_back(first == j ? open_data("random", trainings[j].seed) : nullptr);
      list.push_back({&trainings[j], first == j ? data.back().get() : list[first].data});
    }
  }
};

void expect_same_bits(const std::vector<TrainedTensor>& fused,
                      const std::vector<TrainedTensor>& own) {
  ASSERT_EQ(fused.size(), own.size());
  for (std::size_t t = 0; t < own.size(); ++t) {
    ASSERT_EQ(fused[t].name, own[t].name);
    ASSERT_EQ(fused[t].values.size(), own[t].values.size());
    EXPECT_EQ(std::memcmp(fused[t].values.data(), own[t].values.data(),
                          own[t].values.size() * sizeof(float)),
              0)
        << own[t].name << " of layer " << own[t].layer;
  }
}

// Trains the jobs together and each by itself, and expects no difference.
void expect_own_runs(const Shared& shared, const Jobs& jobs, int threads = 1) {
  CpuOptions poisoned;
  poisoned.poison = true;
  CpuOptions dealt = poisoned;
  dealt.mode = RunMode::WallClock;
  dealt.threads = threads;
  FusedBackend together(shared.job(), jobs.list, dealt);
  const FusedRun fused = together.run();
  EXPECT_EQ(fused.steps.size(), std::min(static_cast<std::size_t>(threads), jobs.list.size()));
  for (std::size_t j = 0; j < jobs.list.size(); ++j) {
    SCOPED_TRACE("job " + std::to_string(j));
    CpuBackend alone(shared.job(jobs.list[j].training, jobs.list[j].data), poisoned);
    const BackendRun own = alone.run();
    EXPECT_EQ(fused.losses[j], own.losses);
    EXPECT_EQ(fused.gradient_norms[j], own.gradient_norm);
    EXPECT_EQ(fused.most, own.memory.front().most);
    expect_same_bits(together.parameters(j), alone.parameters());
  }
}

Training trained(double rate, std::uint64_t seed, std::int64_t steps) {
  Training t;
  t.rate = rate, t.seed = seed, t.steps = steps;
  return t;
}

TEST(Fused, AHundredStepsLeaveTheWeightsOfEachJobsOwnRun) {
  const auto steps = static_cast<std::int64_t>(testing::cases(100, 10));
  Training decays = trained(0.01, 1, steps), clips = trained(0.1, 2, steps),
           schedules = trained(0.02, 3, steps), other = trained(0.003, 1, steps);
  decays.weight_decay = 0.1, decays.momentum = 0.5;
  clips.clip = 0.05, clips.beta1 = 0.8;
  schedules.schedule = RateSchedule::Cosine, schedules.warmup = 5, schedules.beta2 = 0.9;
  const Jobs jobs({decays, clips, schedules, other});
  for (const Model& model : {tiny_mlp(2), tiny_convnet(2), tiny_transformer({.layers = 2}),
                             tiny_transformer({.layers = 2, .tied = true}),
                             tiny_transformer({.layers = 2, .family = "llama"})})
    for (const Settings& settings :
         {Settings{"global-batch=4", "micro-batch=2", "optimizer=momentum"},
          Settings{"global-batch=4", "optimizer=adamw", "recompute=full"}}) {
      SCOPED_TRACE(model.name + ", " + std::string(settings.back()));
      expect_own_runs(Shared(model, settings), jobs);
    }
}

TEST(Fused, EveryOptimizerAndFormatOfWeightsIsEachJobsOwn) {
  Training two = trained(0.02, 9, 5);
  two.beta1 = 0.7, two.trust = 0.01, two.weight_decay = 0.2;
  const Jobs jobs({trained(0.01, 4, 5), two});
  for (const std::string_view rule : {"optimizer=sgd", "optimizer=adam", "optimizer=adagrad",
                                      "optimizer=lion", "optimizer=lars", "optimizer=lamb"}) {
    SCOPED_TRACE(rule);
    expect_own_runs(Shared(tiny_mlp(2), Settings{"global-batch=4", rule}), jobs);
  }
  for (const std::string_view precision :
       {"precision=bf16", "precision=bf16-sr", "precision=bf16-kahan"}) {
    SCOPED_TRACE(precision);
    expect_own_runs(Shared(tiny_transformer({.layers = 1}),
                           Settings{"global-batch=4", "optimizer=adamw", precision}),
                    jobs);
  }
}

// Whatever the model, the rates, seeds, numbers of steps and threads, a job does not notice the
// others.
TEST(Fused, NoJobNoticesTheOthers) {
  EXPECT_TRUE(rc::check([] {
    const int layers = *rc::gen::inRange(1, 4);
    const Model models[] = {tiny_mlp(layers), tiny_convnet(layers),
                            tiny_transformer({.layers = layers}),
                            tiny_transformer({.layers = layers, .family = "llama"})};
    const std::string_view rules[] = {"optimizer=sgd",        "optimizer=momentum",
                                      "optimizer=adamw",      "optimizer=lamb",
                                      "optimizer=adamw-8bit", "optimizer=adafactor",
                                      "optimizer=muon"},
                           batches[] = {"micro-batch=1", "micro-batch=2", "micro-batch=4"},
                           kept[] = {"recompute=none", "recompute=full"};
    const Shared shared(models[*rc::gen::inRange(0, 4)],
                        Settings{"global-batch=4", rules[*rc::gen::inRange(0, 7)],
                                 batches[*rc::gen::inRange(0, 3)], kept[*rc::gen::inRange(0, 2)]});
    std::vector<Training> all;
    for (int j = *rc::gen::inRange(1, 7); j > 0; --j) {
      Training t = trained(std::pow(10.0, -*rc::gen::inRange(0, 5)),
                           static_cast<std::uint64_t>(*rc::gen::inRange(1, 4)),
                           *rc::gen::inRange<std::int64_t>(1, 8));
      t.clip = *rc::gen::inRange(0, 2) * 0.01;
      t.weight_decay = *rc::gen::inRange(0, 3) * 0.1;
      all.push_back(t);
    }
    expect_own_runs(shared, Jobs(std::move(all)), *rc::gen::inRange(1, 4));
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

TEST(Fused, AJobThatEndsEarlyLeavesTheOthersRight) {
  const Shared shared(tiny_convnet(1), Settings{"global-batch=4", "optimizer=momentum"});
  const Jobs jobs({trained(0.01, 1, 12), trained(0.02, 2, 12), trained(0.03, 3, 12)});
  for (const std::size_t ends : {0u, 1u, 2u}) {
    SCOPED_TRACE(ends);
    FusedBackend together(shared.job(), jobs.list);
    std::size_t seen = 0;
    const FusedRun run = together.run(
        {.goes_on = [&](std::size_t job, double) { return job != ends || ++seen < 4; }});
    for (std::size_t j = 0; j < 3; ++j) {
      Training own = jobs.trainings[j];
      if (j == ends) own.steps = 4;  // at a constant rate the first steps are those of a longer run
      CpuBackend alone(shared.job(&own, jobs.list[j].data));
      EXPECT_EQ(run.losses[j], alone.run().losses);
      expect_same_bits(together.parameters(j), alone.parameters());
    }
    ASSERT_EQ(run.steps.size(), 1u);
    EXPECT_EQ(run.steps[0][3].second, 3);
    EXPECT_EQ(run.steps[0][4].second, 2);
  }
}

TEST(Fused, JobsShareTheMemoryOfTheDeviceEqually) {
  const Shared shared(tiny_mlp(2), Settings{"global-batch=4", "optimizer=adamw"});
  const Jobs jobs(std::vector<Training>(3, trained(0.01, 1, 2)));
  const Bytes one = FusedBackend(shared.job(), jobs.list).run().most;
  CpuOptions options;
  options.memory_limit = 3 * one;
  EXPECT_EQ(FusedBackend(shared.job(), jobs.list, options).run().most, one);
  options.memory_limit = 3 * one - Bytes{3};
  FusedBackend less(shared.job(), jobs.list, options);
  try {
    less.run();
    FAIL() << "two bytes too few were enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::OutOfMemory);
    EXPECT_NE(std::string(error.what()).find("shared by 3 jobs"), std::string::npos)
        << error.what();
  }
}

TEST(Fused, SaysWhyJobsCannotBeTrainedTogether) {
  const Training training = trained(0.01, 1, 2);
  const std::unique_ptr<DataSource> data = open_data("random", 1);
  const auto why = [&](const Model& model, const Settings& settings, std::int64_t devices = 1) {
    std::string text;
    for (const Diagnostic& d :
         check_fused(Shared(model, settings, devices).job(&training, data.get())))
      text += d.message + "; ";
    return text;
  };
  EXPECT_EQ(why(tiny_mlp(2), Settings{"global-batch=4"}), "");
  EXPECT_NE(why(tiny_mlp(2), Settings{"global-batch=4", "pp=2"}, 2).find("found a plan of 2"),
            std::string::npos);
  EXPECT_NE(why(tiny_mlp(2), Settings{"global-batch=4"}, 4).find("found a plan of 4"),
            std::string::npos);
  EXPECT_NE(why(tiny_mlp(2), Settings{"global-batch=4", "precision=fp16"}).find("fp16 scales"),
            std::string::npos);
  EXPECT_NE(why(tiny_mlp(2), Settings{"global-batch=4", "precision=fp8"})
                .find("products of narrow operands"),
            std::string::npos);
  EXPECT_NE(why(tiny_transformer({.family = "llama", .experts = 4}), Settings{"global-batch=4"})
                .find("choose other experts"),
            std::string::npos);
  EXPECT_NE(
      why(tiny_mlp(2), Settings{"global-batch=4", "offload=optimizer"}).find("offloads to it"),
      std::string::npos);
  EXPECT_NE(
      why(tiny_mlp(2), Settings{"global-batch=4", "schedule=pipedream"}).find("no end of a step"),
      std::string::npos);
  EXPECT_NE(
      why(tiny_mlp(2), Settings{"global-batch=8", "batch-ramp=4:4:8"}).find("a batch that grows"),
      std::string::npos);
  EXPECT_NE(why(tiny_transformer({.layers = 2, .family = "llama"}),
                Settings{"global-batch=4", "packing=packed", "lengths=fixed:2"})
                .find("documents of other lengths"),
            std::string::npos);
  const Shared two(tiny_mlp(2), Settings{"global-batch=4", "pp=2"}, 2);
  const Jobs jobs({training});
  EXPECT_THROW(FusedBackend(two.job(), jobs.list), Error);
  EXPECT_THROW(FusedBackend(two.job(), {}), Error);
}

}  // namespace
}  // namespace trainyard
