#include "core/network/flow_engine.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trainyard {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

struct PlannedFlow {
  std::vector<FlowLink> path;
  double bytes = 1, weight = 1, most = kForever, begins = 0;
};
struct PlannedTraffic {
  std::vector<double> capacities;
  std::vector<PlannedFlow> flows;
};

// Textbook water-filling, from scratch: of all links the one whose equal share is least settles
// its flows; a source that has less than that is settled before.
std::vector<double> textbook_rates(const PlannedTraffic& t, const std::vector<bool>& active) {
  std::vector<double> rates(t.flows.size(), 0.0);
  std::vector<bool> settled(t.flows.size());
  for (std::size_t f = 0; f < t.flows.size(); ++f) settled[f] = !active[f];
  while (std::find(settled.begin(), settled.end(), false) != settled.end()) {
    double least = kForever;
    std::size_t full = t.capacities.size(), source = t.flows.size();
    for (std::size_t l = 0; l < t.capacities.size(); ++l) {
      double left = t.capacities[l], weight = 0;
      for (std::size_t f = 0; f < t.flows.size(); ++f)
        for (const FlowLink& over : t.flows[f].path)
          if (over.link == l && active[f])
            settled[f] ? left -= over.flows * rates[f] : weight += over.flows * t.flows[f].weight;
      if (weight > 0 && left / weight < least) least = left / weight, full = l;
    }
    for (std::size_t f = 0; f < t.flows.size(); ++f)
      if (!settled[f] && t.flows[f].most / t.flows[f].weight < least)
        least = t.flows[f].most / t.flows[f].weight, source = f;
    for (std::size_t f = 0; f < t.flows.size(); ++f) {
      const auto& path = t.flows[f].path;
      const bool here = source < t.flows.size()
                            ? f == source
                            : std::any_of(
                                  path.begin(), path.end(),
                                  [&](const FlowLink& over) { return over.link == full; });
      if (!settled[f] && here) rates[f] = least * t.flows[f].weight, settled[f] = true;
    }
  }
  return rates;
}

// Every step solves all rates anew and moves to the next beginning or end.
std::vector<double> brute_force_ends(const PlannedTraffic& t) {
  const std::size_t n = t.flows.size();
  std::vector<double> left(n), ends(n, -1.0);
  std::vector<bool> active(n, false);
  for (std::size_t f = 0; f < n; ++f) left[f] = t.flows[f].bytes;
  double now = 0;
  for (;;) {
    for (std::size_t f = 0; f < n; ++f) active[f] = ends[f] < 0 && t.flows[f].begins <= now;
    const std::vector<double> rates = textbook_rates(t, active);
    double next = kForever;
    for (std::size_t f = 0; f < n; ++f) {
      if (active[f]) next = std::min(next, now + left[f] / rates[f]);
      if (t.flows[f].begins > now) next = std::min(next, t.flows[f].begins);
    }
    if (next == kForever) return ends;
    for (std::size_t f = 0; f < n; ++f) {
      if (!active[f]) continue;
      const bool done = now + left[f] / rates[f] <= next * (1 + 1e-13) + 1e-9;
      left[f] = done ? 0 : left[f] - rates[f] * (next - now);
      if (done) ends[f] = next;
    }
    now = next;
  }
}

std::vector<double> engine_ends(const PlannedTraffic& t) {
  FlowEngine engine(t.capacities);
  std::vector<std::size_t> order(t.flows.size());
  for (std::size_t f = 0; f < order.size(); ++f) order[f] = f;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return t.flows[a].begins < t.flows[b].begins;
  });
  std::vector<double> ends(t.flows.size(), -1.0);
  std::vector<std::size_t> of(t.flows.size());
  std::size_t begun = 0;
  for (;;) {
    const std::optional<double> end = engine.next();
    if (begun < order.size() && (!end || t.flows[order[begun]].begins <= *end)) {
      const PlannedFlow& f = t.flows[order[begun]];
      of[engine.start({f.path, f.bytes, f.weight, f.most}, f.begins)] = order[begun];
      ++begun;
      continue;
    }
    if (!end) return ends;
    for (const FlowEngine::Id id : engine.finish(*end)) ends[of[id]] = *end;
  }
}

