// Pipelines over several kinds of devices, against brute force and against clusters of one kind.
#include "core/cluster/mixed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "app/workspace/scenario/run_once.h"
#include "core/base/random.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/io/documents/cluster_json.h"
#include "core/memory/process_bytes.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/plan/stage_kinds.h"
#include "core/result/figures.h"
#include "planners/partition/balanced_split.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/plan_search.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Model with_layers(const std::string& name, int layers) {
  Model model = zoo_model(name);
  for (Block& block : model.blocks)
    if (block.layer) block.count = layers;
  return model;
}

Scenario of_words(Model model, const Cluster& cluster, const std::vector<std::string>& settings) {
  Scenario s{std::move(model), cluster, {}};
  for (const std::string& word : settings) apply_setting(s.plan, word);
  return s;
}

Scenario with_split(Scenario s, std::vector<int> layers) {
  s.plan.split.layers = std::move(layers);
  return s;
}

Duration simulated_step(const Scenario& s, const CostModel& cost) {
  return run_once(s, {.cost = &cost})->result.step.value;
}

// Calls use(layers of each stage) for every way to divide the layers.
void each_split(int layers, int stages, const std::function<void(const std::vector<int>&)>& use) {
  std::vector<int> split;
  const std::function<void(int)> place = [&](int left) {
    if (static_cast<int>(split.size()) + 1 == stages) {
      split.push_back(left);
      use(split);
      split.pop_back();
      return;
    }
    for (int n = 0; n <= left; ++n) {
      split.push_back(n);
      place(left - n);
      split.pop_back();
    }
  };
  place(layers);
}

struct SmallCase {
  Scenario scenario;
  int layers = 0, stages = 0;
};

// A few layers on two to four stages of a node each, of two kinds.
SmallCase small_case(std::uint64_t seed) {
  const Random random(seed, 71);
  std::uint64_t at = 0;
  const auto one_of = [&](const std::vector<std::string>& words) {
    return words[random.bits(at++) % words.size()];
  };
  SmallCase made;
  made.stages = static_cast<int>(random.between(at++, 2, 4));
  made.layers = static_cast<int>(random.between(at++, made.stages, 8));
  const std::vector<std::string> known = {"h100-sxm", "a100-sxm-80", "a100-sxm-40", "b200-hgx",
                                          "h200-sxm"};
  const std::string first = one_of(known);
  std::string second = one_of(known);
  while (second == first) second = one_of(known);
  const std::int64_t others = random.between(at++, 1, made.stages - 1);
  const Cluster cluster = parse_cluster(first + ":" + std::to_string(8 * made.stages) +
                                        ",mixed=" + second + ":" + std::to_string(8 * others));
  made.scenario =
      of_words(with_layers(one_of({"llama-3-8b", "llama-2-7b", "gpt2"}), made.layers), cluster,
               {"pp=" + std::to_string(made.stages), "tp=" + one_of({"1", "2", "4"}),
                "global-batch=" + one_of({"64", "128"}), "schedule=" + one_of({"1f1b", "gpipe"}),
                "recompute=" + one_of({"none", "full"})});
  return made;
}

// Says whether every device has the memory for its stage.
bool fits_everywhere(const Scenario& s, const CostModel& cost) {
  const Workload w = prepare(s);
  const StepEstimate step = estimate_step(w, cost);
  const std::vector<Bytes> capacity = capacities(w);
  for (std::size_t d = 0; d < capacity.size(); ++d)
    if (step.reserved[d] > capacity[d]) return false;
  return true;
}

// Calls use(scenario) for every split of a case that is legal and fits.
void each_that_fits(const SmallCase& c, const CostModel& cost,
                    const std::function<void(const Scenario&)>& use) {
  each_split(c.layers, c.stages, [&](const std::vector<int>& split) {
    const Scenario s = with_split(c.scenario, split);
    if (!has_errors(check(s)) && fits_everywhere(s, cost)) use(s);
  });
}

