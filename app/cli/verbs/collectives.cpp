#include "app/cli/verbs/collectives.h"

#include <fmt/format.h>

#include <iterator>

#include "core/base/units_text.h"
#include "core/cost/collectives/bus_bandwidth.h"
#include "core/cost/physical.h"

namespace trainyard {
namespace {

constexpr std::int64_t kSizes[] = {64 << 10, 1 << 20, 16 << 20, 256 << 20, std::int64_t{4} << 30};

void group(std::string& out, const std::string& title, const GroupShape& shape,
           const Cluster& cluster, const CostModel& cost) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{}, p = {}\n", title, shape.ranks);
  fmt::format_to(to, "  {:<14} {:>10} {:<16} {:>11} {:>13} {:>13}  {}\n", "", "bytes", "algorithm",
                 "time", "algbw", "busbw", "binds");
  for (const CollectiveKind kind : kCollectiveKinds)
    for (const std::int64_t bytes : kSizes) {
      const CollectiveTime t = cost.collective(kind, {bytes}, shape, cluster);
      const BytesPerSecond rate = algorithm_bandwidth({bytes}, t.time);
      const BytesPerSecond bus{rate.value * bus_factor(kind, shape.ranks)};
      const std::string label = bytes == kSizes[0]   ? std::string(to_string(kind))
                                : bytes == kSizes[1] ? fmt::format("  x {}", bus_formula(kind))
                                                     : "";
      fmt::format_to(to, "  {:<14} {:>10} {:<16} {:>11} {:>13} {:>13}  {}\n", label,
                     readable(Bytes{bytes}), to_string(t.algorithm), readable(t.time),
                     readable(rate), readable(bus), cluster.levels[t.level].name);
    }
}

}  // namespace

std::string collectives_text(const Cluster& cluster) {
  const auto cost = physical_cost_model(SettledSoftware{&framework("")});
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{}: what collectives take, alone on their links\n", cluster.name);
  fmt::format_to(to,
                 "bytes: of the whole vector, which the root has of a gather or scatter; of what "
                 "one rank sends "
                 "in an all-to-all\n");
  out += "algbw: bytes over time. busbw: algbw times the factor beside the kind\n";
  for (const Level& level : cluster.levels)
    fmt::format_to(std::back_inserter(out), "{}: {} of links a device and direction, {}{}\n",
                   level.name, readable(level.bandwidth.value), to_string(level.topology),
                   level.reduces ? ", its switches add up what passes them" : "");
  const std::int64_t node = devices_per_node(cluster), all = nodes(cluster);
  if (node > 1)
    group(out, "the devices of a node", {.ranks = node, .per_node = node}, cluster, *cost);
  if (all > 1 && node > 1)
    group(out, "one device of each node, all such groups at once",
          {.ranks = all, .per_node = 1, .neighbours = node, .stride = node}, cluster, *cost);
  if (all > 1) group(out, "all devices", {.ranks = node * all, .per_node = node}, cluster, *cost);
  return out;
}

}  // namespace trainyard
