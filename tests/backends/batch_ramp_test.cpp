// Tests runs whose batch grows: a phase goes on to the bit where the one before it ended, every
// plan trains as one device does with the same ramp, and one device as the reference does step by
// step.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <mutex>

#include "backends/ramped.h"
#include "backends/reference/reference_backend.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/synchronous.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::SampleNumbers;
using testing::Settings;
using testing::tiny_transformer;

// Samples of a source from a later one on, and which samples were asked for.
class ShiftedNumbers final : public DataSource {
 public:
  explicit ShiftedNumbers(std::int64_t by = 0) : by_(by) {}
  std::string_view name() const override { return "numbers"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1 << 20; }
  std::int64_t evaluation_samples() const override { return 8; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override { give(r, out); }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override { give(r, out); }

 private:
  template <class T>
  void give(DataRequest r, std::span<T> out) const {
    r.first_sample += by_;
    SampleNumbers().fill(r, out);
  }
  std::int64_t by_;
};

// What a phase runs, for as long as it does.
struct HeldPhase {
  Workload workload;
  Program program;
  TaskPrices prices;
};

struct RampedRun {
  BackendRun run;
  std::vector<TrainedTensor> initial, parameters;
};

std::vector<std::unique_ptr<HeldPhase>> held_phases(const Scenario& s,
                                                    const std::vector<BatchPhase>& phases) {
  std::vector<std::unique_ptr<HeldPhase>> held;
  const auto cost = roofline_cost_model();
  for (const BatchPhase& phase : phases) {
    auto one = std::make_unique<HeldPhase>();
    one->workload = prepare({s.model, s.cluster, with_batch(s.plan, phase.batch)});
    one->program = lower(one->workload, {.grain = Grain::Op});
    one->prices = price(one->program, one->workload.scenario.plan.mesh, s.cluster, *cost);
    held.push_back(std::move(one));
  }
  return held;
}

RampedRun train_phases(const Scenario& s, const std::vector<BatchPhase>& phases,
                       const Training& training, CpuOptions options = {},
                       const RunOptions& run = {}) {
  const auto held = held_phases(s, phases);
  const SampleNumbers numbers;
  std::vector<Ramped::Phase> jobs;
  for (std::size_t i = 0; i < phases.size(); ++i)
    jobs.push_back(
        {phases[i], {held[i]->workload, held[i]->program, held[i]->prices, &training, &numbers}});
  options.poison = true;
  Ramped backend(std::move(jobs), "cpu", options);
  RampedRun made;
  made.initial = backend.parameters();
  made.run = backend.run(run);
  made.parameters = backend.parameters();
  return made;
}

Scenario on_cpu(const Model& model, std::int64_t devices, const Settings& settings) {
  Settings all = {"precision=fp32"};
  all.insert(all.end(), settings.begin(), settings.end());
  return testing::scenario(model, devices, all, "cpu");
}

RampedRun train_ramped(const Scenario& s, const Training& training, CpuOptions options = {}) {
  throw_if_errors(check(s));
  std::vector<BatchPhase> phases = batch_phases(prepare(s).scenario.plan);
  while (phases.back().first_step >= training.steps) phases.pop_back();
  return train_phases(s, phases, training, std::move(options));
}

Training ramp_training(std::int64_t steps) {
  Training t;
  t.rate = 0.05;
  t.steps = steps;
  return t;
}

void expect_same_bits(const std::vector<TrainedTensor>& a, const std::vector<TrainedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].values, b[i].values) << a[i].name;
}

double difference(const std::vector<TrainedTensor>& a, const std::vector<TrainedTensor>& b) {
  double worst = 0, most = 0;
  for (const TrainedTensor& wanted : b)
    for (const TrainedTensor& found : a) {
      if (found.layer != wanted.layer || found.name != wanted.name) continue;
      for (std::size_t e = 0; e < wanted.values.size(); ++e) {
        const double apart = std::abs(double{found.values[e]} - wanted.values[e]);
        worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
        most = std::max(most, std::abs(double{wanted.values[e]}));
      }
    }
  return worst / most;
}

const Settings kHandedOver[] = {
    {"micro-batch=1", "pp=2", "optimizer=adamw"},
    {"micro-batch=2", "dp=2", "zero=1", "optimizer=momentum"},
    {"micro-batch=1", "dp=2", "zero=3", "optimizer=adamw"},
    {"micro-batch=1", "tp=2", "seq=4", "optimizer=lamb"},
    {"micro-batch=1", "pp=2", "optimizer=adamw", "precision=bf16"},
    {"micro-batch=1", "pp=2", "optimizer=adamw", "precision=fp16"},
    {"micro-batch=1", "pp=2", "optimizer=adamw", "precision=fp8"},
    {"micro-batch=1", "dp=2", "optimizer=adamw", "precision=bf16-sr"},
    {"micro-batch=1", "dp=2", "zero=1", "precision=bf16", "offload=optimizer"},
};

