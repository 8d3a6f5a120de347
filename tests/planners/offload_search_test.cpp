// Tests plans that fit with offloaded activations alone: the search finds them where nothing else
// fits, and they are those of an exhaustive search.
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>

#include "core/cluster/cluster.h"
#include "core/cost/physical.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/plans/cost_models.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/plan_pricer.h"
#include "planners/plans/plan_search.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// A space of plans on devices that have so much memory, and a link to a host.
PlanSpace space_of(const char* model, const char* cluster, Bytes memory, int batch,
                   const std::vector<Bound>& bounds) {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  s.cluster.device.memory.value = memory;
  apply_setting(s.plan, "global-batch=" + std::to_string(batch));
  return {s, {}, bounds};
}

struct EveryPrice {
  PlanId id = 0;
  ExactPrice price;
};

// Every legal plan of a space by the whole closed form.
std::vector<EveryPrice> price_all(const PlanSpace& space) {
  CostModels costs({});
  std::vector<EveryPrice> all;
  for (PlanId id = 0; id < space.combinations(); ++id) {
    const std::vector<std::uint32_t> digits = space.digits(id);
    const auto form = space.canonical(digits);
    if (!form || *form != digits) continue;
    const Scenario s = space.scenario(id);
    EveryPrice one{id, exact_price(s, costs.of(s))};
    if (one.price.illegal == Fate::Untried) all.push_back(std::move(one));
  }
  return all;
}

Bytes least_of(const std::vector<EveryPrice>& plans) {
  Bytes least{INT64_MAX};
  for (const EveryPrice& plan : plans) least = std::min(least, plan.price.memory);
  return least;
}

const std::vector<Bound> kOneDevice{{"micro-batch", "1,2,4"}, {"recompute", "none,full"}},
    kPipelines{{"micro-batch", "1,2"},
               {"recompute", "none,full"},
               {"schedule", "1f1b,interleaved,zb-h1"},
               {"virtual-stages", "1,2"},
               {"zero", "0,1"}};

struct SmallCase {
  const char *model, *cluster;
  int batch;
  const std::vector<Bound>& bounds;
};
const SmallCase kCases[] = {{"gpt2", "h100-sxm:1", 8, kOneDevice},
                            {"resnet-50", "a100-sxm-80:1", 8, kOneDevice},
                            {"gpt2", "a100-sxm-80:4", 8, kPipelines}};

// Devices are so small that all plans need more but for those whose activations leave.
TEST(OffloadSearch, FindsWhatFitsWithOffloadedActivationsAlone) {
  for (const SmallCase& c : kCases) {
    SCOPED_TRACE(c.model);
    const PlanSpace roomy = space_of(c.model, c.cluster, 80_GiB, c.batch, c.bounds);
    const Bytes whole = least_of(price_all(roomy));
    const std::vector<EveryPrice> all = price_all(*roomy.offloading());
    const Bytes least = least_of(all);
    ASSERT_LT(least, whole);
    for (const int part : {0, 1, 3}) {
      const Bytes memory{least.value + (whole.value - 1 - least.value) * part / 3};
      PlanSpace space = space_of(c.model, c.cluster, memory, c.batch, c.bounds);
      SearchOptions options;
      ASSERT_TRUE(search(space, options).best.empty());
      const SearchResult found = search_offloading(space, options);
      ASSERT_FALSE(found.best.empty()) << part;
      const Candidate& best = found.best.front();
      EXPECT_NE(setting(space.plan(best.id), "offload"), "none");
      Duration fastest = Duration::max();
      for (const EveryPrice& plan : all)
        if (plan.price.memory <= memory) fastest = std::min(fastest, plan.price.step);
      EXPECT_EQ(best.step, fastest) << part;
      // The words of a plan are all that another search needs to know of it.
      const std::vector<std::string> words = space.words(best.id);
      EXPECT_NE(std::find(words.begin(), words.end(), "offload=activations"), words.end());
      // The front: each next plan is smaller than all that are faster.
      std::vector<std::pair<Duration, Bytes>> front, fitting;
      for (const EveryPrice& plan : all)
        if (plan.price.memory <= memory) fitting.emplace_back(plan.price.step, plan.price.memory);
      std::sort(fitting.begin(), fitting.end());
      for (const auto& f : fitting)
        if (front.empty() || f.second < front.back().second) front.push_back(f);
      ASSERT_EQ(found.front.size(), front.size());
      for (std::size_t i = 0; i < front.size(); ++i) {
        EXPECT_EQ(found.front[i].step, front[i].first);
        EXPECT_EQ(found.front[i].memory, front[i].second);
      }
    }
  }
}

TEST(OffloadSearch, LeavesASpaceAsItIsWhereAPlanFitsOrNothingWould) {
  PlanSpace fits = space_of("gpt2", "h100-sxm:1", 80_GiB, 8, kOneDevice);
  const SearchResult alone = search(fits), found = search_offloading(fits, {});
  EXPECT_EQ(found.plans, alone.plans);
  EXPECT_EQ(found.best, alone.best);
  EXPECT_EQ(fits.knob(kOffloadLayers), fits.knobs().size());
  PlanSpace small = space_of("gpt2", "h100-sxm:1", 1_MiB, 8, kOneDevice);
  EXPECT_TRUE(search_offloading(small, {}).best.empty());
  EXPECT_EQ(small.knob(kOffloadLayers), small.knobs().size());
}

// Nothing fits of the space as it is given, and a search for more that is stopped has not found
// that nothing else does.
TEST(OffloadSearch, SaysThatItWasStoppedAmongTheFurtherPlans) {
  PlanSpace small = space_of("gpt2", "h100-sxm:1", 1_MiB, 8, kOneDevice);
  std::stop_source source;
  int searches = 0;
  SearchOptions options;
  options.stop = source.get_token();
  options.cost = [&](const Scenario& s) {
    if (++searches == 2) source.request_stop();
    return physical_cost_model(s);
  };
  const SearchResult found = search_offloading(small, options);
  EXPECT_EQ(searches, 2);
  EXPECT_TRUE(found.best.empty());
  EXPECT_TRUE(found.stopped);
}

TEST(OffloadSearch, NoBoundIsAboveItsPlan) {
  for (const SmallCase& c : kCases) {
    SCOPED_TRACE(c.model);
    const PlanSpace space = *space_of(c.model, c.cluster, 80_GiB, c.batch, c.bounds).offloading();
    CostModels costs({});
    const PriceTable table = price_space(space, costs, {});
    std::uint64_t bounds = 0;
    for (const EveryPrice& plan : testing::non_empty(price_all(space))) {
      const auto at = std::lower_bound(table.ids.begin(), table.ids.end(), plan.id);
      ASSERT_TRUE(at != table.ids.end() && *at == plan.id);
      const PricedPlan& priced = table.plans[static_cast<std::size_t>(at - table.ids.begin())];
      if (!priced.bound || setting(space.plan(plan.id), "offload") == "none") continue;
      ++bounds;
      EXPECT_LE(priced.step, plan.price.step);
      EXPECT_LE(priced.memory, plan.price.memory);
    }
    EXPECT_GT(bounds, 0u);
  }
}

}  // namespace
}  // namespace trainyard