PlannedTraffic any_traffic() {
  PlannedTraffic t;
  const auto links = *rc::gen::inRange(1, 9);
  for (int l = 0; l < links; ++l) t.capacities.push_back(*rc::gen::inRange(1, 400) / 8.0);
  const auto flows = *rc::gen::inRange(1, 25);
  for (int f = 0; f < flows; ++f) {
    PlannedFlow one;
    for (int l = 0; l < links; ++l)
      if (*rc::gen::inRange(0, 3) == 0)
        one.path.push_back({static_cast<std::uint32_t>(l), *rc::gen::inRange(1, 9) / 4.0});
    if (one.path.empty() || *rc::gen::inRange(0, 4) == 0) one.most = *rc::gen::inRange(1, 40) / 4.0;
    one.bytes = *rc::gen::inRange(0, 100'000);
    one.weight = *rc::gen::inRange(1, 9) / 2.0;
    one.begins = *rc::gen::inRange(0, 5'000);
    t.flows.push_back(std::move(one));
  }
  return t;
}

// rapidcheck draws a hundred of each, so that these are two hundred networks.
TEST(FlowEngine, EndsAsABruteForceSimulationThatSolvesAllRatesAnew) {
  const auto agrees = [] {
    const PlannedTraffic t = any_traffic();
    const std::vector<double> expected = brute_force_ends(t), found = engine_ends(t);
    for (std::size_t f = 0; f < t.flows.size(); ++f)
      RC_ASSERT(std::abs(found[f] - expected[f]) <= 1e-9 * std::max(1.0, expected[f]));
  };
  EXPECT_TRUE(rc::check("first hundred", agrees));
  EXPECT_TRUE(rc::check("second hundred", agrees));
}

TEST(FlowEngine, GivesEveryFlowALinkThatIsFullAndNoneThatHasMoreThere) {
  EXPECT_TRUE(rc::check([] {
    PlannedTraffic t = any_traffic();
    FlowEngine engine(t.capacities);
    for (const PlannedFlow& f : t.flows) engine.start({f.path, kForever, f.weight, f.most}, 0);
    engine.next();
    std::vector<double> load(t.capacities.size(), 0.0), most(t.capacities.size(), 0.0);
    for (std::uint32_t f = 0; f < t.flows.size(); ++f)
      for (const FlowLink& over : t.flows[f].path) {
        load[over.link] += over.flows * engine.rate(f);
        most[over.link] = std::max(most[over.link], engine.rate(f) / t.flows[f].weight);
      }
    for (std::size_t l = 0; l < load.size(); ++l)
      RC_ASSERT(load[l] <= t.capacities[l] * (1 + 1e-9));
    for (std::uint32_t f = 0; f < t.flows.size(); ++f) {
      const std::uint32_t l = engine.waits_for(f);
      if (l == FlowEngine::kNone) {
        RC_ASSERT(engine.rate(f) == t.flows[f].most);
        continue;
      }
      RC_ASSERT(load[l] >= t.capacities[l] * (1 - 1e-9));
      RC_ASSERT(engine.rate(f) / t.flows[f].weight >= most[l] * (1 - 1e-9));
    }
  }));
}

TEST(FlowEngine, CarriesTheBytesOfAllFlowsOverEachOfTheirLinks) {
  EXPECT_TRUE(rc::check([] {
    const PlannedTraffic t = any_traffic();
    FlowEngine engine(t.capacities);
    for (const PlannedFlow& f : t.flows) engine.start({f.path, f.bytes, f.weight, f.most}, 0);
    double now = 0;
    for (std::optional<double> end = engine.next(); end; end = engine.next())
      now = *end, engine.finish(now);
    engine.settle_all(now);
    std::vector<double> expected(t.capacities.size(), 0.0);
    for (const PlannedFlow& f : t.flows)
      for (const FlowLink& over : f.path) expected[over.link] += over.flows * f.bytes;
    for (std::uint32_t l = 0; l < expected.size(); ++l)
      RC_ASSERT(std::abs(engine.carried(l) - expected[l]) <= 1e-6 * std::max(1.0, expected[l]));
  }));
}

TEST(FlowEngine, FindsRatesAnewOnlyAmongFlowsThatShareLinks) {
  constexpr std::uint32_t kPairs = 1'000;
  FlowEngine engine(std::vector<double>(kPairs, 1.0));
  std::vector<std::vector<FlowLink>> paths;
  for (std::uint32_t l = 0; l < kPairs; ++l) paths.push_back({{l, 1}});
  for (std::uint32_t l = 0; l < kPairs; ++l) {
    engine.start({paths[l], 10.0 + l}, 0);
    engine.start({paths[l], 10.0 + l}, 0);
  }
  while (const std::optional<double> end = engine.next()) engine.finish(*end);
  EXPECT_EQ(engine.rates_found(), 2 * kPairs);
}

TEST(FlowEngine, AFlowSetAtHalfItsPaceTakesTwiceTheTimeAndStillItsShare) {
  FlowEngine engine({1.0});
  const std::vector<FlowLink> path{{0, 1}};
  const FlowEngine::Id slow = engine.start({path, 100}, 0);
  engine.start({path, 100}, 0);
  engine.pace(slow, 0.5, 0);
  EXPECT_EQ(engine.next(), 200.0);
  EXPECT_EQ(engine.finish(200), std::vector<FlowEngine::Id>{1});
  EXPECT_EQ(engine.next(), 300.0);  // 50 bytes are left, at half of the whole link
}

}  // namespace
}  // namespace trainyard