// Phases of one batch are no ramp; what goes over from one to the next is then all there is.
TEST(RampedRuns, APhaseGoesOnAsIfNothingHadHappened) {
  for (const Settings& settings : kHandedOver) {
    SCOPED_TRACE(settings.back());
    Scenario s = on_cpu(tiny_transformer(), 2, settings);
    s.plan.batch.global = 4;
    const RampedRun whole = train_phases(s, {{4, 0, 0, 0}}, ramp_training(6)),
                    parts = train_phases(s, {{4, 0, 0, 2}, {4, 8, 2, 3}, {4, 20, 5, 0}},
                                         ramp_training(6));
    EXPECT_EQ(parts.run.losses, whole.run.losses);
    EXPECT_EQ(parts.run.step_times.size(), 6u);
    expect_same_bits(parts.parameters, whole.parameters);
  }
}

TEST(RampedRuns, BatchNormsRememberAcrossPhases) {
  Scenario s = on_cpu(testing::tiny_convnet(2), 1, {"micro-batch=1"});
  s.plan.batch.global = 4;
  const RampedRun whole = train_phases(s, {{4, 0, 0, 0}}, ramp_training(4)),
                  parts = train_phases(s, {{4, 0, 0, 2}, {4, 8, 2, 0}}, ramp_training(4));
  EXPECT_EQ(parts.run.losses, whole.run.losses);
  expect_same_bits(parts.parameters, whole.parameters);
}

// The reference knows nothing of phases: it trains each from the weights of the one before, on the
// samples from where that one ended. Plain gradient descent has no other state, and a
// model without dropout draws nothing by the number of a sample.
TEST(RampedRuns, TrainAsTheReferenceDoesPhaseByPhase) {
  const Scenario s =
      on_cpu(tiny_transformer({.family = "llama"}), 1,
             {"micro-batch=2", "global-batch=8", "optimizer=sgd", "batch-ramp=steps:2@0,6@5,8@20"});
  const Training training = ramp_training(8);
  const RampedRun ramped = train_ramped(s, training);
  const std::vector<BatchPhase> phases = batch_phases(prepare(s).scenario.plan);
  ASSERT_EQ(phases, (std::vector<BatchPhase>{{2, 0, 0, 3}, {6, 6, 3, 3}, {8, 24, 6, 0}}));
  const auto held = held_phases(s, phases);
  std::vector<TrainedTensor> weights = ramped.initial;
  std::vector<double> losses;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Training own = ramp_training(i + 1 < phases.size() ? phases[i].steps : 2);
    const ShiftedNumbers data(phases[i].first_sample);
    ReferenceBackend reference({held[i]->workload, held[i]->program, held[i]->prices, &own, &data});
    reference.set_parameters(weights);
    const BackendRun run = reference.run();
    losses.insert(losses.end(), run.losses.begin(), run.losses.end());
    weights = reference.parameters();
  }
  ASSERT_EQ(ramped.run.losses.size(), losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(ramped.run.losses[i], losses[i], 1e-5 * losses[i]) << "step " << i;
  EXPECT_LT(difference(ramped.parameters, weights), 3e-5);
}