// The closed form chooses the split, and the simulator judges it against every other.
TEST(MixedCluster, APipelineOverTwoKindsIsWithinFivePercentOfBruteForce) {
  int uneven = 0, cases = 0;
  double worst = 1;
  for (std::uint64_t seed = 0; cases < 100; ++seed) {
    ASSERT_LT(seed, 300U);
    const SmallCase c = small_case(seed);
    const auto cost = physical_cost_model(c.scenario);
    const Duration found =
        simulated_step(with_split(c.scenario, balanced_split(c.scenario, *cost).layers), *cost);
    Duration best = Duration::max();
    each_that_fits(c, *cost,
                   [&](const Scenario& s) { best = std::min(best, simulated_step(s, *cost)); });
    if (best == Duration::max()) continue;  // no split fits
    ++cases;
    ASSERT_LE(to_seconds(found), 1.05 * to_seconds(best)) << seed;
    worst = std::max(worst, to_seconds(found) / to_seconds(best));
    if (c.layers % c.stages == 0)
      uneven += to_seconds(simulated_step(c.scenario, *cost)) > 1.05 * to_seconds(best);
  }
  RecordProperty("worst", std::to_string(worst));
  // An even split would often not do.
  EXPECT_GT(uneven, 10);
}

// The search of plans takes the split by prices alone.
TEST(MixedCluster, TheSplitByPricesIsNearBruteForceToo) {
  for (std::uint64_t seed = 0, cases = 0; cases < 40; ++seed) {
    const SmallCase c = small_case(seed);
    const auto cost = physical_cost_model(c.scenario);
    const auto step = [&](const Scenario& s) { return estimate_step(prepare(s), *cost).step; };
    Duration best = Duration::max();
    each_that_fits(c, *cost, [&](const Scenario& s) { best = std::min(best, step(s)); });
    if (best == Duration::max()) continue;
    ++cases;
    const std::vector<int> found = weighted_split(c.scenario, *cost).layers;
    ASSERT_LE(to_seconds(step(with_split(c.scenario, found))), 1.15 * to_seconds(best)) << seed;
  }
}

TEST(MixedCluster, EqualKindsAreThePlainCluster) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Scenario mixed = small_case(seed).scenario;
    mixed.cluster.mixed.front().device = mixed.cluster.device;
    Scenario plain = mixed;
    plain.cluster.mixed.clear();
    const auto cost = physical_cost_model(plain);
    const std::vector<int> split = balanced_split(plain, *cost).layers;
    ASSERT_EQ(balanced_split(mixed, *cost).layers, split) << seed;
    const auto a = run_once(with_split(plain, split), {.cost = cost.get()}),
               b = run_once(with_split(mixed, split), {.cost = cost.get()});
    ASSERT_EQ(a->result.step.value, b->result.step.value) << seed;
    ASSERT_EQ(a->prices.time, b->prices.time) << seed;
    ASSERT_EQ(a->result.device_time.sum(), b->result.device_time.sum()) << seed;
    ASSERT_EQ(a->result.verdict.sentence, b->result.verdict.sentence) << seed;
    ASSERT_DOUBLE_EQ(a->result.mfu, b->result.mfu) << seed;
    ASSERT_EQ(reserved(a->result), reserved(b->result)) << seed;
    const Workload w = prepare(with_split(plain, split)), v = prepare(with_split(mixed, split));
    ASSERT_EQ(estimate_step(w, *cost).step, estimate_step(v, *cost).step) << seed;
    ASSERT_EQ(phase_times(w, *cost).forward, phase_times(v, *cost).forward) << seed;
  }
}

// A device of no generation, whose rates all follow its datasheet.
Device scaled_device(const std::string& id, double faster) {
  Device d = device("a100-sxm-80");
  d.id = id;
  for (Peak& peak : d.peaks) peak.rate.value.value *= faster;
  d.memory_bandwidth.value.value *= faster;
  d.scale_up.value.value *= faster;
  d.network.value.value *= faster;
  return d;
}

TEST(MixedCluster, AFasterSecondKindNeverSlowsTheStep) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Random random(seed, 5);
    Scenario s = small_case(seed).scenario;
    const std::int64_t others = s.cluster.mixed.front().count;
    s.cluster = make_cluster(scaled_device("own-slow", 1), s.cluster.count);
    const auto cost = physical_cost_model(s);
    const std::vector<int> split = balanced_split(s, *cost).layers;
    Duration before = simulated_step(with_split(s, split), *cost),
             estimated = estimate_step(prepare(with_split(s, split)), *cost).step;
    for (const double faster : {1.0, 1.0 + random.uniform(1), 3.0}) {
      s.cluster.mixed = {{scaled_device("own-fast", faster), others}};
      const Duration now = simulated_step(with_split(s, split), *cost);
      ASSERT_LE(now, before) << seed << " " << faster;
      const Duration closed = estimate_step(prepare(with_split(s, split)), *cost).step;
      ASSERT_LE(closed, estimated) << seed << " " << faster;
      before = now, estimated = closed;
    }
  }
}

