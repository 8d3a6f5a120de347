#include "planners/plans/plan_search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <barrier>
#include <numeric>
#include <thread>

#include "core/exporters/deepspeed.h"
#include "core/exporters/megatron_lm.h"
#include "core/exporters/torchtitan.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/plans/cost_models.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/plan_refine.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

void apply_all(Plan& plan, std::string_view words) {
  while (!words.empty()) {
    const std::size_t space = std::min(words.find(' '), words.size());
    apply_setting(plan, words.substr(0, space));
    words.remove_prefix(std::min(space + 1, words.size()));
  }
}

Scenario base(const char* model, const char* cluster, int batch) {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  apply_setting(s.plan, "global-batch=" + std::to_string(batch));
  return s;
}

const std::vector<Bound> kSmall{
    {"micro-batch", "1,2,4"}, {"schedule", "1f1b,interleaved,zb-v"}, {"virtual-stages", "1,2,4"}};

PlanSpace small_space() { return {base("gpt3-13b", "a100-sxm-80:16", 64), {}, kSmall}; }

// Every plan of a space, priced exactly.
std::vector<std::pair<PlanId, ExactPrice>> price_alone(const PlanSpace& space) {
  CostModels costs({});
  std::vector<std::pair<PlanId, ExactPrice>> all;
  for (PlanId id = 0; id < space.combinations(); ++id) {
    const std::vector<std::uint32_t> digits = space.digits(id);
    const auto form = space.canonical(digits);
    if (!form || *form != digits) continue;
    const Scenario s = space.scenario(id);
    all.emplace_back(id, exact_price(s, costs.of(s)));
  }
  return all;
}

TEST(PlanSearch, FindsWhatExhaustionFinds) {
  const PlanSpace space = small_space();
  const Bytes limit = space.base().cluster.device.memory.value;
  const SearchResult found = search(space, {.top = 20});
  std::vector<std::pair<Duration, Bytes>> fitting;
  const auto all = price_alone(space);
  for (const auto& [id, price] : all)
    if (price.illegal == Fate::Untried && price.memory <= limit)
      fitting.emplace_back(price.step, price.memory);
  ASSERT_EQ(found.tried, all.size());
  std::sort(fitting.begin(), fitting.end());
  const std::size_t plans = fitting.size();
  fitting.erase(std::unique(fitting.begin(), fitting.end()), fitting.end());  // cost the same
  ASSERT_EQ(found.best.size(), 20U);
  for (std::size_t i = 0; i < found.best.size(); ++i)
    EXPECT_EQ(found.best[i].step, fitting[i].first);
  // The front: each next plan is smaller than all that are faster.
  std::vector<std::pair<Duration, Bytes>> front;
  for (const auto& f : fitting)
    if (front.empty() || f.second < front.back().second) front.push_back(f);
  ASSERT_EQ(found.front.size(), front.size());
  for (std::size_t i = 0; i < front.size(); ++i) {
    EXPECT_EQ(found.front[i].step, front[i].first);
    EXPECT_EQ(found.front[i].memory, front[i].second);
  }
  EXPECT_EQ(found.fitting, plans);
  EXPECT_LT(found.estimated, plans / 2);  // bounds have spared the rest
}

TEST(PlanSearch, FatesAddUpAndAreTrue) {
  const PlanSpace space = small_space();
  const SearchResult found = search(space);
  EXPECT_EQ(std::accumulate(found.fates.begin(), found.fates.end(), std::uint64_t{0}), found.tried);
  EXPECT_EQ(found.fates[static_cast<std::size_t>(Fate::Untried)], 0U);
  EXPECT_EQ(found.fates[static_cast<std::size_t>(Fate::Best)], 1U);
  for (const auto& [id, price] : testing::non_empty(price_alone(space))) {
    const PricedPlan* plan = found.find(id);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(legal(plan->fate), price.illegal == Fate::Untried);
    if (!legal(plan->fate)) continue;
    EXPECT_EQ(plan->fate == Fate::Memory, price.memory > space.base().cluster.device.memory.value);
    if (plan->fate != Fate::Dominated) continue;
    EXPECT_TRUE(std::any_of(
        found.front.begin(), found.front.end(),
        [&p = price](const Candidate& c) { return c.step <= p.step && c.memory <= p.memory; }));
  }
}

