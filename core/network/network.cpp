#include "core/network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/cluster/mixed.h"
#include "core/network/cube_mesh.h"

namespace trainyard {
namespace {

constexpr std::size_t kNoSection = SIZE_MAX;

double in_nanoseconds(BytesPerSecond rate) { return rate.value * 1e-9; }

std::uint64_t path_hash(std::uint64_t a, std::uint64_t b) { return Random(a).bits(b); }

// A name that a cluster's document gives to a level, as a part of a format.
std::string as_format(std::string_view name) {
  std::string text;
  for (const char c : name) text.append(c == '{' || c == '}' ? 2 : 1, c);
  return text;
}

}  // namespace

std::string_view to_string(NetworkRouting routing) {
  return routing == NetworkRouting::Spread ? "spread" : "hashed";
}

Network::Network(const Cluster& cluster, NetworkRouting routing)
    : cluster_(cluster), routing_(routing), node_(cluster.levels.front().size) {
  up_.assign(cluster.levels.size(), kNoSection);
  down_ = up_;
  torus_ = routers_ = kNoSection;
  add_inside();
  if (cluster.levels.size() > 1) add_between();
  if (is_mixed(cluster)) take_kinds();
}

void Network::add_inside() {
  const Level& node = cluster_.levels.front();
  const double own = in_nanoseconds(node.bandwidth.value);
  switch (node.topology) {
    case Topology::Mesh:
      inside_ = add("link of device {}, to place {} of its node", 0, 1, node_,
                    own / static_cast<double>(std::max<std::int64_t>(1, node_ - 1)));
      break;
    case Topology::Torus: {
      const auto ways = 2 * static_cast<std::int64_t>(node.dimensions.size());
      inside_ = add("link of device {} along way {}", 0, 1, ways, own / static_cast<double>(ways));
      break;
    }
    case Topology::CubeMesh:
      add_cube_mesh(node);
      break;
    default:
      inside_ = add("node link of device {}, out", 0, 1, 1, own);
      add("node link of device {}, in", 0, 1, 1, own);
  }
}

void Network::add_between() {
  const Level& network = cluster_.levels[1];
  const double port = in_nanoseconds(network.bandwidth.value);
  ports_ = add("port of device {}, out", 1, 1, 1, port);
  add("port of device {}, in", 1, 1, 1, port);
  if (network.topology == Topology::Torus) {
    const auto ways = 2 * static_cast<std::int64_t>(network.dimensions.size());
    torus_ = add("link of node {} along way {}", 1, node_, ways,
                 port * static_cast<double>(node_) / static_cast<double>(ways));
  }
  if (network.topology == Topology::Dragonfly) add_dragonfly(port);
  for (std::size_t l = 1; l < cluster_.levels.size(); ++l) {
    const Level& level = cluster_.levels[l];
    const std::int64_t below = cluster_.levels[l - 1].size;
    const bool narrow = level.topology == Topology::FatTree &&
                        (level.oversubscription > 1 || routing_ == NetworkRouting::Hashed);
    if (l == 1 && !narrow) continue;  // the leaves let through what the ports take
    const double width = in_nanoseconds(level.bandwidth.value) * static_cast<double>(below) /
                         std::max(1.0, level.oversubscription);
    const std::int64_t each =
        routing_ == NetworkRouting::Hashed
            ? std::max<std::int64_t>(
                  1, std::llround(static_cast<double>(below) / level.oversubscription))
            : 1;
    const std::string group = l == 1 ? "node" : as_format(cluster_.levels[l - 1].name);
    const std::string number = each > 1 ? " by path {}" : "";
    up_[l] = add(fmt::format("link up of {} {{}}{}", group, number), l, below, each,
                 width / static_cast<double>(each));
    down_[l] = add(fmt::format("link down to {} {{}}{}", group, number), l, below, each,
                   width / static_cast<double>(each));
  }
}

// Places of a node that no link joins keep a number that no route has.
void Network::add_cube_mesh(const Level& node) {
  const int links = node.dimensions.front();
  const double one = in_nanoseconds(node.bandwidth.value) / links;
  inside_ = add("link of device {}, to place {} of its node", 0, 1, node_, one);
  for (std::int64_t device = 0; device < cluster_.count; ++device)
    for (std::int64_t to = 0; to < node_; ++to)
      if (const int pair = cube_mesh_links(device % node_, to, links); pair > 0)
        capacities_[link(inside_, device, to)] = one * pair;
}

void Network::add_dragonfly(double port) {
  const std::vector<int>& parts = cluster_.levels[1].dimensions;
  dragonfly_ = {parts[0], parts[1], parts[2]};
  const std::int64_t each = cluster_.count / dragonfly_.all_routers();
  routers_ = add("link of router {}, to place {} of its group", 1, each, dragonfly_.routers, port);
  add("link of router {} to another group by place {}", 1, each, dragonfly_.links, port);
}

// A direct link has the rate of the slower of its ends, and a router those of its fastest port.
void Network::take_kinds() {
  const KindClusters own(cluster_);
  const std::size_t levels = std::min<std::size_t>(2, cluster_.levels.size());
  std::vector<std::vector<double>> rates(levels);  // of the first kind's, by level and kind
  for (std::size_t l = 0; l < levels; ++l)
    for (std::size_t kind = 0; kind < own.size(); ++kind)
      rates[l].push_back(own[kind].levels[l].bandwidth.value.value /
                         cluster_.levels[l].bandwidth.value.value);
  for (std::size_t at = 0; at < sections_.size(); ++at) {
    const Section& s = sections_[at];
    if (s.level >= levels) continue;
    const std::vector<double>& rate = rates[s.level];
    const auto of = [&](std::int64_t device) { return rate[kind_of_device(cluster_, device)]; };
    const bool router = routers_ != kNoSection && at >= routers_ && at <= routers_ + 1;
    const std::int64_t owners = (cluster_.count + s.size - 1) / s.size;
    for (std::int64_t link = 0; link < owners * s.each; ++link) {
      const std::int64_t device = link / s.each * s.size;
      const double slower = router ? *std::max_element(rate.begin(), rate.end())
                                   : std::min(of(device), of(other_end(at, device, link % s.each)));
      capacities_[s.first + static_cast<std::size_t>(link)] *= slower;
    }
  }
}

std::int64_t Network::other_end(std::size_t section, std::int64_t device,
                                std::int64_t place) const {
  const Topology node = cluster_.levels.front().topology;
  const bool inside = section == inside_;
  if (inside && (node == Topology::Mesh || node == Topology::CubeMesh))
    return device / node_ * node_ + place;
  if (section != torus_ && !(inside && node == Topology::Torus)) return device;
  const std::vector<int>& extents = cluster_.levels[inside ? 0 : 1].dimensions;
  const std::int64_t size = sections_[section].size, vertex = device / size;
  std::int64_t stride = 1;
  for (std::int64_t d = 0; d < place / 2; ++d) stride *= extents[static_cast<std::size_t>(d)];
  const std::int64_t extent = extents[static_cast<std::size_t>(place / 2)],
                     here = vertex / stride % extent,
                     next = (here + (place % 2 == 0 ? 1 : extent - 1)) % extent;
  return (vertex + (next - here) * stride) * size;
}

std::size_t Network::add(std::string what, std::size_t level, std::int64_t size, std::int64_t each,
                         double capacity) {
  const std::int64_t owners = (cluster_.count + size - 1) / size;
  sections_.push_back(
      {std::move(what), level, static_cast<std::uint32_t>(capacities_.size()), each, size});
  capacities_.insert(capacities_.end(), static_cast<std::size_t>(owners * each), capacity);
  return sections_.size() - 1;
}

const Network::Section& Network::section_of(std::uint32_t link) const {
  std::size_t s = sections_.size() - 1;
  while (sections_[s].first > link) --s;
  return sections_[s];
}

std::size_t Network::level(std::uint32_t link) const { return section_of(link).level; }

std::string Network::name(std::uint32_t link) const {
  const Section& s = section_of(link);
  const std::int64_t place = std::int64_t{link} - s.first;
  return fmt::format(fmt::runtime(s.what), place / s.each, place % s.each);
}

std::uint32_t Network::link(std::size_t section, std::int64_t device, std::int64_t place) const {
  const Section& s = sections_[section];
  return static_cast<std::uint32_t>(s.first + device / s.size * s.each + place);
}

// Along one dimension after the other, each the shorter way round; both where they are equal.
void Network::route_torus(std::size_t section, const std::vector<int>& extents, std::int64_t size,
                          std::int64_t from, std::int64_t to, std::vector<FlowLink>& path) const {
  const std::int64_t base = from / size;  // of the first vertex, counted in vertices
  std::int64_t whole = 1;
  for (const int e : extents) whole *= e;
  const std::int64_t first = base / whole * whole, target = to / size - first;
  std::int64_t at = base - first, stride = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::int64_t extent = extents[d], here = at / stride % extent,
                       there = target / stride % extent;
    const std::int64_t ahead = (there - here + extent) % extent;
    const bool both = 2 * ahead == extent;
    const auto walk = [&](std::int64_t hops, std::int64_t way, double part) {
      std::int64_t place = here;
      for (; hops > 0; --hops) {
        const std::int64_t vertex = at + (place - here) * stride;
        path.push_back({link(section, (first + vertex) * size,
                             2 * static_cast<std::int64_t>(d) + (way > 0 ? 0 : 1)),
                        part});
        place = (place + way + extent) % extent;
      }
    };
    if (both || 2 * ahead < extent) walk(ahead, 1, both ? 0.5 : 1);
    if (both || 2 * ahead > extent) walk(extent - ahead, -1, both ? 0.5 : 1);
    at += (there - here) * stride;
    stride *= extent;
  }
}

