// Measures asynchronous schedules on executed programs: what their papers say about late gradients
// must result from the instructions, not from a formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <string>

#include "backends/reference/reference_machine.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/program/facts.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

TensorId scalar_input(GraphBuilder& b) {
  return b.graph.input = b.activation("input", {kBatch, whole(1)});
}

TensorId squared_loss(GraphBuilder& b, TensorId y) {
  Shape shape = b.graph[y].shape;
  return b.node("loss", squared_error(), {y, b.activation("target", std::move(shape))});
}

// `first` computes a tensor from the input, the other stages pass it on, and the last compares it
// with a target; each stage has one layer.
Model relay(int stages, const std::function<TensorId(GraphBuilder&)>& first) {
  Model model;
  model.name = "relay";
  model.family = "mlp";
  model.tokens = false;
  GraphBuilder start;
  const TensorId y = first(start);
  const Shape shape = start.graph[y].shape;
  if (stages == 1) {
    model.blocks.push_back(start.block("first", 1, true, squared_loss(start, y)));
    return model;
  }
  model.blocks.push_back(start.block("first", 1, true, y));
  const auto pass = [&](GraphBuilder& b) {
    return b.node("pass", scale(), {b.graph.input = b.activation("input", shape)});
  };
  GraphBuilder middle, last;
  if (stages > 2) {
    const TensorId passed = pass(middle);
    model.blocks.push_back(middle.block("middle", stages - 2, true, passed));
  }
  const TensorId loss = squared_loss(last, pass(last));
  model.blocks.push_back(last.block("last", 1, true, loss));
  return model;
}

// One weight w on the first stage; with an input of 1 and a target of 0 its loss is w^2 / 2.
Model quadratic(int stages) {
  return relay(stages, [](GraphBuilder& b) {
    return b.linear("w", scalar_input(b), whole(1), false, TensorSplit::None, {}, true);
  });
}

struct ScheduleCase {
  std::string schedule;
  int stages = 1, microbatches = 1, steps = 1;
  Params params = {};
};

// A program of a schedule, and the rules that its facts give to its stages.
class Subject {
 public:
  Subject(const Model& model, const ScheduleCase& setup) {
    Scenario s{
        model, parse_cluster("a100-sxm-80:" + std::to_string(setup.stages) + ",per-node=1"), {}};
    s.plan.mesh.pp = setup.stages;
    s.plan.batch.global = setup.microbatches;
    Choice& chosen = choice(s.plan, setup.schedule);
    for (const auto& [name, value] : setup.params.values()) chosen.params.set(name, value);
    workload = prepare(s);
    LowerOptions options;
    options.grain = Grain::Op;
    options.steps = setup.steps;
    program = lower(workload, options);
    facts_of = facts(program);
    backend = std::make_unique<ReferenceMachine>(workload, program);
  }

  ReferenceOptions options(double rate, double momentum = 0) const {
    ReferenceOptions made;
    made.rules.clear();
    const Choice& chosen = *chosen_on(workload.scenario.plan, MethodAxis::Schedule);
    for (std::uint32_t s = 0; s < workload.runs.size(); ++s) {
      const auto of_stage = std::find_if(facts_of.begin(), facts_of.end(),
                                         [&](const StageFacts& f) { return f.stage.value == s; });
      made.rules.push_back(update_rule_of(chosen.method, chosen.params, *of_stage, rate, momentum));
    }
    made.data = [](const ReferenceInput& in) {
      HostTensor t = zeros(in.shape);
      t.values[0] = in.graph[in.tensor].name == "target" ? 0 : 1;
      return t;
    };
    made.weights = [](ReferenceParameter& p) { std::ranges::fill(p.weights.values, 1.0); };
    return made;
  }

  // The first weight of the first stage, before and after each update.
  std::vector<double> path(ReferenceOptions with) const {
    std::vector<double> found = {1.0};
    with.updated = [&](StageId stage, int, std::span<const ParameterState> state) {
      if (stage.value == 0) found.push_back(state[0].weights[0]);
    };
    backend->run(with);
    return found;
  }

  Workload workload;
  Program program;
  std::vector<StageFacts> facts_of;
  std::unique_ptr<ReferenceMachine> backend;
};