// A message is as fast as the slower of its ends, whichever end that is.
TEST(MixedCluster, MessagesAreAsFastAsTheSlowerEnd) {
  const auto sends = [](const char* words) {
    const Scenario s =
        of_words(with_layers("llama-3-8b", 4), parse_cluster(words), {"pp=2", "global-batch=64"});
    const auto cost = physical_cost_model(s);
    const auto run = run_once(s, {.cost = cost.get()});
    Duration longest{};
    for (std::size_t t = 0; t < run->program.tasks.size(); ++t)
      if (run->program.tasks[t].kind == TaskKind::Send)
        longest = std::max(longest, run->prices.time[t]);
    return longest;
  };
  const Duration fast = sends("h100-sxm:16"), slow = sends("a100-sxm-80:16");
  ASSERT_LT(fast, slow);
  EXPECT_EQ(sends("h100-sxm:16,mixed=a100-sxm-80:8"), slow);
  EXPECT_EQ(sends("a100-sxm-80:16,mixed=h100-sxm:8"), slow);
}

// The second kind has equal rates and half the memory: the stage there is the one that does not
// fit.
TEST(MixedCluster, EachStageIsHeldAgainstItsOwnMemory) {
  Scenario s = of_words(with_layers("llama-3-8b", 16), parse_cluster("a100-sxm-80:16"),
                        {"pp=2", "tp=2", "global-batch=64", "recompute=full"});
  const auto cost = physical_cost_model(s);
  const auto plain = run_once(s, {.cost = cost.get()});
  ASSERT_TRUE(plain->result.verdict.fits);
  Device small = s.cluster.device;
  const Bytes holds = plain->result.memory[1].reserved;
  small.memory.value = Bytes{holds.value / 50 * 49};
  s.cluster.mixed = {{small, 8}};
  const auto mixed = run_once(s, {.cost = cost.get()});
  EXPECT_FALSE(mixed->result.verdict.fits);
  EXPECT_EQ(mixed->result.verdict.worst_device.value, 1U);
  EXPECT_EQ(mixed->result.verdict.margin, small.memory.value - holds);
  EXPECT_EQ(mixed->result.capacity, small.memory.value);
  EXPECT_EQ(capacity_of(mixed->result, DeviceId{0}), s.cluster.device.memory.value);
  ASSERT_NE(fullest(mixed->result), nullptr);
  EXPECT_EQ(fullest(mixed->result)->device.value, 1U);
  EXPECT_FALSE(estimate(prepare(s), *cost).verdict.fits);
  // Moving layers away from it makes the plan fit.
  const Scenario moved = with_split(s, balanced_split(s, *cost).layers);
  EXPECT_TRUE(run_once(moved, {.cost = cost.get()})->result.verdict.fits);
}

TEST(MixedCluster, IsReadAndWrittenAsItIs) {
  const std::string words = "h100-sxm:32,per-node=4,mixed=a100-sxm-80:8+v100-sxm2-32:4";
  const Cluster cluster = parse_cluster(words);
  EXPECT_EQ(cluster.name, words);
  EXPECT_EQ(parse_cluster(cluster.name), cluster);
  EXPECT_EQ(read_cluster(write_cluster(cluster), "again"), cluster);
  EXPECT_EQ(count_of_kind(cluster, 0), 20);
  EXPECT_EQ(kind_of_device(cluster, 19), 0U);
  EXPECT_EQ(kind_of_device(cluster, 20), 1U);
  EXPECT_EQ(kind_of_device(cluster, 28), 2U);
  EXPECT_EQ(kind_of_device(cluster, 31), 2U);
  Cluster cut = cluster;
  keep_first(cut, 24);
  ASSERT_EQ(cut.mixed.size(), 1U);
  EXPECT_EQ(cut.mixed.front().count, 4);
  // Each kind has the links of its datasheet, unless they are stated for all.
  EXPECT_EQ(kind_cluster(cluster, 1).levels[0].bandwidth.value,
            device("a100-sxm-80").scale_up.value);
  EXPECT_TRUE(kind_cluster(cluster, 0).levels[0].reduces);
  EXPECT_FALSE(kind_cluster(cluster, 1).levels[0].reduces);
  const Cluster stated = parse_cluster("h100-sxm:16,intra=100GB/s,mixed=a100-sxm-80:8");
  EXPECT_EQ(kind_cluster(stated, 1).levels[0].bandwidth.value, BytesPerSecond{100e9});
}

