// A FlowEngine fills anew only where levels change. Here its rates are held against those of
// filling all links with all flows after every instant, and its cost against the number of flows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/network/flow_engine.h"

namespace trainyard {
namespace {

struct HashedFlow {
  std::vector<FlowLink> path;
  double begins = 0, bytes = 1, weight = 1, most = std::numeric_limits<double>::infinity();
};
struct HashedTraffic {
  std::vector<double> capacities;
  std::vector<HashedFlow> flows;  // by rising beginning
};

// Hosts below leaves, from each of which links lead up to spines; of every link one back.
struct HashedFabric {
  std::uint32_t leaves, hosts, spines;
  std::uint32_t all() const { return leaves * hosts; }
  std::uint32_t links() const { return 2 * all() + 2 * leaves * spines; }
  std::vector<FlowLink> route(std::uint32_t from, std::uint32_t to, std::uint32_t spine) const {
    std::vector<FlowLink> path{{from, 1}, {all() + to, 1}};
    if (from / hosts == to / hosts) return path;
    path.push_back({2 * all() + from / hosts * spines + spine, 1});
    path.push_back({2 * all() + (leaves + to / hosts) * spines + spine, 1});
    return path;
  }
};

using RatesById = std::map<FlowEngine::Id, double>;
using FlowsById = std::map<FlowEngine::Id, const HashedFlow*>;

// All rates rise together from zero, over all links and with all flows.
RatesById filled_whole(const std::vector<double>& capacities, const FlowsById& flows) {
  struct Filled {
    double left = 0, weight = 0;
    std::vector<FlowEngine::Id> passing;
  };
  std::vector<Filled> links(capacities.size());
  for (std::size_t l = 0; l < links.size(); ++l) links[l].left = capacities[l];
  using LevelOf = std::tuple<double, bool, std::uint32_t>;  // level, whether of a source, id
  std::priority_queue<LevelOf, std::vector<LevelOf>, std::greater<>> levels;
  for (const auto& [id, flow] : flows) {
    for (const FlowLink& over : flow->path) {
      links[over.link].weight += over.flows * flow->weight;
      links[over.link].passing.push_back(id);
    }
    levels.emplace(flow->most / flow->weight, true, id);
  }
  for (std::uint32_t l = 0; l < links.size(); ++l)
    if (!links[l].passing.empty()) levels.emplace(links[l].left / links[l].weight, false, l);
  RatesById rates;
  while (!levels.empty() && rates.size() < flows.size()) {
    const auto [level, source, id] = levels.top();
    levels.pop();
    std::vector<FlowEngine::Id> settled{id};
    if (!source) {
      settled = links[id].passing;
      const double now = std::max(0.0, links[id].left) / std::max(1e-300, links[id].weight);
      if (now > level * (1 + 1e-12)) {
        levels.emplace(now, false, id);
        continue;
      }
    }
    for (const FlowEngine::Id f : settled) {
      const HashedFlow& flow = *flows.at(f);
      if (!rates.emplace(f, level * flow.weight).second) continue;
      for (const FlowLink& over : flow.path) {
        links[over.link].left -= over.flows * level * flow.weight;
        links[over.link].weight -= over.flows * flow.weight;
      }
    }
  }
  return rates;
}

// Calls back after every instant, with it and the flows that are under way.
void move_all(FlowEngine& engine, const HashedTraffic& t,
              const std::function<void(double, const FlowsById&)>& after) {
  FlowsById active;
  std::size_t begun = 0;
  double at = 0;
  for (;;) {
    const std::optional<double> end = engine.next();
    after(at, active);
    if (begun < t.flows.size() && (!end || t.flows[begun].begins <= *end)) {
      at = t.flows[begun].begins;
      for (; begun < t.flows.size() && t.flows[begun].begins == at; ++begun) {
        const HashedFlow& f = t.flows[begun];
        active[engine.start({f.path, f.bytes, f.weight, f.most}, at)] = &f;
      }
    } else if (end) {
      at = *end;
      for (const FlowEngine::Id id : engine.finish(at)) active.erase(id);
    } else {
      return;
    }
  }
}

// Few sizes, beginnings and capacities, so that much happens at one instant and levels are equal.
HashedTraffic drawn_traffic(std::uint64_t seed) {
  HashedTraffic t;
  const Random random(seed);
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint32_t most) {
    return static_cast<std::uint32_t>(random.between(drawn++, 0, most - 1));
  };
  const auto mostly_one = [&](std::uint32_t times, double least) {
    return below(times) > 0 ? 1 : least + below(3);
  };
  const HashedFabric fabric{2 + below(2), 1 + below(3), 1 + below(2)};
  for (std::uint32_t l = 0; l < fabric.links(); ++l) t.capacities.push_back(mostly_one(4, 0.5));
  const std::uint32_t flows = 1 + below(20);
  double now = 0;
  for (std::uint32_t f = 0; f < flows; ++f) {
    HashedFlow flow;
    const std::uint32_t from = below(fabric.all()), to = below(fabric.all());
    flow.path = fabric.route(from, to, below(fabric.spines));
    for (FlowLink& over : flow.path) over.flows = mostly_one(12, 0.25);
    flow.begins = now += below(3) > 0 ? 0 : 40 * below(4);
    flow.bytes = 100 * (1 + below(6));
    flow.weight = mostly_one(12, 0.3);
    if (below(8) == 0) flow.most = 0.1 + 0.2 * below(4);
    t.flows.push_back(std::move(flow));
  }
  return t;
}

// Levels of links that are equal but for rounding are rare enough to want some thousand networks.
TEST(IncrementalFilling, FindsAfterEveryInstantTheRatesOfFillingAllLinksAnew) {
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    const HashedTraffic t = drawn_traffic(seed);
    FlowEngine engine(t.capacities);
    std::size_t compared = 0;
    move_all(engine, t, [&](double now, const FlowsById& active) {
      for (const auto& [id, rate] : filled_whole(t.capacities, active)) {
        ASSERT_NEAR(engine.rate(id), rate, 1e-9 * rate) << "seed " << seed << " at " << now;
        ++compared;
      }
    });
    ASSERT_GE(compared, t.flows.size());
  }
}

