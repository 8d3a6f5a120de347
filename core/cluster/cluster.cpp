#include "core/cluster/cluster.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace trainyard {
namespace {

// Returns how many devices a node has when the user does not say; 0 when no node size fits the
// count. Parts of racks and pods (domains above 16) can be rented, parts of boards of up to 16
// cannot.
std::int64_t default_per_node(const Device& device, std::int64_t count) {
  const std::int64_t domain = device.scale_up_domain;
  if (count <= domain) return device.scale_up_topology == Topology::Torus ? count : domain;
  if (count % domain == 0) return domain;
  for (std::int64_t part = domain; domain > 16 && part >= domain / 2; --part)
    if (count % part == 0) return part;
  return 0;
}

// Returns the largest divisor of n that is at most its square root (k = 2) or cube root (k = 3):
// the short side of the torus that is closest to a square or cube.
std::int64_t short_side(std::int64_t n, int k) {
  std::int64_t best = 1;
  for (std::int64_t side = 2; side * side * (k == 3 ? side : 1) <= n; ++side)
    if (n % side == 0) best = side;
  return best;
}

std::vector<int> squarest_torus(std::int64_t size, int dimensions) {
  std::vector<int> extents;
  for (; dimensions > 1; --dimensions) {
    extents.push_back(static_cast<int>(short_side(size, dimensions)));
    size /= extents.back();
  }
  extents.push_back(static_cast<int>(size));
  return extents;
}

std::int64_t product(const std::vector<int>& extents) {
  std::int64_t result = 1;
  for (const int extent : extents)
    result = extent > 0 && result <= kMostDevices ? result * extent : 0;
  return result;
}

std::string times(const std::vector<int>& extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

std::int64_t choose_per_node(const Device& device, std::int64_t count,
                             const ClusterOptions& options) {
  // A torus of all devices joins several pods to one (Kumar et al., "Exploring the Limits of
  // Concurrency in ML Training on Google TPUs", 2021: four pods of 1,024 as 128 x 32).
  if (!options.per_node && device.scale_up_topology == Topology::Torus && !options.torus.empty() &&
      product(options.torus) == count)
    return count;
  const std::int64_t size = options.per_node.value_or(default_per_node(device, count));
  if (options.per_node && size < 1)
    refuse(fmt::format("per-node must be at least 1, not {}", size));
  if (options.per_node && size > kMostDevices)
    refuse(fmt::format("per-node must be at most {}, not {}", kMostDevices, size));
  const std::int64_t wanted = size > 0 ? size : device.scale_up_domain;
  if (size > 0 && (count <= size || count % size == 0)) return size;
  refuse(fmt::format(
      "{} devices do not fill nodes of {}; write a count of {} or {}, or per-node= a divisor of {}",
      count, wanted, count / wanted * wanted, (count / wanted + 1) * wanted, count));
}

template <class T>
Sourced<T> given_or(const std::optional<T>& given, const Sourced<T>& usual) {
  return given ? Sourced<T>{*given, "given"} : usual;
}

Level node_level(const Device& device, std::int64_t per_node, const ClusterOptions& options) {
  Level level{.name = "node",
              .size = per_node,
              .bandwidth = given_or(options.intra, device.scale_up),
              .latency = given_or(options.intra_latency, device.scale_up_latency),
              .topology = device.scale_up_topology,
              .reduces = options.intra_reduce.value_or(switches_reduce(device))};
  if (level.topology == Topology::Torus)
    level.dimensions = squarest_torus(per_node, std::max(1, device.scale_up_dimensions));
  return level;
}

Level network_level(const Device& device, std::int64_t per_node, std::int64_t count,
                    const ClusterOptions& options) {
  Level level{.name = "network",
              .size = std::max(per_node, count),
              .bandwidth = device.network,
              .latency = given_or(options.inter_latency, device.network_latency),
              .topology = options.network.value_or(Topology::FatTree),
              .oversubscription = options.oversubscription.value_or(1.0),
              .reduces = options.inter_reduce.value_or(false),
              .port_buffer = options.port_buffer.value_or(Bytes{}),
              .port_marks = options.port_marks.value_or(Bytes{})};
  if (options.inter)
    level.bandwidth = {{options.inter->value / static_cast<double>(per_node)}, "given"};
  return level;
}

// Torus extents apply to the node where the links inside it are a torus, else to the network.
void apply_torus(Cluster& cluster, const std::vector<int>& extents) {
  if (extents.empty()) return;
  const bool inside = cluster.device.scale_up_topology == Topology::Torus;
  Level& level = cluster.levels[inside ? 0 : 1];
  const std::int64_t joined = inside ? level.size : level.size / cluster.levels[0].size;
  if (product(extents) != joined)
    refuse(fmt::format("torus={} joins {}, but there are {} {} to join", times(extents),
                       product(extents), joined, inside ? "devices in a node" : "nodes"));
  level.topology = Topology::Torus;
  level.dimensions = extents;
}

// A dragonfly's routers have equally many ports of devices, and its groups equally many links
// between each two.
void apply_dragonfly(Cluster& cluster, const std::vector<int>& parts) {
  if (parts.empty()) return;
  const std::int64_t groups = parts[0], routers = groups * parts[1];
  const std::int64_t links = std::int64_t{parts[1]} * parts[2];
  if (groups < 2) refuse(fmt::format("dragonfly={} has no second group", times(parts)));
  if (links % (groups - 1) != 0)
    refuse(
        fmt::format("dragonfly={} has {} links of a group for {} other groups, which is no whole "
                    "number for each",
                    times(parts), links, groups - 1));
  if (cluster.count % routers != 0)
    refuse(fmt::format("dragonfly={} has {} routers, to which {} devices do not divide evenly",
                       times(parts), routers, cluster.count));
  cluster.levels[1].topology = Topology::Dragonfly;
  cluster.levels[1].dimensions = parts;
}

void apply_cube_mesh(Cluster& cluster, std::optional<int> links) {
  if (!links) return;
  constexpr std::int64_t kCorners = 8;
  Level& node = cluster.levels[0];
  if (node.topology != Topology::Switch)
    refuse("cube-mesh wires devices that a " + std::string(to_string(node.topology)) +
           " joins already");
  if (node.size != kCorners || cluster.count < kCorners)
    refuse(fmt::format("cube-mesh wires the 8 devices of a node, and there are {}",
                       std::min(node.size, cluster.count)));
  node.topology = Topology::CubeMesh;
  node.dimensions = {*links};
}

void refuse_mixed_networks(const Device& device, const ClusterOptions& options) {
  const bool torus_network = !options.torus.empty() && device.scale_up_topology != Topology::Torus;
  if (torus_network && options.network)
    refuse(fmt::format("the network is either a torus or a {}, not both",
                       to_string(*options.network)));
  const bool dragonfly = !options.dragonfly.empty();
  if (dragonfly && (torus_network || options.network))
    refuse(fmt::format("the network is either a dragonfly or a {}, not both",
                       torus_network ? "torus" : to_string(*options.network)));
  if (dragonfly && options.oversubscription)
    refuse("oversubscription belongs to a fat-tree, and this network is a dragonfly");
  if (options.oversubscription && (torus_network || options.network == Topology::Rail))
    refuse("oversubscription belongs to a fat-tree, and this network is a " +
           std::string(torus_network ? "torus" : "rail"));
}

void refuse_seed_of_none(const Slowness& slow) {
  if (slow.seed == Slowness{}.seed || has_slow_devices(slow)) return;
  refuse(
      fmt::format("slow-seed={} draws which devices are slow, and none is; try slow=0.05 beside "
                  "it",
                  slow.seed));
}

// Options that equal the default are dropped, so that equal clusters have equal names and sources.
void drop_defaults(const Device& device, std::int64_t count, std::int64_t per_node,
                   ClusterOptions& options) {
  const auto drop = [](auto& given, const auto& usual) {
    if (given == usual) given.reset();
  };
  drop(options.per_node, default_per_node(device, count));
  drop(options.intra, device.scale_up.value);
  drop(options.inter, device.network.value * static_cast<double>(per_node));
  drop(options.intra_latency, device.scale_up_latency.value);
  drop(options.inter_latency, device.network_latency.value);
  drop(options.network, Topology::FatTree);
  drop(options.oversubscription, 1.0);
  drop(options.intra_reduce, switches_reduce(device));
  drop(options.inter_reduce, false);
  drop(options.memory, device.memory.value);
  drop(options.compression, device.compression.value);
  drop(options.bit_errors, device.bit_errors.value);
  drop(options.overhead, Site{}.overhead);
  if (device.price_low && device.price_high && device.price_low->value == device.price_high->value)
    drop(options.price, device.price_low->value);
  if (device.scale_up_topology == Topology::Torus &&
      options.torus == squarest_torus(per_node, std::max(1, device.scale_up_dimensions)))
    options.torus.clear();
}

void add(Diagnostics& found, std::string message) {
  Diagnostic wrong;
  wrong.message = std::move(message);
  found.push_back(std::move(wrong));
}

constexpr double kTera = 1e12;

void check_device(const Device& device, Diagnostics& found) {
  const auto wrong = [&](const std::string& message) { add(found, device.name + " " + message); };
  if (device.memory.value.value <= 0) wrong("needs memory above 0 bytes");
  if (!(device.memory_bandwidth.value.value > 0)) wrong("needs a memory bandwidth above 0");
  if (!(device.compression.value > 0) || device.compression.value > kMostCompression)
    wrong(fmt::format("needs a memory compression above 0 and at most {}", kMostCompression));
  if (!(device.bit_errors.value >= 0) || device.bit_errors.value > kMostBitErrors)
    wrong(fmt::format("needs memory bit errors of 0 to {}", kMostBitErrors));
  if (device.peaks.empty()) wrong("needs the peak of at least one number format");
  for (const Peak& peak : device.peaks)
    if (!(peak.rate.value.value > 0))
      wrong("needs a peak above 0 in " + std::string(to_string(peak.type)));
  if (!device.on_chip_memory) return;
  const auto operands = [](const Peak& peak) {
    return peak.rate.value.value / 2 * bytes_of(peak.type);
  };
  const auto most =
      std::max_element(device.peaks.begin(), device.peaks.end(),
                       [&](const Peak& a, const Peak& b) { return operands(a) < operands(b); });
  if (most != device.peaks.end() && device.memory_bandwidth.value.value < operands(*most))
    wrong(
        fmt::format("has its memory on the chip, which then delivers an operand for each "
                    "multiply-add: at its peak in {} at least {:.3g} TB/s, not {:.3g}",
                    to_string(most->type), operands(*most) / kTera,
                    device.memory_bandwidth.value.value / kTera));
}

void check_slowness(const Slowness& s, Diagnostics& found) {
  for (const auto& [name, value] : {std::pair{"slow", s.lasting}, {"jitter", s.jitter}})
    if (!(value >= 0 && value <= kMostSpread))
      add(found, fmt::format("{} is the spread of a logarithm, 0 to {}, not {}", name, kMostSpread,
                             value));
  for (const auto& [name, value] :
       {std::pair{"throttled", s.throttled}, {"slow-link", s.slow_link}})
    if (!(value >= 1 && value <= kMostThrottled))
      add(found, fmt::format("{} is 1 to {:g}, not {}", name, kMostThrottled, value));
}

void check_dragonfly(const Level& level, Diagnostics& found) {
  const std::vector<int>& parts = level.dimensions;
  const bool whole = parts.size() == 3 && parts[0] >= 2 && parts[1] >= 1 && parts[2] >= 1 &&
                     std::int64_t{parts[1]} * parts[2] % (parts[0] - 1) == 0 &&
                     level.size % (std::int64_t{parts[0]} * parts[1]) == 0;
  if (!whole)
    add(found,
        "level \"" + level.name +
            "\" is a dragonfly and needs groups, routers of a group and links of a router to "
            "other groups that divide evenly between them, and as many devices at each "
            "router");
}

void check_level(const Level& level, std::int64_t below, Diagnostics& found) {
  const auto wrong = [&](const std::string& message) {
    add(found, "level \"" + level.name + "\" " + message);
  };
  if (level.size < below || level.size % below != 0)
    wrong(fmt::format("joins {} devices, which is no multiple of the {} below it", level.size,
                      below));
  if (!(level.bandwidth.value.value > 0) || !std::isfinite(level.bandwidth.value.value))
    wrong("needs a bandwidth above 0");
  // More than any machine has, and little enough to be counted in whole bytes.
  constexpr double kMostBandwidth = 1e18;
  if (std::isfinite(level.bandwidth.value.value) && level.bandwidth.value.value > kMostBandwidth)
    wrong("needs a bandwidth of at most 1e18 bytes per second");
  if (level.latency.value < Duration{0}) wrong("needs a latency of at least 0");
  if (!(level.oversubscription >= 1) || !std::isfinite(level.oversubscription))
    wrong("needs an oversubscription of at least 1");
  if (level.port_buffer < Bytes{} || level.port_marks < Bytes{})
    wrong("needs a port's buffer and marks of at least 0 bytes");
  if (level.port_marks > Bytes{} && level.port_buffer == Bytes{})
    wrong("marks packets in the queue of a port, whose buffer must be given too (port-buffer)");
  const bool switched = level.topology != Topology::Torus && level.topology != Topology::Mesh &&
                        level.topology != Topology::CubeMesh;
  if (level.reduces && !switched) wrong("has no switches that could add up what passes them");
  if (level.port_buffer > Bytes{} && !switched)
    wrong("has no switches whose ports could overflow; leave port-buffer out");
  const bool parted = level.topology == Topology::Dragonfly || level.topology == Topology::CubeMesh;
  if (level.topology != Topology::Torus && !parted && !level.dimensions.empty())
    wrong("has torus extents but is no torus");
  if (level.topology == Topology::Dragonfly) check_dragonfly(level, found);
  if (level.topology == Topology::CubeMesh &&
      (below != 1 || level.size != 8 ||
       (level.dimensions != std::vector<int>{4} && level.dimensions != std::vector<int>{6})))
    wrong("is a cube mesh, which joins the 8 devices of a node by 4 or 6 links of each");
  if (level.topology == Topology::Torus && level.dimensions.size() > 3)
    wrong("has more than 3 torus dimensions");
  if (level.topology == Topology::Torus && product(level.dimensions) != level.size / below)
    wrong(fmt::format("is a torus of {}, which does not join {}", times(level.dimensions),
                      level.size / below));
}

}  // namespace

std::int64_t devices_per_node(const Cluster& cluster) {
  return std::min(cluster.levels.front().size, cluster.count);
}

std::int64_t nodes(const Cluster& cluster) {
  const std::int64_t size = cluster.levels.front().size;
  return (cluster.count + size - 1) / size;
}

std::size_t level_of(const Cluster& cluster, std::int64_t extent) {
  std::size_t level = 0;
  while (level + 1 < cluster.levels.size() && cluster.levels[level].size < extent) ++level;
  return level;
}

Diagnostics check(const Cluster& cluster) {
  Diagnostics found;
  check_device(cluster.device, found);
  if (cluster.count < 1 || cluster.count > kMostDevices)
    add(found, fmt::format("a cluster has 1 to {} devices, not {}", kMostDevices, cluster.count));
  if (!(cluster.site.overhead >= 1 && cluster.site.overhead <= kMostOverhead))
    add(found, fmt::format("the overhead of the building (PUE) is 1 to {:g}, not {:g}",
                           kMostOverhead, cluster.site.overhead));
  check_slowness(cluster.slowness, found);
  if (cluster.levels.empty()) {
    add(found, "a cluster needs at least one level of links");
    return found;
  }
  std::int64_t below = 1;
  for (const Level& level : cluster.levels) {
    check_level(level, below, found);
    below = std::max<std::int64_t>(1, level.size);
  }
  for (const Level& level : cluster.levels)
    if (level.port_buffer > Bytes{} && &level - cluster.levels.data() != 1)
      add(found, "level \"" + level.name +
                     "\" has a port-buffer, which is that of the ports between nodes, the second "
                     "level's");
  if (below < cluster.count)
    add(found,
        fmt::format("the top level joins {} devices, but there are {}", below, cluster.count));
  for (const DeviceKind& kind : cluster.mixed) check_device(kind.device, found);
  const Diagnostics of_kinds =
      check_device_kinds(cluster.device, cluster.count,
                         std::max<std::int64_t>(1, cluster.levels.front().size), cluster.mixed);
  found.insert(found.end(), of_kinds.begin(), of_kinds.end());
  return found;
}

Cluster make_cluster(const Device& device, std::int64_t count, ClusterOptions options) {
  if (count < 1 || count > kMostDevices)
    refuse(fmt::format("a cluster has 1 to {} devices, not {}", kMostDevices, count));
  const std::int64_t per_node = choose_per_node(device, count, options);
  refuse_mixed_networks(device, options);
  refuse_seed_of_none(options.slowness);
  drop_defaults(device, count, per_node, options);
  Cluster cluster{.name = canonical_name(device, count, options),
                  .device = device,
                  .count = count,
                  .levels = {}};
  if (options.host_memory) cluster.host_memory = {*options.host_memory, "given"};
  if (options.host_bandwidth) cluster.host_bandwidth = {*options.host_bandwidth, "given"};
  if (options.nvme) cluster.nvme = {*options.nvme, "given"};
  if (options.nvme_read) cluster.nvme_read = {*options.nvme_read, "given"};
  if (options.nvme_write) cluster.nvme_write = {*options.nvme_write, "given"};
  cluster.site = {options.region.value_or(""), options.overhead.value_or(Site{}.overhead)};
  cluster.device.memory = given_or(options.memory, device.memory);
  cluster.device.compression = given_or(options.compression, device.compression);
  cluster.device.bit_errors = given_or(options.bit_errors, device.bit_errors);
  if (options.price)
    cluster.device.price_low = cluster.device.price_high = {*options.price, "given"};
  cluster.mixed = options.mixed;
  cluster.slowness = options.slowness;
  cluster.levels = {node_level(device, per_node, options),
                    network_level(device, per_node, count, options)};
  apply_torus(cluster, options.torus);
  apply_dragonfly(cluster, options.dragonfly);
  apply_cube_mesh(cluster, options.cube_mesh);
  throw_if_errors(check(cluster));
  return cluster;
}

Cluster make_cluster(const Device& device, std::int64_t count) {
  return make_cluster(device, count, {});
}

}  // namespace trainyard