TEST(MixedCluster, WrongKindsAreSentences) {
  const auto refused = [](const char* words) {
    return testing::refusal([&] { parse_cluster(words); });
  };
  EXPECT_NE(refused("h100-sxm:16,mixed=a100-sxm-80").find("expected DEVICE:COUNT"),
            std::string::npos);
  EXPECT_NE(refused("h100-sxm:16,mixed=a100-sxm-80:16").find("at least one must be left"),
            std::string::npos);
  EXPECT_NE(refused("h100-sxm:16,mixed=a100-sxm-80:4").find("do not fill nodes of 8"),
            std::string::npos);
  EXPECT_NE(refused("h100-sxm:16,mixed=a100-sxm-81:8").find("a100-sxm-80"), std::string::npos);
  EXPECT_NE(refused("h100-sxm:16,mixed=tpu-v5p:8").find("wires its nodes alike"),
            std::string::npos);
  const auto found = [](const std::vector<std::string>& settings) {
    const Diagnostics wrong = check(of_words(
        with_layers("llama-3-8b", 12), parse_cluster("h100-sxm:24,mixed=a100-sxm-80:8"), settings));
    return wrong.empty() ? std::string("accepted") : wrong.front().message + wrong.front().fix;
  };
  EXPECT_EQ(found({"pp=3", "global-batch=48"}), "accepted");
  EXPECT_NE(found({"pp=2", "global-batch=48"}).find("do not divide into such stages"),
            std::string::npos);
  EXPECT_NE(found({"pp=2", "global-batch=48"}).find("pp=3"), std::string::npos);
  EXPECT_NE(
      found({"pp=3", "global-batch=48", "rank-order=tp-cp-ep-pp-dp"}).find("beside each other"),
      std::string::npos);
}

// The search lists plans with weighted stages, priced as such, that fit their devices.
TEST(MixedCluster, ASearchWeighsTheStagesOfEachPlan) {
  const Scenario base =
      of_words(with_layers("llama-3-8b", 12), parse_cluster("h100-sxm:32,mixed=a100-sxm-40:16"),
               {"global-batch=64"});
  const std::vector<Bound> bounds = {{"micro-batch", "1,2"},
                                     {"schedule", "1f1b,gpipe"},
                                     {"virtual-stages", "1"},
                                     {"recompute", "none,full"}};
  PlanSpace space(base, {}, bounds);
  const auto cost = physical_cost_model(base);
  space.weigh_stages_by([&](const Scenario& s) { return weighted_split(s, *cost); });
  const SearchResult found = search(space, {.top = 5});
  ASSERT_FALSE(found.best.empty());
  for (const Candidate& c : found.best) {
    const Scenario s = space.scenario(c.id);
    EXPECT_TRUE(
        check_stage_kinds(s.cluster, prepare(s).scenario.plan.mesh, Placement::Cyclic).empty());
    const ExactPrice price = exact_price(s, *cost);
    EXPECT_EQ(price.step, c.step);
    EXPECT_LE(price.memory, memory_limit(s, price.device, {}));
  }
  // No legal plan of the space that fits is faster.
  for (PlanId id = 0; id < space.combinations(); ++id) {
    const std::vector<std::uint32_t> digits = space.digits(id);
    const auto form = space.canonical(digits);
    if (!form || *form != digits) continue;
    const Scenario s = space.scenario(id);
    const ExactPrice price = exact_price(s, *cost);
    if (price.illegal != Fate::Untried || price.memory > memory_limit(s, price.device, {}))
      continue;
    EXPECT_GE(price.step, found.best.front().step) << id;
  }
  const std::vector<int> split = space.scenario(found.best.front().id).plan.split.layers;
  ASSERT_GE(split.size(), 2U);
  EXPECT_GT(split.front(), split.back());
}

}  // namespace
}  // namespace trainyard