void Network::route_cube_mesh(std::int64_t from, std::int64_t to,
                              std::vector<FlowLink>& path) const {
  const int links = cluster_.levels.front().dimensions.front();
  const std::int64_t a = from % node_, b = to % node_;
  if (cube_mesh_links(a, b, links) > 0) {
    path.push_back({link(inside_, from, b), 1});
    return;
  }
  const std::vector<std::int64_t> between = cube_mesh_between(a, b, links);
  for (const std::int64_t place : between) {
    const double part = 1.0 / static_cast<double>(between.size());
    path.push_back({link(inside_, from, place), part});
    path.push_back({link(inside_, from - a + place, b), part});
  }
}

// To the router that has the link, over it, and from where it ends to the router of the device.
void Network::route_dragonfly(std::int64_t from, std::int64_t to, std::uint64_t hash,
                              std::vector<FlowLink>& path) const {
  const std::int64_t each = sections_[routers_].size, here = from / each, there = to / each;
  const auto within = [&](std::int64_t a, std::int64_t b, double part) {
    if (a != b) path.push_back({link(routers_, a * each, b % dragonfly_.routers), part});
  };
  const std::int64_t from_group = here / dragonfly_.routers, to_group = there / dragonfly_.routers;
  if (from_group == to_group) return within(here, there, 1);
  const std::int64_t ways = dragonfly_.between_groups();
  const auto cross = [&](std::int64_t which, double part) {
    const DragonflyPort out = dragonfly_port(dragonfly_, from_group, to_group, which),
                        in = dragonfly_port(dragonfly_, to_group, from_group, which);
    within(here, out.router, part);
    path.push_back({link(routers_ + 1, out.router * each, out.link), part});
    within(in.router, there, part);
  };
  if (routing_ == NetworkRouting::Hashed)
    return cross(static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(ways)), 1);
  for (std::int64_t which = 0; which < ways; ++which) cross(which, 1 / static_cast<double>(ways));
}