TEST(PlanSearch, BestIsByTheObjective) {
  const PlanSpace space = small_space();
  const SearchResult time = search(space),
                     memory = search(space, {.objective = PlanObjective::Memory});
  EXPECT_EQ(time.front.front().id, time.best.front().id);
  EXPECT_EQ(memory.front.back().id, memory.best.front().id);
  for (std::size_t i = 1; i < memory.best.size(); ++i)
    EXPECT_LE(memory.best[i - 1].memory, memory.best[i].memory);
}

TEST(PlanSearch, MoneyIsAThirdAxisWhereDevicesAreOpen) {
  std::vector<Bound> bounds = kSmall;
  bounds.push_back({"devices", "8,16"});
  const PlanSpace space(base("gpt3-6.7b", "a100-sxm-80:16", 64), {}, bounds);
  const SearchResult found = search(space, {.objective = PlanObjective::Money});
  const bool both = std::any_of(found.front.begin(), found.front.end(),
                                [](const Candidate& c) { return c.devices == 8; }) &&
                    std::any_of(found.front.begin(), found.front.end(),
                                [](const Candidate& c) { return c.devices == 16; });
  EXPECT_TRUE(both);
  for (const Candidate& c : testing::non_empty(found.front)) {
    EXPECT_GT(c.money, 0);
    EXPECT_LE(found.best.front().money, c.money * (1 + 1e-12));
  }
}

TEST(PlanSearch, SparesWhatItIsTold) {
  const PlanSpace space = small_space();
  const Bytes spare{std::int64_t{20} << 30};
  const SearchResult found = search(space, {.spare = spare});
  for (const Candidate& c : testing::non_empty(found.front))
    EXPECT_LE(c.memory + spare, space.base().cluster.device.memory.value);
}

// Ranks that are threads of this process.
class Together {
 public:
  explicit Together(int count) : said_(static_cast<std::size_t>(count)), meet_(count) {}
  class One final : public Ranks {
   public:
    One(Together& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int count() const override { return static_cast<int>(all_.said_.size()); }
    std::vector<std::string> all_gather(const std::string& mine) override {
      all_.said_[static_cast<std::size_t>(rank_)] = mine;
      all_.meet_.arrive_and_wait();
      std::vector<std::string> heard = all_.said_;
      all_.meet_.arrive_and_wait();
      return heard;
    }

   private:
    Together& all_;
    int rank_;
  };

 private:
  std::vector<std::string> said_;
  std::barrier<> meet_;
};

TEST(PlanSearch, ThreadsAndRanksChangeNothing) {
  const PlanSpace space = small_space();
  const SearchResult one = search(space, {.threads = 1}), two = search(space, {.threads = 2});
  EXPECT_EQ(one.plans, two.plans);
  EXPECT_EQ(one.best, two.best);
  EXPECT_EQ(one.front, two.front);
  constexpr int kRanks = 3;
  Together all(kRanks);
  std::vector<SearchResult> found(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      Together::One me(all, rank);
      SearchOptions options;
      options.ranks = &me, options.simulate = 2;
      options.simulator = [](const Scenario& s) {
        return SimulatedPlan{Duration{s.plan.mesh.tp * 1000}, {}};
      };
      found[static_cast<std::size_t>(rank)] = search(space, options);
    });
  for (std::thread& t : threads) t.join();
  SearchOptions options;
  options.simulate = 2;
  options.simulator = [](const Scenario& s) {
    return SimulatedPlan{Duration{s.plan.mesh.tp * 1000}, {}};
  };
  const SearchResult alone = search(space, options);
  for (const SearchResult& each : testing::non_empty(found)) {
    EXPECT_EQ(each.plans, alone.plans);
    EXPECT_EQ(each.best, alone.best);
    EXPECT_EQ(each.front, alone.front);
    EXPECT_EQ(each.estimated, alone.estimated);
  }
}

