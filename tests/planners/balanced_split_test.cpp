#include "planners/partition/balanced_split.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/partition/split_search.h"
#include "tests/planners/random_plans.h"

namespace trainyard {
namespace {

Scenario scenario(const std::string& model, const std::string& cluster,
                  const std::vector<std::string>& settings) {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  for (const std::string& word : settings) apply_setting(s.plan, word);
  return s;
}

struct Figures {
  Duration step{};
  Bytes missing{};
};

Figures figures(Scenario s, StageSplit split, const CostModel& cost) {
  s.plan.split = std::move(split);
  const Workload w = prepare(s);
  const StepEstimate e = estimate_step(w, cost);
  Figures found{e.step, {}};
  for (const Bytes reserved : e.reserved)
    found.missing = std::max(found.missing, reserved - w.scenario.cluster.device.memory.value);
  return found;
}

// Legal but for its split, which nobody has chosen.
Scenario random_pipeline(std::uint64_t seed) {
  const Random random(seed, 5);
  for (std::uint64_t draw = 0;; ++draw) {
    std::uint64_t index = 100 * draw;
    const auto one_of = [&](const std::vector<std::string>& words) {
      return words[random.bits(index++) % words.size()];
    };
    const std::string pp = one_of({"2", "3", "4", "6", "8", "16"});
    const std::string schedule = one_of({"1f1b", "1f1b", "1f1b", "gpipe", "zb-h1", "interleaved",
                                         "zb-v", "chimera", "pipedream", "dualpipe-v"});
    std::vector<std::string> settings = {
        "pp=" + pp,
        "tp=" + one_of({"1", "2", "4"}),
        "global-batch=" + one_of({"48", "96", "192", "384"}),
        "schedule=" + schedule,
        "zero=" + one_of({"0", "0", "1"}),
        "recompute=" + one_of({"none", "full", "blocks=1"}),
        "framework=" + one_of({"typical", "megatron", "nanotron"})};
    if (schedule == "interleaved") settings.push_back("virtual-stages=" + one_of({"2", "3"}));
    if (schedule == "zb-v" || schedule == "dualpipe-v") settings.push_back("virtual-stages=2");
    const std::string model =
        one_of({"llama-3-8b", "llama-2-13b", "mixtral-8x7b", "gpt3-13b", "bert-large", "gpt-tiny"});
    try {
      Scenario s = scenario(model, one_of({"h100-sxm:96", "a100-sxm-80:192"}), settings);
      balance(s, *physical_cost_model(s));
      return s;
    } catch (const Error&) {
      continue;  // the degrees do not divide, a schedule refuses them, layers are too few
    }
  }
}

TEST(BalancedSplit, IsNeverWorseThanAnEvenOneOnRandomScenarios) {
  int even = 0, shorter = 0, fits_now = 0, uneven = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(150, 30); ++seed) {
    const Scenario s = random_pipeline(seed);
    const auto cost = physical_cost_model(s);
    const BalancedSplit found = balance(s, *cost);
    Scenario settled = s;
    settled.plan.split = found.split;
    ASSERT_FALSE(has_errors(check(settled))) << seed;
    // The figures it states for its split equal an estimate of the settled plan.
    const Figures own = figures(s, found.split, *cost);
    ASSERT_EQ(own.step, found.step) << seed;
    ASSERT_EQ(own.missing, found.missing) << seed;
    ASSERT_EQ(balance(s, *cost).split, found.split) << seed;
    if (!found.even) {
      ++uneven;
      continue;
    }
    const Figures plain = figures(s, {}, *cost);
    ASSERT_EQ(plain.step, found.even_step) << seed;
    ASSERT_EQ(plain.missing, found.even_missing) << seed;
    ASSERT_LE(own.missing, plain.missing) << seed;
    if (own.missing == plain.missing) {
      ASSERT_LE(own.step, plain.step) << seed;
    }
    ++even, shorter += own.step < plain.step;
    fits_now += own.missing == 0_B && plain.missing > 0_B;
  }
  EXPECT_GT(even, 10);
  EXPECT_GT(shorter, 5);
  EXPECT_GT(uneven, 5);
  if (testing::cases(1, 0) == 1) {
    EXPECT_GT(fits_now, 0);
  }
}

// The head of a vocabulary of 128k weighs as much as two and a half layers of the 8B: beside four
// of them it holds all stages up.
TEST(BalancedSplit, GivesTheStageOfALargeHeadFewerLayers) {
  const Scenario s = scenario("llama-3-8b", "h100-sxm:64", {"tp=1", "pp=8", "global-batch=256"});
  const auto cost = physical_cost_model(s);
  const BalancedSplit found = balance(s, *cost);
  EXPECT_LT(found.split.layers.back(), 4);
  EXPECT_LT(to_seconds(found.step), 0.9 * to_seconds(found.even_step));
  // The simulator agrees.
  const auto simulated = [&](StageSplit split) {
    Scenario one = s;
    one.plan.split = std::move(split);
    return to_seconds(simulate(one, {.fixes = false})->result.step.value);
  };
  EXPECT_LT(simulated(found.split), 0.9 * simulated({}));
}

TEST(BalancedSplit, DividesFortyLayersByAnyStages) {
  const Scenario even =
      scenario("llama-2-13b", "a100-sxm-80:64", {"tp=1", "pp=16", "global-batch=256"});
  EXPECT_TRUE(has_errors(check(even)));
  const auto cost = physical_cost_model(even);
  const BalancedSplit found = balance(even, *cost);
  EXPECT_FALSE(found.even);
  const std::vector<int>& layers = found.split.layers;
  ASSERT_EQ(layers.size(), 16u);
  EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), 0), 40);
  EXPECT_EQ(*std::max_element(layers.begin(), layers.end()), 3);
  EXPECT_EQ(found.missing, 0_B);
}