void Network::route_inside(std::int64_t from, std::int64_t to, std::vector<FlowLink>& path) const {
  if (from == to) return;
  const Level& node = cluster_.levels.front();
  if (node.topology == Topology::Mesh)
    path.push_back({link(inside_, from, to % node_), 1});
  else if (node.topology == Topology::Torus)
    route_torus(inside_, node.dimensions, 1, from, to, path);
  else if (node.topology == Topology::CubeMesh)
    route_cube_mesh(from, to, path);
  else {
    path.push_back({link(inside_, from), 1});
    path.push_back({link(inside_ + 1, to), 1});
  }
}

void Network::climb(std::size_t section, std::int64_t device, std::uint64_t hash,
                    std::vector<FlowLink>& path) const {
  if (section == kNoSection) return;
  const auto each = static_cast<std::uint64_t>(sections_[section].each);
  path.push_back({link(section, device, static_cast<std::int64_t>(hash % each)), 1});
}

void Network::route(std::int64_t from, std::int64_t to, std::uint64_t job,
                    std::vector<FlowLink>& path) const {
  if (from / node_ == to / node_ || cluster_.levels.size() < 2) return route_inside(from, to, path);
  std::size_t top = 1;
  while (top + 1 < cluster_.levels.size() &&
         from / cluster_.levels[top].size != to / cluster_.levels[top].size)
    ++top;
  // The path up is chosen, and the one down leads from the switch that it has reached.
  const std::uint64_t hash =
      path_hash(path_hash(job, static_cast<std::uint64_t>(from)), static_cast<std::uint64_t>(to));
  if (cluster_.levels[1].topology == Topology::Rail) {
    const std::int64_t across = from / node_ * node_ + to % node_;
    route_inside(from, across, path);
    from = across;
  }
  path.push_back({link(ports_, from), 1});
  for (std::size_t l = 1; l <= top; ++l) climb(up_[l], from, hash, path);
  if (torus_ != kNoSection && top == 1)
    route_torus(torus_, cluster_.levels[1].dimensions, node_, from, to, path);
  if (routers_ != kNoSection && top == 1) route_dragonfly(from, to, hash, path);
  for (std::size_t l = top; l >= 1; --l) climb(down_[l], to, hash, path);
  path.push_back({link(ports_ + 1, to), 1});
}