TEST(PlanSearch, FrontOnlyEverMovesForward) {
  std::vector<Candidate> before;
  std::uint64_t calls = 0;
  SearchOptions options;
  options.progress = [&](const SearchProgress& now) {
    ++calls;
    for (const Candidate& old : before)
      EXPECT_TRUE(std::any_of(now.front.begin(), now.front.end(), [&](const Candidate& c) {
        return c.step <= old.step && c.memory <= old.memory;
      }));
    if (!now.front.empty()) before = now.front;
  };
  const SearchResult found = search(small_space(), options);
  EXPECT_GT(calls, 3U);
  EXPECT_EQ(before, found.front);
}

TEST(PlanSearch, SimulationReordersTheTop) {
  SearchOptions options;
  options.simulate = 4;
  // A simulator for which nothing fits except the third plan.
  const PlanSpace space = small_space();
  const SearchResult plain = search(space);
  const std::vector<std::string> third = space.words(plain.best[2].id);
  options.simulator = [&](const Scenario& s) {
    bool is_third = true;
    for (const std::string& word : third)
      is_third = is_third &&
                 setting(s.plan, word.substr(0, word.find('='))) == word.substr(word.find('=') + 1);
    return SimulatedPlan{is_third ? plain.best[2].step : 2 * plain.best[2].step, {}};
  };
  const SearchResult found = search(space, options);
  EXPECT_EQ(found.best.front().id, plain.best[2].id);
  EXPECT_GE(found.simulated, 4U);
  EXPECT_EQ(found.find(found.best.front().id)->fate, Fate::Best);
}

TEST(PlanSearch, WhatDoesNotFitWhenSimulatedLeavesTheList) {
  const PlanSpace space = small_space();
  const SearchResult plain = search(space);
  const Duration first = plain.best.front().step;
  const Bytes too_much = space.base().cluster.device.memory.value + Bytes{1};
  SearchOptions options;
  options.simulate = 3;
  const Plan best = space.scenario(plain.best.front().id).plan;
  options.simulator = [&](const Scenario& s) {
    return SimulatedPlan{first, s.plan == best ? too_much : Bytes{1}};
  };
  const SearchResult found = search(space, options);
  EXPECT_NE(found.best.front().id, plain.best.front().id);
  const auto in = [&](const std::vector<Candidate>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Candidate& c) { return c.id == plain.best.front().id; });
  };
  EXPECT_FALSE(in(found.best));
  EXPECT_FALSE(in(found.front));
  const Reason why = explain(space, found, plain.best.front().id, options);
  EXPECT_EQ(why.fate, Fate::Memory);
  EXPECT_NE(why.sentence.find("when simulated"), std::string::npos) << why.sentence;
}

TEST(PlanSearch, StoppedSearchSaysSo) {
  std::stop_source source;
  SearchOptions options;
  options.stop = source.get_token();
  options.progress = [&](const SearchProgress& now) {
    if (!now.front.empty()) source.request_stop();
  };
  const SearchResult found = search(small_space(), options);
  EXPECT_TRUE(found.stopped);
  EXPECT_FALSE(found.best.empty());
  EXPECT_EQ(std::accumulate(found.fates.begin(), found.fates.end(), std::uint64_t{0}), found.tried);
}

TEST(PlanSearch, NothingFitsIsAResult) {
  const PlanSpace space(base("gpt3-175b", "a100-sxm-40:8", 8), {}, kSmall);
  const SearchResult found = search(space);
  EXPECT_TRUE(found.best.empty());
  EXPECT_TRUE(found.front.empty());
  EXPECT_EQ(found.fitting, 0U);
  EXPECT_GT(found.fates[static_cast<std::size_t>(Fate::Memory)], 0U);
}