// A V gives its first and last stage to one device: layers go where the head is not.
TEST(BalancedSplit, BalancesDevicesOfSeveralStages) {
  const Scenario s = scenario("llama-3-8b", "h100-sxm:64",
                              {"pp=4", "virtual-stages=2", "schedule=zb-v", "global-batch=256"});
  const BalancedSplit found = balance(s, *physical_cost_model(s));
  EXPECT_LT(found.split.layers.front() + found.split.layers.back(), 8);
  EXPECT_LT(to_seconds(found.step), 0.96 * to_seconds(found.even_step));
}

std::string refused(const Scenario& s) {
  try {
    balance(s, *physical_cost_model(s));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(BalancedSplit, RefusesWhatNoSplitWouldMakeLegal) {
  EXPECT_NE(refused(scenario("llama-3-8b", "h100-sxm:64", {"pp=64"}))
                .find("32 layers cannot fill 64 stages"),
            std::string::npos);
  EXPECT_NE(refused(scenario("llama-3-8b", "h100-sxm:64", {"pp=3", "tp=5"})).find("divide"),
            std::string::npos);
  // One stage has one split.
  EXPECT_EQ(balance(scenario("llama-3-8b", "h100-sxm:64", {}),
                    *physical_cost_model(scenario("llama-3-8b", "h100-sxm:64", {})))
                .split.layers,
            std::vector<int>{32});
}

TEST(BalancedSplit, AnyModelOfTheZooIsAChain) {
  for (const std::string model : {"gpt-tiny", "mlp-small", "mixtral-8x7b", "deepseek-v3"}) {
    Workload w = prepare(scenario(model, "h100-sxm:8", {}));
    const auto cost = physical_cost_model(w.scenario);
    const Duration before = estimate_step(w, *cost).step;
    const PricedChain chain = price_chain(w, *cost);
    EXPECT_EQ(estimate_step(w, *cost).step, before) << model;
    EXPECT_EQ(static_cast<int>(chain.layers.size()),
              layer_count(w.scenario.model) + chain.ahead + chain.behind)
        << model;
    // All of it weighs about what one stage does; phases are a little less than their layers.
    Duration sum{};
    for (const std::uint32_t l : chain.layers)
      sum += chain.kinds[l].times[0].forward + chain.kinds[l].times[0].backward;
    const StageTime whole = stage_times(w, *cost).front();
    const double stage = to_seconds(whole.forward.total() + whole.backward.total());
    EXPECT_NEAR(to_seconds(sum) / stage, 1, 0.1) << model;
  }
}

Duration bottleneck(const PricedChain& chain, const SplitShape& shape, const StageSplit& split) {
  const std::vector<Duration> loads = device_loads(chain, shape, split);
  return *std::max_element(loads.begin(), loads.end());
}

Duration best_bottleneck(const PricedChain& chain, const SplitShape& shape, int stages) {
  Duration best = Duration::max();
  StageSplit split;
  const std::function<void(int, int)> place = [&](int left, int stage) {
    if (stage + 1 == stages) {
      split.layers.push_back(left);
      if (is_legal(chain, split)) best = std::min(best, bottleneck(chain, shape, split));
      split.layers.pop_back();
      return;
    }
    for (int n = 0; n <= left; ++n) {
      split.layers.push_back(n);
      place(left - n, stage + 1);
      split.layers.pop_back();
    }
  };
  place(static_cast<int>(chain.layers.size()) - chain.ahead - chain.behind, 0);
  return best;
}

PricedChain random_chain(const Random& random) {
  PricedChain chain;
  std::uint64_t at = 0;
  const std::int64_t kinds = random.between(at++, 1, 3), layers = random.between(at++, 8, 11);
  for (std::int64_t k = 0; k < kinds; ++k) {
    ChainLayer kind;
    kind.times = {{Duration{random.between(at++, 1, 20)}, Duration{random.between(at++, 1, 40)}}};
    chain.kinds.push_back(kind);
  }
  for (std::int64_t l = 0; l < layers; ++l)
    chain.layers.push_back(static_cast<std::uint32_t>(random.between(at++, 0, kinds - 1)));
  chain.ahead = random.between(at++, 0, 1) == 1, chain.behind = random.between(at++, 0, 1) == 1;
  return chain;
}

// With one stage per device the optimum; with several, moving layers finds it nearly always.
TEST(BalancedSplit, ByPriceBesideBruteForce) {
  int several = 0, optimal = 0;
  double worst = 1;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Random random(seed, 9);
    const PricedChain chain = random_chain(random);
    const std::int64_t kind = random.between(100, 0, 3);
    SplitShape shape{.devices = kind == 0   ? 4
                                : kind == 3 ? 4
                                            : 2,
                     .virtual_stages = kind == 1 || kind == 2 ? 2 : 1,
                     .placement = kind == 2   ? Placement::V
                                  : kind == 3 ? Placement::Bidirectional
                                              : Placement::Cyclic,
                     .microbatches = 1000};
    const Duration found = bottleneck(chain, shape, balanced_split(chain, shape)),
                   best = best_bottleneck(chain, shape, 4);
    if (kind == 0) {
      ASSERT_EQ(found, best) << seed;
      continue;
    }
    ++several, optimal += found == best;
    worst = std::max(worst, to_seconds(found) / to_seconds(best));
  }
  EXPECT_GT(optimal, several * 85 / 100);
  EXPECT_LT(worst, 1.25);
}

// A search that prices tables has its memory limit in them.
TEST(BalancedSplit, ByPriceKeepsWithinMemory) {
  PricedChain chain;
  ChainLayer layer;
  layer.times = {{Duration{10}, Duration{20}}};
  layer.state = 1_B, layer.activations = 1_B;
  chain.kinds = {layer};
  chain.layers.assign(16, 0);
  SplitShape shape{.devices = 4, .microbatches = 16};
  EXPECT_EQ(balanced_split(chain, shape).layers, (std::vector<int>{4, 4, 4, 4}));
  shape.memory.assign(4, 17_B);
  EXPECT_EQ(balanced_split(chain, shape).layers, (std::vector<int>{3, 4, 4, 5}));
  shape.live = {16};  // as GPipe: nothing fits, and all lack the same
  EXPECT_EQ(balanced_split(chain, shape).layers, (std::vector<int>{4, 4, 4, 4}));
}

}  // namespace
}  // namespace trainyard