// The streams of nodes below one switch have become one sum there, of which each has a part.
void Network::climb_trees(const std::vector<std::size_t>& sections, std::int64_t device,
                          const Trees& trees, std::vector<FlowLink>& path) const {
  const auto place = static_cast<std::uint64_t>(device % node_);
  for (std::size_t l = 1; l <= trees.level; ++l) {
    const std::int64_t nodes_below = cluster_.levels[l - 1].size / node_;
    for (std::int64_t tree = 0; tree < trees.count && sections[l] != kNoSection; ++tree) {
      climb(sections[l], device,
            path_hash(path_hash(trees.job, place), static_cast<std::uint64_t>(tree)), path);
      path.back().flows = 1 / static_cast<double>(trees.count * nodes_below);
    }
  }
}

void Network::to_switch(std::int64_t device, const Trees& trees,
                        std::vector<FlowLink>& path) const {
  if (trees.level == 0 || cluster_.levels.size() < 2) {
    if (cluster_.levels.front().topology == Topology::Switch)
      path.push_back({link(inside_, device), 1});
    return;
  }
  path.push_back({link(ports_, device), 1});
  climb_trees(up_, device, trees, path);
}

void Network::from_switch(std::int64_t device, const Trees& trees,
                          std::vector<FlowLink>& path) const {
  if (trees.level == 0 || cluster_.levels.size() < 2) {
    if (cluster_.levels.front().topology == Topology::Switch)
      path.push_back({link(inside_ + 1, device), 1});
    return;
  }
  climb_trees(down_, device, trees, path);
  path.push_back({link(ports_ + 1, device), 1});
}

}  // namespace trainyard