// What a reason names is what keeps the plan from being legal or from fitting: changing that alone
// mends it.
TEST(Explain, WhatItNamesIsWhatIsWrong) {
  const PlanSpace space = small_space();
  SearchResult found = search(space);
  const SearchOptions options;
  int verified = 0, over = 0;
  for (std::size_t i = 0; i < found.ids.size() && verified < 50; i += 5) {
    const Fate fate = found.plans[i].fate;
    if (fits(fate)) continue;
    const Reason why = explain(space, found, found.ids[i], options);
    EXPECT_EQ(why.fate, fate) << why.sentence;
    Scenario s = space.scenario(found.ids[i]);
    CostModels costs({});
    if (fate == Fate::Memory) {
      // A device with exactly that much more memory holds it.
      s.cluster.device.memory.value += Bytes{static_cast<std::int64_t>(why.distance)};
      const ExactPrice with = exact_price(s, costs.of(s));
      EXPECT_LE(with.memory, s.cluster.device.memory.value) << why.sentence;
      s.cluster.device.memory.value = s.cluster.device.memory.value - Bytes{1};
      EXPECT_GT(exact_price(s, costs.of(s)).memory, s.cluster.device.memory.value);
      ++over;
      if (!why.fix.empty()) {
        Scenario mended = space.scenario(found.ids[i]);
        apply_all(mended.plan, why.fix);
        EXPECT_LE(exact_price(mended, costs.of(mended)).memory, mended.cluster.device.memory.value)
            << why.sentence;
      }
    } else {
      if (why.fix.empty()) continue;
      apply_all(s.plan, why.fix);
      EXPECT_FALSE(has_errors(check(s))) << why.sentence << " / " << why.fix;
    }
    ++verified;
  }
  EXPECT_EQ(verified, 50);
  EXPECT_GT(over, 5);
}

TEST(Explain, DominatedPlansNameWhoIsBetter) {
  const PlanSpace space = small_space();
  const SearchResult found = search(space);
  int seen = 0;
  for (std::size_t i = 0; i < found.ids.size() && seen < 10; ++i) {
    if (found.plans[i].fate != Fate::Dominated) continue;
    const Reason why = explain(space, found, found.ids[i], {});
    EXPECT_GE(why.distance, 0) << why.sentence;
    EXPECT_NE(why.sentence.find("dominated by #"), std::string::npos) << why.sentence;
    ++seen;
  }
  EXPECT_EQ(seen, 10);
  EXPECT_EQ(explain(space, found, found.best.front().id, {}).fate, Fate::Best);
  EXPECT_EQ(explain(space, found, found.front.back().id, {}).fate, Fate::Front);
}

// For a stated framework, the search proposes only what its program supports, and refusals name
// that program.
TEST(PlanSearch, AFrameworkThatIsStatedIsACondition) {
  const std::pair<const char*, Exported (*)(const Scenario&)> programs[] = {
      {"torchtitan", torchtitan}, {"megatron-core", megatron_lm}, {"deepspeed", deepspeed}};
  for (const auto& [name, write] : testing::non_empty(programs)) {
    Scenario s = base("llama-3-8b", "h100-sxm:16", 64);
    apply_setting(s.plan, std::string("framework=") + name);
    const std::vector<Bound> bounds{{"micro-batch", "1,2"},
                                    {"schedule", "1f1b,interleaved,zb-v,zb-h1"},
                                    {"virtual-stages", "1,2"}};
    const PlanSpace space(s, {}, bounds);
    const SearchOptions options{.top = 20};
    const SearchResult found = search(space, options);
    ASSERT_FALSE(found.best.empty()) << name;
    for (const std::vector<Candidate>& list : {found.best, found.front})
      for (const Candidate& c : list)
        EXPECT_NO_THROW(write(prepare(space.scenario(c.id)).scenario)) << name << c.id;
    for (const RefinedPlan& refined : refine(space, found, options, 4)) {
      s.plan = refined.plan;
      EXPECT_NO_THROW(write(prepare(s).scenario)) << name;
    }
    std::size_t refused = 0;
    for (std::size_t i = 0; i < found.ids.size() && refused == 0; ++i) {
      if (found.plans[i].fate != Fate::Method) continue;
      const Reason why = explain(space, found, found.ids[i], options);
      refused += why.sentence.find(" cannot say it: ") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(refused, 1u) << name;
  }
}

}  // namespace
}  // namespace trainyard