struct AroundFlow {
  double rate = 0;
  std::uint32_t waits_for = 0;
  std::map<FlowEngine::Id, double> loads;  // on the link for which it waits
  friend bool operator==(const AroundFlow&, const AroundFlow&) = default;
};

TEST(IncrementalFilling, TellsItsWatcherBeforeAnythingAroundAFlowChanges) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const HashedTraffic t = drawn_traffic(seed);
    FlowEngine engine(t.capacities);
    std::map<FlowEngine::Id, double> told;  // until when
    engine.watch([&](FlowEngine::Id id, double, double until, double) { told[id] = until; });
    std::map<const HashedFlow*, AroundFlow> held;
    move_all(engine, t, [&](double now, const FlowsById& active) {
      for (const auto& [id, flow] : active) {
        AroundFlow around{engine.rate(id), engine.waits_for(id), {}};
        if (around.waits_for != FlowEngine::kNone)
          engine.each_on(around.waits_for,
                         [&](FlowEngine::Id f, double load) { around.loads[f] = load; });
        AroundFlow& before = held.try_emplace(flow, around).first->second;
        ASSERT_TRUE(before == around || told[id] == now || flow->begins == now) << "seed " << seed;
        before = std::move(around);
      }
    });
  }
}

// Two flows for each host, at drawn times and between drawn hosts: all under way at once are joined
// to each other by links.
std::uint64_t rates_found_among(std::uint32_t hosts) {
  const HashedFabric fabric{hosts / 8, 8, 8};
  const Random random(hosts);
  HashedTraffic t{std::vector<double>(fabric.links(), 1.0), {}};
  double now = 0;
  for (std::uint64_t i = 0; i < 2 * std::uint64_t{hosts}; ++i) {
    const std::int64_t from = random.between(5 * i, 0, hosts - 1),
                       to = (from + random.between(5 * i + 1, 1, hosts - 1)) % hosts;
    HashedFlow flow;
    flow.path = fabric.route(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                             static_cast<std::uint32_t>(random.between(5 * i + 2, 0, 7)));
    flow.begins = now += 2'000 * random.uniform(5 * i + 3) / hosts;
    flow.bytes = 500 + 1'000 * random.uniform(5 * i + 4);
    t.flows.push_back(std::move(flow));
  }
  FlowEngine engine(t.capacities);
  move_all(engine, t, [](double, const FlowsById&) {});
  return engine.rates_found();
}

// The cost of filling all that links join grows with the square: 256 times as much for 16 times as
// many flows.
TEST(IncrementalFilling, CostGrowsNoFasterThanFlowsTimesTheirLogarithm) {
  constexpr double kFlows = 256;  // of 128 hosts
  const auto least = static_cast<double>(rates_found_among(128));
  for (const std::uint32_t times : {2U, 4U, 8U, 16U}) {
    const double most = least * times * std::log(kFlows * times) / std::log(kFlows);
    EXPECT_LE(static_cast<double>(rates_found_among(128 * times)), most) << times;
  }
}

}  // namespace
}  // namespace trainyard