double largest(const std::vector<double>& path, std::size_t from, std::size_t to) {
  double most = 0;
  for (std::size_t i = from; i < to; ++i) {
    if (!std::isfinite(path[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(path[i]));
  }
  return most;
}

// Returns whether the path's swings grow after the initial transient has decayed.
bool grows(const std::vector<double>& path) {
  const std::size_t half = path.size() / 2, later = path.size() * 3 / 4;
  const double now = largest(path, later, path.size());
  return now > 0 && now >= largest(path, half, later);
}

// The largest stable rate, to a thousandth.
double threshold(double low, double high, const std::function<bool(double)>& unstable) {
  EXPECT_FALSE(unstable(low)) << low;
  EXPECT_TRUE(unstable(high)) << high;
  while (high / low > 1.001) {
    const double middle = std::sqrt(low * high);
    (unstable(middle) ? high : low) = middle;
  }
  return std::sqrt(low * high);
}

double threshold(const Subject& s, double expected) {
  return threshold(expected / 2, expected * 2,
                   [&](double rate) { return grows(s.path(s.options(rate))); });
}

double pipemare_bound(int delay) { return 2 * std::sin(std::numbers::pi / (4 * delay + 2)); }

// w(t+1) = w(t) - rate * w(t - delay), with w(0) before the start.
std::vector<double> delayed_path(double rate, int delay, std::size_t updates) {
  std::vector<double> w = {1.0};
  for (std::size_t t = 0; t < updates; ++t) {
    const std::size_t late =
        t >= static_cast<std::size_t>(delay) ? t - static_cast<std::size_t>(delay) : 0;
    w.push_back(w[t] - rate * w[late]);
  }
  return w;
}

TEST(Asynchrony, PipeMareIsStableUpToTheBoundOfItsDelay) {
  for (int delay : {1, 2, 5, 10}) {
    const Subject s(
        quadratic(delay + 1),
        {"pipemare", delay + 1, 1, 1500, {{"flow", std::string("1f1b")}, {"correct", false}}});
    ASSERT_EQ(s.facts_of[0].forward_delay, delay);
    ASSERT_EQ(s.facts_of[0].backward_delay, 0);
    const double bound = pipemare_bound(delay);
    EXPECT_NEAR(threshold(s, bound) / bound, 1, 0.01) << delay;
  }
}

// On stage 0, with tau_fwd = 10 and tau_bkwd = 0, a weight whose gradient is (lambda + Delta) u_fwd
// - Delta u_bkwd, where lambda = 1 and Delta = 5:
//   y = w x,  z = 11/2 y^2 - 5 w y;  the loss (z + 1)^2 / 2 has slope 1 where z is nearly 0.
// The square gives 11 u_fwd, the two uses of w in w y together -5 u_fwd - 5 u_bkwd.
Model discrepancy(int stages) {
  return relay(stages, [](GraphBuilder& b) {
    const TensorId x = scalar_input(b), w = b.parameter("w", {whole(1), whole(1)});
    const TensorId y = b.node("y", matmul(), {x, w}, {{"leaf", 1}});
    const TensorId square = b.node("11/2", scale(), {b.node("square", multiply(), {y, y})},
                                   {{"numerator", 11}, {"denominator", 2}});
    const TensorId twice =
        b.node("-5", scale(), {b.node("w y", matmul(), {y, w})}, {{"numerator", -5}});
    return b.node("z", add(), {square, twice});
  });
}

double discrepancy_threshold(bool correct, double expected) {
  const Subject s(discrepancy(11),
                  {"pipemare", 11, 1, 2000, {{"flow", std::string("1f1b")}, {"correct", correct}}});
  EXPECT_EQ(s.facts_of[0].forward_delay, 10);
  EXPECT_EQ(s.facts_of[0].backward_delay, 0);
  return threshold(expected / 2, expected * 2, [&](double rate) {
    ReferenceOptions options = s.options(rate);
    options.data = [](const ReferenceInput& in) {
      HostTensor t = zeros(in.shape);
      t.values[0] = in.graph[in.tensor].name == "target" ? -1 : 1;
      return t;
    };
    options.weights = [](ReferenceParameter& p) { p.weights.values[0] = 1e-60; };
    return grows(s.path(options));
  });
}

TEST(Asynchrony, RewindingTheBackwardsWeightsRestoresMostOfTheRate) {
  if (testing::sanitized()) GTEST_SKIP() << "a bisection runs what one run of it runs";
  const double without = discrepancy_threshold(false, 0.0176);
  const double with = discrepancy_threshold(true, 0.0971);
  EXPECT_NEAR(without / 0.0176, 1, 0.01);
  EXPECT_NEAR(with / 0.0971, 1, 0.01);
  EXPECT_GE(with / without, 4.5);
}

TEST(Asynchrony, AWaveThatIsOneUpdateLateHalvesTheRate) {
  const auto of = [](const char* sync, double expected) {
    const Subject s(quadratic(1), {"tick-tock", 1, 2, 400, {{"sync", std::string(sync)}}});
    return threshold(s, expected);
  };
  EXPECT_NEAR(of("async", 1), 1, 0.01);
  EXPECT_NEAR(of("accumulate", 2), 2, 0.01);
}

TEST(Asynchrony, WavesThatAccumulateTrainAsOneDevice) {
  const Params accumulate = {{"sync", std::string("accumulate")}};
  const auto trained = [](const ScheduleCase& c) {
    const Subject s(testing::tiny_mlp(4), c);
    ReferenceOptions options;
    options.rules[0].rate = 0.1;
    return s.backend->run(options);
  };
  const ReferenceRun alone = trained({"1f1b", 1, 4, 3});
  for (int stages : {1, 2, 4}) {
    const ReferenceRun run = trained({"tick-tock", stages, 4, 3, accumulate});
    ASSERT_EQ(run.losses.size(), alone.losses.size());
    for (std::size_t i = 0; i < run.losses.size(); ++i)
      EXPECT_NEAR(run.losses[i], alone.losses[i], 1e-6 * alone.losses[i]) << stages;
  }
}

// Each wave descends by itself; after every period it takes the mean of what all waves have by its
// turn: those ahead of it the same cycle, those behind it the one before.
TEST(Asynchrony, WavesWithWeightsOfTheirOwnMeetAfterEveryPeriod) {
  constexpr double kRate = 0.3;
  constexpr int kCycles = 12;
  for (const int waves : {2, 3})
    for (const int period : {1, 2, 5}) {
      const Subject s(quadratic(1), {"tick-tock",
                                     1,
                                     waves,
                                     kCycles,
                                     {{"sync", std::string("local")},
                                      {"waves", std::int64_t{waves}},
                                      {"period", std::int64_t{period}}}});
      std::vector<double> own(static_cast<std::size_t>(waves), 1.0), expected = {1.0};
      for (int cycle = 0; cycle < kCycles; ++cycle)
        for (double& w : own) {
          w -= kRate * w;
          if ((cycle + 1) % period == 0) w = std::accumulate(own.begin(), own.end(), 0.0) / waves;
          expected.push_back(w);
        }
      // Between two means waves end their updates in any order.
      std::vector<double> found = s.path(s.options(kRate));
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-12) << waves << " waves, period " << period;
    }
}

TEST(Asynchrony, DoubleBufferedWeightsHalveTheRate) {
  for (const auto& [stages, microbatches] : {std::pair{2, 2}, {4, 4}, {4, 8}}) {
    const Subject s(quadratic(stages), {"pipedream-2bw", stages, microbatches, 300});
    EXPECT_NEAR(threshold(s, 1), 1, 0.01) << stages << " " << microbatches;
  }
}

TEST(Asynchrony, PathsAreThoseOfTheRecurrence) {
  for (int stages : {1, 2, 4, 7}) {
    const Subject pipedream(quadratic(stages), {"pipedream", stages, 1, 60});
    const std::vector<double> path = pipedream.path(pipedream.options(0.05));
    EXPECT_EQ(path, delayed_path(0.05, stages - 1, path.size() - 1)) << stages;
    const Subject fine(quadratic(stages),
                       {"pipelined-backprop",
                        stages,
                        1,
                        60,
                        {{"compensate", false}, {"predict", std::string("none")}}});
    const std::vector<double> late = fine.path(fine.options(0.05));
    EXPECT_EQ(late, delayed_path(0.05, 2 * (stages - 1), late.size() - 1)) << stages;
  }
}

TEST(Asynchrony, StashedBackwardsReadWhatTheirForwardRead) {
  for (const char* sync : {"stash", "vertical"}) {
    const Subject s(testing::tiny_mlp(4), {"pipedream", 4, 4, 5, {{"sync", std::string(sync)}}});
    ReferenceOptions options;
    const ReferenceRun run = s.backend->run(options);
    EXPECT_GT(run.backwards, 0);
    EXPECT_EQ(run.consistent_backwards, run.backwards);
    for (std::size_t i = 0; i < s.facts_of.size(); ++i)
      EXPECT_EQ(run.versions[i], s.facts_of[i].versions) << sync << " " << i;
  }
}

TEST(Asynchrony, VersionsHeldAreThoseOfTheFacts) {
  const ScheduleCase setups[] = {
      {"pipedream", 4, 4, 6},
      {"pipedream", 2, 5, 6, {{"sync", std::string("vertical")}}},
      {"pipedream-2bw", 4, 4, 6},
      {"pipedream-2bw", 4, 8, 6},
      {"pipemare", 4, 2, 12},
      {"pipemare", 4, 4, 12, {{"flow", std::string("1f1b")}}},
      {"pipelined-backprop", 4, 4, 8},
      {"pipelined-backprop", 4, 4, 8, {{"stash", true}}},
      {"tick-tock", 4, 4, 8},
      {"tick-tock", 1, 4, 8},
      {"tick-tock", 1, 6, 8, {{"waves", std::int64_t{3}}}},
      {"tick-tock", 1, 4, 8, {{"sync", std::string("accumulate")}}},
  };
  for (const ScheduleCase& setup : testing::non_empty(setups)) {
    const Subject s(testing::tiny_mlp(4), setup);
    ReferenceOptions options = s.options(0.01);
    options.data = {}, options.weights = {};
    const ReferenceRun run = s.backend->run(options);
    for (std::size_t i = 0; i < s.facts_of.size(); ++i) {
      EXPECT_EQ(run.versions[i], s.facts_of[i].versions) << setup.schedule << " place " << i;
    }
    for (double loss : testing::non_empty(run.losses)) EXPECT_TRUE(std::isfinite(loss));
  }
}

constexpr int kCurvatures = 7;

// From 1 to 1/1000, evenly in their logarithms.
double curvature(int i) { return std::pow(1000, -static_cast<double>(i) / (kCurvatures - 1)); }

// A weight for each curvature: row i of the input has its root (times that of the rows, over which
// the loss is a mean) in column i.
Model spectrum(int stages) {
  return relay(stages, [](GraphBuilder& b) {
    const TensorId x = b.graph.input =
        b.activation("input", {kBatch, whole(kCurvatures), whole(kCurvatures)});
    return b.linear("w", x, whole(1), false, TensorSplit::None, {}, true);
  });
}

// The number of updates in which the weights halve at that rate, after the first swings have
// decayed.
double half_life(const Subject& s, double rate, double momentum) {
  ReferenceOptions options = s.options(rate, momentum);
  options.data = [](const ReferenceInput& in) {
    HostTensor t = zeros(in.shape);
    if (in.graph[in.tensor].name == "target") return t;
    for (int i = 0; i < kCurvatures; ++i)
      t.values[static_cast<std::size_t>(i * (kCurvatures + 1))] =
          std::sqrt(curvature(i) * kCurvatures);
    return t;
  };
  std::vector<double> path;
  options.updated = [&](StageId stage, int, std::span<const ParameterState> state) {
    if (stage.value != 0) return;
    double most = 0;
    for (double w : state[0].weights) most = std::max(most, std::abs(w));
    path.push_back(most);
  };
  s.backend->run(options);
  const std::size_t half = path.size() / 2, later = path.size() * 3 / 4;
  const double decay = largest(path, later, path.size()) / largest(path, half, later);
  return static_cast<double>(later - half) * std::log(2) / -std::log(decay);
}

struct Cell {
  bool compensate;
  const char* predict;
  int rate;         // the best rate is 10^(rate / 20)
  double expected;  // half-life
};

// Delay 4, momentum 0.99, condition number 1000.
TEST(Asynchrony, SpikesAndPredictionsBringBackWhatDelayTakes) {
  if (testing::sanitized()) GTEST_SKIP() << "thousands of updates run what a few of them run";
  std::vector<double> found;
  for (const Cell& cell : {Cell{false, "none", -53, 3023}, Cell{true, "none", -38, 470},
                           Cell{false, "velocity", -37, 408}, Cell{true, "weight", -29, 136}}) {
    const int updates = static_cast<int>(std::max(6 * cell.expected, 8000.0));
    const Subject s(spectrum(3),
                    {"pipelined-backprop",
                     3,
                     1,
                     updates,
                     {{"compensate", cell.compensate}, {"predict", std::string(cell.predict)}}});
    ASSERT_EQ(s.facts_of[0].forward_delay, 4);
    found.push_back(half_life(s, std::pow(10, cell.rate / 20.0), 0.99));
    EXPECT_NEAR(found.back() / cell.expected, 1, 0.05) << cell.predict << cell.compensate;
  }
  EXPECT_GE(found[0] / found[1], 5);
  EXPECT_GE(found[0] / found[3], 15);
}

}  // namespace
}  // namespace trainyard
