#include "core/timeline/stragglers.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace trainyard {
namespace {

// Varies the times of a made up run besides what is planted, each by a share of a time.
struct Disturbance {
  double noise = 0.1;   // of each kernel, log-normal
  double drift = 0;     // of each process, up and down over the run, each at another time
  double together = 0;  // of all processes in the same step
};

constexpr std::uint32_t kKinds = 12;
constexpr int kTimesAStep = 4, kStepsOfRun = 30;

double normal(std::mt19937& random) {
  const auto uniform = [&] { return (static_cast<double>(random()) + 0.5) / 4294967296.0; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

struct MadeRun {
  RecordedTrace trace;
  std::vector<bool> slow;  // by span
};

// `slower` stretches the time of a kernel by process and step; one kernel in `planted` takes half
// as long again, none where it is 0.
template <class Slower>
MadeRun made_run(unsigned seed, std::uint32_t processes, const Disturbance& d, unsigned planted,
                 const Slower& slower) {
  std::mt19937 random(seed);
  MadeRun run;
  RecordedTrace& t = run.trace;
  t.source = "made up";
  for (std::uint32_t k = 0; k < kKinds; ++k) t.names.push_back("kernel " + std::to_string(k));
  std::vector<double> step_noise;
  for (int s = 0; s < kStepsOfRun; ++s) step_noise.push_back(d.together * normal(random));
  for (std::uint32_t p = 0; p < processes; ++p) {
    t.processes.push_back({"rank " + std::to_string(p), static_cast<int>(p)});
    t.threads.push_back({p, "stream 7", true});
    RecordedRow row{p, 0, t.start.size(), 0};
    std::int64_t at = 0;
    for (int s = 0; s < kStepsOfRun; ++s) {
      const std::int64_t begins = at;
      const double phase = 2 * std::numbers::pi * (1.0 * s / kStepsOfRun + 0.37 * p);
      for (int i = 0; i < kTimesAStep; ++i)
        for (std::uint32_t k = 0; k < kKinds; ++k, ++row.count) {
          const bool slow = planted > 0 && random() % planted == 0;
          const double time = 1e5 * (k + 1) * slower(p, s) * (slow ? 1.5 : 1.0) *
                              std::exp(d.noise * normal(random) + d.drift * std::sin(phase) +
                                       step_noise[static_cast<std::size_t>(s)]);
          t.start.push_back(at);
          t.end.push_back(at += std::llround(time));
          t.name.push_back(k);
          t.category.push_back(static_cast<std::uint8_t>(RecordedKind::Forward));
          run.slow.push_back(slow);
          at += 100;
        }
      t.steps.push_back({p, s, Instant{begins}, Instant{at}});
    }
    t.rows.push_back(row);
  }
  check(t);
  return run;
}

double even(std::uint32_t, int) { return 1; }

// The probability that a planted span has a higher score than another (area under the curve).
double area(const std::vector<float>& scores, const std::vector<bool>& slow) {
  std::vector<std::pair<float, bool>> ranked;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!std::isnan(scores[i])) ranked.emplace_back(scores[i], slow[i]);
  std::sort(ranked.begin(), ranked.end());
  double planted = 0, others = 0, right = 0;
  for (const auto& [score, is_slow] : ranked) {
    (is_slow ? planted : others) += 1;
    if (is_slow) right += others;
  }
  EXPECT_GT(planted, 0);
  return right / (planted * others);
}

// B-MOD-03: kernels that take half as long again are found whatever else disturbs the run, and no
// detector alone finds them under each disturbance.
TEST(Stragglers, PlantedKernelsAreFoundWhateverElseVaries) {
  const Disturbance disturbances[] = {
      {.noise = 0.1}, {.noise = 0.1, .drift = 0.35}, {.noise = 0.1, .together = 0.35}};
  double worst_alone[3] = {1, 1, 1};
  for (const Disturbance& d : disturbances)
    for (unsigned seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(seed);
      const MadeRun run = made_run(seed, 8, d, 100, even);
      const StragglerScores scores = straggler_scores(run.trace);
      EXPECT_GE(area(scores.together, run.slow), 0.95);
      const std::vector<float>* const alone[] = {&scores.of_kind, &scores.of_neighbours,
                                                 &scores.of_processes};
      for (std::size_t i = 0; i < 3; ++i)
        worst_alone[i] = std::min(worst_alone[i], area(*alone[i], run.slow));
    }
  for (const double worst : worst_alone) EXPECT_LT(worst, 0.95);
}

// A recording of one process has no other to compare with.
TEST(Stragglers, OneProcessIsEnough) {
  const MadeRun run = made_run(3, 1, {.noise = 0.1}, 50, even);
  const StragglerScores scores = straggler_scores(run.trace);
  EXPECT_GE(area(scores.together, run.slow), 0.95);
  for (const float score : scores.of_processes) EXPECT_TRUE(std::isnan(score));
}

TEST(Stragglers, NothingStandsOutOfACleanRun) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const MadeRun run = made_run(seed, 8, {.noise = 0.1, .drift = 0.1, .together = 0.1}, 0, even);
    const Stragglers found = find_stragglers(run.trace);
    EXPECT_EQ(found.judged, run.trace.start.size());
    EXPECT_TRUE(found.processes.empty()) << seed;
    EXPECT_TRUE(found.steps.empty()) << seed;
    // Five standard deviations of noise: fewer than one in a thousand.
    std::uint64_t kernels = 0;
    for (const SlowKernels& one : found.kernels) kernels += one.count;
    EXPECT_LE(kernels, found.judged / 1000) << seed;
  }
}

