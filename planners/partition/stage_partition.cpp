#include "planners/partition/stage_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "core/base/error.h"
#include "planners/partition/partition_chain.h"

namespace trainyard {
namespace {

using Ticks = PartitionChain::Ticks;

// Breaks ties between equal splits: the shorter latency, then the smaller sum of squared paces.
struct Sum {
  Ticks latency = PartitionChain::kNever;
  double squares = 0;
  friend auto operator<=>(const Sum&, const Sum&) = default;
};

// The best value of all ways to continue from a place in the chain to its end on the last devices.
template <class Value>
class Table {
 public:
  Table(const PartitionChain& chain, Value none)
      : columns_(chain.layers() + 1),
        rows_(chain.shared() ? chain.devices() + 1 : 1),
        none_(none),
        values_((chain.devices() + 1) * rows_ * columns_, none) {}
  // `stages` and `devices` count those from the layer on.
  Value& at(std::size_t stages, std::size_t devices, std::size_t layer) {
    return values_[(devices * rows_ + (rows_ > 1 ? stages : 0)) * columns_ + layer];
  }
  const Value& none() const { return none_; }

 private:
  std::size_t columns_, rows_;
  Value none_;
  std::vector<Value> values_;
};

// Reads off the best stages of the table: the best value over all counts of stages; of equal
// values, the fewest stages; of equal ways, the fewest layers and then the fewest devices in front.
template <class Value, class Join>
std::vector<PartitionChain::Stage> read_off(const PartitionChain& chain, Table<Value>& table,
                                            Ticks limit, const Join& join) {
  const std::size_t p = chain.devices();
  std::size_t stages = chain.shared() ? 1 : p;
  for (std::size_t more = stages + 1; more <= p; ++more)
    if (table.at(more, p, 0) < table.at(stages, p, 0)) stages = more;
  std::vector<PartitionChain::Stage> found;
  std::size_t layer = 0, left = p;
  Value best = table.at(stages, p, 0);
  if (!(best < table.none())) return found;
  for (; stages > 0; --stages) {
    std::optional<PartitionChain::Stage> taken;
    Value rest = table.none();
    chain.each_stage(stages, left, layer, limit, [&](const PartitionChain::Stage& s) {
      const Value& on = table.at(stages - 1, left - s.devices, s.end);
      if (!(on < table.none()) || join(s, on) != best) return;
      if (taken && std::pair(taken->end, taken->devices) <= std::pair(s.end, s.devices)) return;
      taken = s, rest = on;
    });
    found.push_back(*taken);
    layer = taken->end, left -= taken->devices, best = rest;
  }
  return found;
}

// Solves the recursion from the end of the chain to its front. join(stage, rest) is the value of a
// stage followed by `rest`; the least value wins. Empty if no stages keep within the limit (and the
// memory).
template <class Value, class Join>
std::vector<PartitionChain::Stage> best_stages(const PartitionChain& chain, Ticks limit, Value end,
                                               Value none, const Join& join) {
  Table<Value> table(chain, none);
  table.at(0, 0, chain.layers()) = end;
  const std::size_t p = chain.devices(), n = chain.layers();
  for (std::size_t devices = 1; devices <= p; ++devices)
    for (std::size_t stages = chain.shared() ? 1 : devices; stages <= devices; ++stages) {
      if (devices > stages * chain.replicas()) continue;
      const auto [from, to] = chain.starts(devices, limit);
      for (std::size_t layer = from; layer < to && layer + stages <= n; ++layer) {
        Value& best = table.at(stages, devices, layer);
        chain.each_stage(stages, devices, layer, limit, [&](const PartitionChain::Stage& s) {
          const Value& on = table.at(stages - 1, devices - s.devices, s.end);
          if (on < none) best = std::min(best, join(s, on));
        });
      }
    }
  return read_off(chain, table, limit, join);
}

using Stages = std::vector<PartitionChain::Stage>;

Ticks bottleneck_of(const Stages& stages) {
  Ticks most = 0;
  for (const PartitionChain::Stage& s : stages) most = std::max(most, s.pace);
  return most;
}
Ticks latency_of(const Stages& stages) {
  Ticks sum = 0;
  for (const PartitionChain::Stage& s : stages) sum += s.latency;
  return sum;
}

Stages shortest_within(const PartitionChain& chain, Ticks limit) {
  return best_stages<Sum>(chain, limit, {0, 0}, {},
                          [](const PartitionChain::Stage& s, const Sum& rest) {
                            const auto pace = static_cast<double>(s.pace);
                            return Sum{s.latency + rest.latency, pace * pace + rest.squares};
                          });
}

// Finds the least bottleneck with the shortest latency. Tight limits leave few stages to examine,
// so they are tried first, beginning with a lower bound.
Stages least_bottleneck(const PartitionChain& chain) {
  const Ticks least = chain.least_pace();
  if (Stages found = shortest_within(chain, least); !found.empty()) return found;
  for (const double room : {1.1, 1.5, 3.0, 0.0}) {
    const Ticks limit = room > 0 ? static_cast<Ticks>(static_cast<double>(least) * room) + 1
                                 : PartitionChain::kNever;
    const Stages found = best_stages<Ticks>(
        chain, limit, 0, PartitionChain::kNever,
        [](const PartitionChain::Stage& s, Ticks rest) { return std::max(s.pace, rest); });
    if (!found.empty()) return shortest_within(chain, bottleneck_of(found));
  }
  return {};
}

Stages least_missing(const PartitionChain& chain) {
  return best_stages<std::int64_t>(
      chain.without_memory(), PartitionChain::kNever, 0, std::numeric_limits<std::int64_t>::max(),
      [](const PartitionChain::Stage& s, std::int64_t rest) { return std::max(s.missing, rest); });
}

// The shortest latency falls as the allowed bottleneck grows, so each bottleneck that could still
// win is tried, smallest first.
Stages shortest_step(const PartitionChain& chain, Ticks further, Stages found) {
  const auto step_of = [&](const Stages& s) { return latency_of(s) + further * bottleneck_of(s); };
  if (further == 0) return shortest_within(chain, PartitionChain::kNever);
  if (latency_of(found) <= chain.least_latency()) return found;
  Ticks best = step_of(found);
  const Ticks least_latency = latency_of(shortest_within(chain, PartitionChain::kNever));
  const auto longest = [&] { return (best - 1 - least_latency) / further; };
  const Ticks bottleneck = bottleneck_of(found);
  if (longest() <= bottleneck) return found;
  for (const Ticks limit : chain.paces(bottleneck, longest())) {
    if (limit > longest()) break;
    const Stages next = shortest_within(chain, limit);
    if (const Ticks step = step_of(next); step < best) best = step, found = next;
  }
  return found;
}

Partition answer(const Stages& stages, const PartitionProblem& problem, std::vector<int> order) {
  Partition p;
  p.order = std::move(order);
  std::size_t layer = 0, device = 0;
  for (const PartitionChain::Stage& s : stages) {
    p.stages.push_back({static_cast<int>(layer), static_cast<int>(s.end - layer),
                        static_cast<int>(device), static_cast<int>(s.devices), Duration{s.pace},
                        Duration{s.latency}, Bytes{s.needed}});
    p.missing = std::max(p.missing, Bytes{s.missing});
    layer = s.end, device += s.devices;
  }
  p.bottleneck = Duration{bottleneck_of(stages)}, p.latency = Duration{latency_of(stages)};
  p.step = p.latency + p.bottleneck * (problem.microbatches - 1);
  return p;
}

Partition in_order(const PartitionProblem& problem, PartitionObjective objective,
                   std::vector<int> order) {
  const PartitionChain chain(problem, order);
  Stages found = least_bottleneck(chain);
  if (found.empty())
    found = least_missing(chain);
  else if (objective == PartitionObjective::Step)
    found = shortest_step(chain, problem.microbatches - 1, std::move(found));
  return answer(found, problem, std::move(order));
}

bool better(const Partition& a, const Partition& b, PartitionObjective objective) {
  const auto key = [&](const Partition& p) {
    return objective == PartitionObjective::Step ? std::tuple(p.missing, p.step, p.bottleneck)
                                                 : std::tuple(p.missing, p.bottleneck, p.latency);
  };
  return key(a) < key(b);
}

// Every order of the devices that could give a different result, starting with the given order.
std::vector<std::vector<int>> orders(const PartitionProblem& problem) {
  std::vector<int> given(problem.devices.size());
  std::iota(given.begin(), given.end(), 0);
  if (!problem.search_order) return {given};
  std::map<std::pair<int, Bytes>, std::vector<int>> alike;
  for (const int d : given) {
    const ChainDevice& device = problem.devices[static_cast<std::size_t>(d)];
    alike[{device.device_class, device.memory}].push_back(d);
  }
  constexpr std::size_t kMost = 4;
  if (alike.size() > kMost)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected devices of at most {} kinds to put in order, found {}", kMost,
                            alike.size()),
                {"devices"});
  std::vector<std::vector<int>> groups;
  for (const auto& [key, devices] : alike) groups.push_back(devices);
  const bool apart = given.size() <= kMost;
  std::vector<std::size_t> places;  // the group of each place, or each group once
  for (std::size_t g = 0; g < groups.size(); ++g)
    places.insert(places.end(), apart ? groups[g].size() : 1, g);
  std::vector<std::vector<int>> found = {given};
  do {
    std::vector<int> order;
    std::vector<std::size_t> used(groups.size());
    for (const std::size_t g : places)
      if (apart)
        order.push_back(groups[g][used[g]++]);
      else
        order.insert(order.end(), groups[g].begin(), groups[g].end());
    found.push_back(std::move(order));
  } while (std::next_permutation(places.begin(), places.end()));
  return found;
}

}  // namespace

Partition partition(const PartitionProblem& problem, PartitionObjective objective) {
  check_chain(problem);
  std::optional<Partition> best;
  for (std::vector<int>& order : orders(problem)) {
    Partition found = in_order(problem, objective, std::move(order));
    if (!best || better(found, *best, objective)) best = std::move(found);
  }
  return *best;
}

}  // namespace trainyard