TEST(RampedRuns, EveryPlanTrainsAsOneDeviceDoes) {
  std::vector<std::string> schedules;
  for (const Method& m : methods())
    if (testing::synchronous(m)) schedules.emplace_back(m.name);
  const std::uint64_t wanted = testing::cases(50, 15);
  std::uint64_t met = 0, pipelines = 0, divided = 0;
  for (std::uint64_t seed = 0; met < wanted && seed < 60 * wanted; ++seed) {
    const Random random(71, seed);
    std::uint64_t at = 0;
    const auto one_of = [&](const std::vector<std::string>& list) {
      return list[static_cast<std::size_t>(
          random.between(at++, 0, static_cast<std::int64_t>(list.size()) - 1))];
    };
    const std::string rule = one_of({"optimizer=momentum", "optimizer=adamw", "optimizer=lamb"}),
                      ramp = one_of({"batch-ramp=8:8:24", "batch-ramp=4:4:20", "batch-ramp=8:4:9",
                                     "batch-ramp=steps:4@0,8@7,16@20"}),
                      micro = one_of({"micro-batch=1", "micro-batch=2"}),
                      full = ramp == "batch-ramp=8:4:9" ? "global-batch=12" : "global-batch=16";
    const std::string pp = one_of({"1", "2", "4"}), dp = one_of({"1", "2"}),
                      tp = one_of({"1", "2"});
    const std::vector<std::string> words = {full,
                                            ramp,
                                            micro,
                                            rule,
                                            "pp=" + pp,
                                            "dp=" + dp,
                                            "tp=" + tp,
                                            "seq=4",
                                            "zero=" + one_of({"0", "1", "2", "3"}),
                                            "schedule=" + one_of(schedules),
                                            "virtual-stages=" + one_of({"1", "1", "2"}),
                                            "recompute=" + one_of({"none", "selective", "full"})};
    const std::int64_t devices = std::stoll(pp) * std::stoll(dp) * std::stoll(tp);
    const Settings settings(words.begin(), words.end());
    Scenario s;
    try {
      s = on_cpu(tiny_transformer(), devices, settings);
      if (has_errors(check(s))) continue;
    } catch (const Error&) {  // words that do not go together
      continue;
    }
    Training training = ramp_training(6);
    training.epsilon = 1, training.momentum = 0.5;
    // At larger rates a row of the position table passes 0 within six updates, and the norm after
    // it magnifies what rounding differs there.
    training.rate = 0.001;
    const std::vector<BatchPhase> phases = batch_phases(prepare(s).scenario.plan);
    const auto held = held_phases(s, phases);
    const SampleNumbers numbers;
    bool runs = true;
    for (const auto& one : held)
      runs = runs && !has_errors(CpuBackend::check(
                         {one->workload, one->program, one->prices, &training, &numbers}));
    if (!runs) continue;
    ++met;
    pipelines += pp != "1", divided += dp != "1";
    std::string text;
    for (const std::string& word : words) text += " --set " + word;
    SCOPED_TRACE(text);
    const RampedRun alone =
        train_ramped(on_cpu(tiny_transformer(), 1, {full, ramp, micro, rule, "seq=4"}), training);
    const RampedRun run = train_phases(s, phases, training);
    ASSERT_EQ(run.run.losses.size(), 6u);
    for (std::size_t i = 0; i < run.run.losses.size(); ++i)
      EXPECT_NEAR(run.run.losses[i], alone.run.losses[i], 1e-5 * std::abs(alone.run.losses[i]))
          << "step " << i;
    EXPECT_LT(difference(run.parameters, alone.parameters), 3e-5);
  }
  EXPECT_EQ(met, wanted);
  EXPECT_GT(pipelines, 0u);
  EXPECT_GT(divided, 0u);
}

// Four samples a step until 8 are consumed, then 8 a step; interrupted in either and between them.
TEST(RampedRuns, ResumeInTheRightPhaseToTheSameBits) {
  const std::string path = ::testing::TempDir() + "ramped.checkpoint";
  const Scenario s = on_cpu(tiny_transformer(), 2,
                            {"pp=2", "micro-batch=1", "global-batch=8", "optimizer=adamw",
                             "precision=fp8", "batch-ramp=steps:4@0,8@8"});
  const RampedRun whole = train_ramped(s, ramp_training(6));
  for (const std::int64_t steps : {1, 2, 4}) {
    CpuOptions options;
    options.checkpoint = path;
    options.batch_ramp = "steps:4@0,8@8";
    train_ramped(s, ramp_training(steps), options);
    options.resume = true;
    const RampedRun resumed = train_ramped(s, ramp_training(6), options);
    EXPECT_EQ(resumed.run.first_step, steps);
    EXPECT_EQ(resumed.run.losses, whole.run.losses);
    expect_same_bits(resumed.parameters, whole.parameters);
    options.batch_ramp = "steps:4@0,8@12";
    try {
      train_ramped(s, ramp_training(7), options);
      ADD_FAILURE() << "another ramp was not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("it goes on with --set batch-ramp=steps:4@0,8@8"),
                std::string::npos)
          << error.what();
    }
    std::filesystem::remove(path);
  }
}

TEST(RampedRuns, MemoryIsTheMostOfAllPhases) {
  const Scenario s = on_cpu(
      tiny_transformer(), 2,
      {"pp=2", "micro-batch=1", "global-batch=8", "schedule=gpipe", "batch-ramp=steps:2@0,8@8"});
  const RampedRun ramped = train_ramped(s, ramp_training(6)),
                  early = train_ramped(s, ramp_training(4));
  const testing::CpuRun full = testing::train_on_cpu(
      tiny_transformer(), 2, {"pp=2", "micro-batch=1", "global-batch=8", "schedule=gpipe"},
      ramp_training(1));
  ASSERT_EQ(ramped.run.memory.size(), full.run.memory.size());
  for (std::size_t d = 0; d < full.run.memory.size(); ++d) {
    EXPECT_EQ(ramped.run.memory[d].most, full.run.memory[d].most);
    EXPECT_LT(early.run.memory[d].most, full.run.memory[d].most);
  }
}

}  // namespace
}  // namespace trainyard