TEST(Stragglers, ASlowProcessAndASlowStepAreNamed) {
  const MadeRun run = made_run(5, 8, {.noise = 0.05}, 0, [](std::uint32_t process, int step) {
    return (process == 3 ? 1.2 : 1.0) * (step == 17 ? 1.4 : 1.0);
  });
  const Stragglers found = find_stragglers(run.trace);
  ASSERT_EQ(found.processes.size(), 1u);
  EXPECT_EQ(found.processes[0].process, 3u);
  EXPECT_NEAR(found.processes[0].ratio, 1.2, 0.02);
  EXPECT_EQ(found.processes[0].spans, kKinds * kTimesAStep * kStepsOfRun);
  ASSERT_EQ(found.steps.size(), 1u);
  EXPECT_EQ(found.steps[0].number, 17);
  EXPECT_NEAR(found.steps[0].ratio, 1.4, 0.03);
  ASSERT_TRUE(found.steps[0].kernels);
  EXPECT_NEAR(*found.steps[0].kernels, 1.4, 0.03);
}

// A step that waits has no slow kernels.
TEST(Stragglers, AStepThatWaitedIsToldFromOneThatComputed) {
  MadeRun run = made_run(5, 2, {.noise = 0.02}, 0, even);
  for (RecordedStep& step : run.trace.steps)
    if (step.number == 20) step.to += (step.to - step.from) / 2;
  const Stragglers found = find_stragglers(run.trace);
  ASSERT_EQ(found.steps.size(), 1u);
  EXPECT_NEAR(found.steps[0].ratio, 1.5, 0.02);
  ASSERT_TRUE(found.steps[0].kernels);
  EXPECT_NEAR(*found.steps[0].kernels, 1.0, 0.01);
}

// A profiler may write the device as a process beside the one that marks the steps.
TEST(Stragglers, KernelsOfADeviceAreInTheStepsOfItsHost) {
  MadeRun run = made_run(5, 1, {.noise = 0.02}, 0,
                         [](std::uint32_t, int step) { return step == 17 ? 1.4 : 1.0; });
  run.trace.processes.push_back({"python", 0});
  for (RecordedStep& step : run.trace.steps) step.process = 1;
  const Stragglers found = find_stragglers(run.trace);
  ASSERT_EQ(found.steps.size(), 1u);
  ASSERT_TRUE(found.steps[0].kernels);
  EXPECT_NEAR(*found.steps[0].kernels, 1.4, 0.03);
  // With two hosts nobody knows whose device it is.
  run.trace.processes.push_back({"python", 1});
  const std::size_t steps = run.trace.steps.size();
  for (std::size_t i = 0; i < steps; ++i) {
    RecordedStep other = run.trace.steps[i];
    other.process = 2;
    run.trace.steps.push_back(other);
  }
  check(run.trace);
  EXPECT_FALSE(find_stragglers(run.trace).steps.at(0).kernels);
}

TEST(Stragglers, AKernelThatStandsOutIsNamedWithWhatItLost) {
  MadeRun run = made_run(7, 4, {.noise = 0.01}, 0, even);
  RecordedTrace& t = run.trace;
  // The last kernel of each process ends last, so that nothing overlaps.
  const std::uint64_t last = t.rows[2].first + t.rows[2].count - 1;
  const std::int64_t took = t.end[last] - t.start[last];
  t.end[last] += took;
  const Stragglers found = find_stragglers(t);
  ASSERT_EQ(found.kernels.size(), 1u);
  const SlowKernels& one = found.kernels[0];
  EXPECT_EQ(t.names[one.name], "kernel 11");
  EXPECT_EQ(one.process, 2u);
  EXPECT_EQ(one.count, 1u);
  EXPECT_EQ(one.of, static_cast<std::uint64_t>(kTimesAStep * kStepsOfRun));
  EXPECT_EQ(one.longest, last);
  EXPECT_NEAR(one.ratio, 2, 0.1);
  EXPECT_NEAR(static_cast<double>(one.lost.count()), static_cast<double>(took), 0.1 * took);
}

// Scores are of shares of time: a run in another unit has the same, and waiting has none.
TEST(Stragglers, ScoresDoNotDependOnTheUnitOfTimeNorOnCommunication) {
  EXPECT_TRUE(rc::check([] {
    const auto seed = *rc::gen::inRange<unsigned>(0, 1000);
    MadeRun run = made_run(seed, 3, {.noise = 0.1}, 20, even);
    const StragglerScores before = straggler_scores(run.trace);
    RecordedTrace scaled = run.trace;
    for (std::int64_t& at : scaled.start) at *= 8;
    for (std::int64_t& at : scaled.end) at *= 8;
    const StragglerScores after = straggler_scores(scaled);
    for (std::size_t i = 0; i < before.together.size(); ++i)
      RC_ASSERT(std::abs(before.together[i] - after.together[i]) < 1e-3F);
    for (std::uint8_t& category : run.trace.category)
      category = static_cast<std::uint8_t>(RecordedKind::Communication);
    const Stragglers none = find_stragglers(run.trace);
    RC_ASSERT(none.judged == 0u);
    RC_ASSERT(none.kernels.empty());
    RC_ASSERT(none.processes.empty());
  }));
}

TEST(Stragglers, OfAnEmptyTraceThereAreNone) {
  EXPECT_EQ(find_stragglers(RecordedTrace{}), Stragglers{});
}

}  // namespace
}  // namespace trainyard
