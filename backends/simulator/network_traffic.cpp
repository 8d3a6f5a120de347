#include "backends/simulator/network_traffic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/random.h"
#include "core/cluster/mixed.h"
#include "core/network/collective_phases.h"
#include "core/network/cube_mesh.h"
#include "core/network/flow_engine.h"
#include "core/network/incast.h"
#include "core/network/shared_cluster.h"
#include "core/network/switch_slots.h"
#include "core/plan/mesh.h"
#include "core/plan/mesh_axes.h"
#include "core/plan/stage_kinds.h"

namespace trainyard {
namespace {

constexpr std::uint32_t kNoTransfer = UINT32_MAX;

/// Messages between devices that are under way at once; < 0: the switch of a level.
struct DevicePhase {
  int rounds = 1;
  std::size_t level = 0;
  std::vector<Message> messages;
};
using DevicePhases = std::vector<DevicePhase>;

double share(CollectiveKind kind, std::int64_t p) {
  const bool twice = kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast;
  return (twice ? 2.0 : 1.0) * static_cast<double>(p - 1) / static_cast<double>(p);
}

// In a torus the members along each dimension form rings, both ways round, and all dimensions carry
// their parts at once.
DevicePhase torus_phase(CollectiveKind kind, const std::vector<std::int64_t>& members,
                        const std::vector<int>& extents, std::int64_t size) {
  DevicePhase phase;
  std::map<std::int64_t, std::int64_t> at;  // member by vertex
  for (const std::int64_t device : members) at.emplace(device / size, device);
  std::int64_t stride = 1, spanned = 0;
  for (const int extent : extents) {
    bool used = false;
    for (const auto& [vertex, device] : at) {
      const std::int64_t here = vertex / stride % extent, base = vertex - here * stride;
      for (const int way : {1, -1})
        for (std::int64_t hop = 1; hop < extent; ++hop) {
          const std::int64_t place = (here + way * hop + extent) % extent;
          const auto next = at.find(base + place * stride);
          if (next == at.end()) continue;
          phase.messages.push_back({device, next->second, 0.5});
          used = true;
          break;
        }
    }
    spanned += used ? 1 : 0;
    stride *= extent;
  }
  const double each = share(kind, static_cast<std::int64_t>(members.size())) /
                      static_cast<double>(std::max<std::int64_t>(1, spanned));
  for (Message& m : phase.messages) m.share *= each;
  return phase;
}

/// A Pattern is a set of transfers that begin together: of one pipeline rank or between two.
struct PatternKey {
  std::int64_t from = 0, to = -1;  // pipeline ranks; to < 0: a collective of the first
  Group group = Group::Data;
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  bool send = false;
  double slots = 1;  // share of links that the slots of switches carry, in (0, 1]; the rest of the
                     // bytes goes around a ring that takes `ring` times as long
  double ring = 1;
  friend auto operator<=>(const PatternKey&, const PatternKey&) = default;
};

class Placer {
 public:
  Placer(const Program& program, const Mesh& mesh, const Cluster& cluster)
      : mesh_(mesh), cluster_(cluster), shard_(program.shard) {
    const MeshAxes stages = group_axes(mesh, Group::Pipeline);
    if (!stages.empty()) stride_ = stages.front().stride;
    ranks_ = std::max<std::int64_t>(1, mesh.pp);
    for (std::int64_t device = 0; device < cluster.count; ++device)
      if (device / stride_ % ranks_ == 0) first_rank_.push_back(device);
  }

  DevicePhases phases(const PatternKey& key) const {
    if (key.send) {
      DevicePhase phase;
      for (const std::int64_t device : first_rank_)
        phase.messages.push_back({device + key.from * stride_, device + key.to * stride_, 1});
      return {phase};
    }
    if (!(key.slots < 1)) return key.to >= 0 ? between_copies(key) : within_rank(key);
    return beside_ring(key);
  }

 private:
  // The parts that the switches add up and that go around the ring move at once, in pieces.
  DevicePhases beside_ring(PatternKey key) const {
    const double part = share_in_switches(key.slots, key.ring);
    key.slots = 1;
    const DevicePhases added = phases(key);
    key.algorithm = CollectiveAlgorithm::Ring;
    DevicePhase all{0, added.front().level, {}};
    const auto take = [&](const DevicePhases& some, double of) {
      for (const DevicePhase& phase : some) {
        all.rounds += phase.rounds;
        for (const Message& m : phase.messages)
          all.messages.push_back({m.from, m.to, m.share * of});
      }
    };
    take(added, part), take(phases(key), 1 - part);
    return {std::move(all)};
  }

  DevicePhases between_copies(const PatternKey& key) const {
    DevicePhases made;
    for (const std::int64_t device : first_rank_)
      add(made, key, {device + key.from * stride_, device + key.to * stride_}, 1);
    return made;
  }

  DevicePhases within_rank(const PatternKey& key) const {
    const MeshAxes axes = group_axes(mesh_, key.group, shard_);
    const std::int64_t size = ranks(mesh_, key.group, shard_);
    const GroupShape shape = group_shape(mesh_, key.group, cluster_, shard_);
    DevicePhases made;
    for (const std::int64_t first : first_rank_) {
      const std::int64_t device = first + key.from * stride_;
      if (place_in(axes, device) != 0) continue;
      std::vector<std::int64_t> members;
      for (std::int64_t place = 0; place < size; ++place)
        members.push_back(member(axes, device, place));
      add(made, key, members, std::clamp<std::int64_t>(shape.per_node, 1, size));
    }
    return made;
  }

  // The phases of one group beside those of the others.
  void add(DevicePhases& made, const PatternKey& key, const std::vector<std::int64_t>& members,
           std::int64_t per_node) const {
    const std::size_t top = level_of(cluster_, members.back() - members.front() + 1);
    if (key.algorithm == CollectiveAlgorithm::Torus) {
      const bool inside = cluster_.levels.front().topology == Topology::Torus;
      const Level& level = cluster_.levels[inside ? 0 : 1];
      join(made, 0,
           torus_phase(key.kind, members, level.dimensions,
                       inside ? 1 : cluster_.levels.front().size));
      return;
    }
    const auto size = static_cast<std::int64_t>(members.size());
    const bool mesh = per_node == size && cluster_.levels.front().topology == Topology::Mesh;
    const bool rings = per_node == size && size == kCubeMeshDevices &&
                       key.algorithm == CollectiveAlgorithm::Ring &&
                       key.kind != CollectiveKind::AllToAll &&
                       cluster_.levels.front().topology == Topology::CubeMesh;
    const std::vector<MessagePhase> phases =
        mesh    ? exchange(key.kind, size)
        : rings ? cube_rings(key.kind)
                : collective_phases(key.kind, key.algorithm, {size, per_node});
    for (std::size_t i = 0; i < phases.size(); ++i) {
      DevicePhase phase{phases[i].rounds, top, phases[i].messages};
      for (Message& m : phase.messages) {
        if (m.from >= 0) m.from = members[static_cast<std::size_t>(m.from)];
        if (m.to >= 0) m.to = members[static_cast<std::size_t>(m.to)];
      }
      join(made, i, std::move(phase));
    }
  }

  // Where every two members have a link of their own, rings are built so that all links carry as
  // much: every member sends an equal part to each other.
  static std::vector<MessagePhase> exchange(CollectiveKind kind, std::int64_t p) {
    std::vector<MessagePhase> made =
        collective_phases(CollectiveKind::AllToAll, CollectiveAlgorithm::Pairwise, {p, p});
    const double whole = static_cast<double>(p - 1) / static_cast<double>(p);
    for (MessagePhase& phase : made)
      for (Message& m : phase.messages) m.share *= share(kind, p) / whole;
    return made;
  }

  // The rings of a cube mesh carry equal parts, both ways round.
  std::vector<MessagePhase> cube_rings(CollectiveKind kind) const {
    const auto rings = cube_mesh_rings(cluster_.levels.front().dimensions.front());
    const double each = share(kind, kCubeMeshDevices) / (2 * static_cast<double>(rings.size()));
    MessagePhase phase;
    for (const CubeMeshRing& ring : rings)
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const std::int64_t a = ring[i], b = ring[(i + 1) % ring.size()];
        phase.messages.push_back({a, b, each});
        phase.messages.push_back({b, a, each});
      }
    return {std::move(phase)};
  }

  static void join(DevicePhases& made, std::size_t at, DevicePhase phase) {
    if (made.size() <= at) {
      made.push_back(std::move(phase));
      return;
    }
    std::vector<Message>& all = made[at].messages;
    all.insert(all.end(), phase.messages.begin(), phase.messages.end());
  }

  const Mesh& mesh_;
  const Cluster& cluster_;
  std::int64_t shard_ = 1, stride_ = 1, ranks_ = 1;
  std::vector<std::int64_t> first_rank_;  // devices of pipeline rank 0
};

void place(const DevicePhase& phase, std::uint32_t pattern, std::uint64_t job, std::int64_t trees,
           const Network& network, PlacedFlows& placed) {
  const Network::Trees sum{phase.level, trees, job};
  for (const Message& m : phase.messages) {
    const auto first = static_cast<std::uint32_t>(placed.paths.size());
    if (m.from < 0)
      network.from_switch(m.to, sum, placed.paths);
    else if (m.to < 0)
      network.to_switch(m.from, sum, placed.paths);
    else
      network.route(m.from, m.to, job, placed.paths);
    const auto count = static_cast<std::uint32_t>(placed.paths.size()) - first;
    if (count > 0) placed.flows.push_back({pattern, m.share, first, count});
  }
}

// The port at which most senders of a phase meet, and what passes it, as a share of the
// collective's bytes.
struct MeetingPort {
  std::uint32_t link = 0;
  std::int64_t links = 0;  // at which as many meet
  std::int64_t senders = 0;
  double share = 0;
};

// Senders are ports too: in a rail network a node's devices send through the one of the receiver's
// index.
MeetingPort meeting_port(const DevicePhase& phase, const Network& network) {
  std::map<std::uint32_t, std::map<std::uint32_t, double>> meeting;  // by port in, then port out
  std::vector<FlowLink> path;
  for (const Message& m : phase.messages) {
    if (m.from < 0 || m.to < 0) continue;
    path.clear();
    network.route(m.from, m.to, 0, path);
    const auto outside = [&](const FlowLink& over) { return network.level(over.link) > 0; };
    const auto out = std::find_if(path.begin(), path.end(), outside);
    const auto in = std::find_if(path.rbegin(), path.rend(), outside);
    if (out != path.end() && out->link != in->link) meeting[in->link][out->link] += m.share;
  }
  MeetingPort most;
  for (const auto& [link, senders] : meeting) {
    const auto count = static_cast<std::int64_t>(senders.size());
    if (count == most.senders) ++most.links;
    if (count <= most.senders) continue;
    most = {link, 1, count, 0};
    for (const auto& [from, share_of_one] : senders) most.share += share_of_one;
  }
  return most;
}

// Large bursts are followed in larger packets, so that they are ten million at most.
using KnownDelays = std::map<std::pair<std::int64_t, std::int64_t>, IncastDelay>;
TransferBurst burst_at(const MeetingPort& port, Bytes bytes, const Level& level,
                       KnownDelays& known) {
  constexpr double kMostPackets = 1e7, kMostExchanges = 20;
  TransferBurst burst{port.link, port.links, port.senders, {}, 0, 0};
  IncastQuestion q;
  const double all = static_cast<double>(bytes.value) * port.share;
  q.senders = std::min<std::int64_t>(port.senders, 4'096);
  q.block = Bytes{std::llround(std::max(1.0, all / static_cast<double>(q.senders)))};
  q.packet =
      Bytes{std::max<std::int64_t>(q.packet.value, std::llround(std::ceil(all / kMostPackets)))};
  q.exchanges = static_cast<std::int64_t>(
      std::clamp(kMostPackets * static_cast<double>(q.packet.value) / std::max(1.0, all), 1.0,
                 kMostExchanges));
  q.link = level.bandwidth.value;
  q.buffer = std::min<std::int64_t>(level.port_buffer.value / q.packet.value, 1'000'000'000);
  q.threshold = std::min<std::int64_t>(level.port_marks.value / q.packet.value, 1'000'000'000);
  q.round_trip = std::max(Duration{1}, level.latency.value * 2);
  q.timeout = std::max(q.timeout, q.round_trip);
  const auto [at, is_new] = known.try_emplace({q.senders, q.block.value}, IncastDelay{});
  if (is_new) at->second = incast_delay(q, level.port_marks > Bytes{});
  const IncastDelay& delay = at->second;
  burst.block = q.block;
  burst.delay = static_cast<double>(delay.time.count()), burst.timeouts = delay.timeouts;
  return burst;
}

std::vector<double> capacities_of(const FlowClasses& classes) {
  std::vector<double> capacities;
  for (const LinkClass& link : classes.links) capacities.push_back(link.capacity);
  return capacities;
}

// The network as which transfers are priced: what is narrower than that makes them longer.
Cluster as_priced(Cluster cluster) {
  for (Level& level : cluster.levels) {
    const bool node = level.topology == Topology::CubeMesh;
    if (!node && level.topology != Topology::Dragonfly) continue;
    level.topology = node ? Topology::Switch : Topology::FatTree;
    level.dimensions.clear();
  }
  return cluster;
}

// Nanoseconds of a pattern's flows on an idle network; their first rates go to `rates`.
double alone(const FlowClasses& classes, std::uint32_t pattern, std::vector<double>* rates) {
  FlowEngine engine(capacities_of(classes));
  const std::uint32_t first = classes.first_of[pattern], end = classes.first_of[pattern + 1];
  for (std::uint32_t f = first; f < end; ++f)
    engine.start({classes.flows[f].path, classes.flows[f].bytes}, 0);
  double last = 0;
  std::optional<double> next = engine.next();
  for (std::uint32_t f = first; rates != nullptr && f < end; ++f)
    (*rates)[f] = engine.rate(f - first);
  for (; next; next = engine.next()) engine.finish(last = *next);
  return last;
}

// The part of a time that grows with the bytes, as a share of it.
double wire_share(Duration once, Duration twice) {
  if (once.count() <= 0) return 0;
  return std::clamp(static_cast<double>((twice - once).count()) / static_cast<double>(once.count()),
                    0.0, 1.0);
}

// Where switches have no slots for all that the links carry, the rest goes around the ring of a
// cluster whose switches do not add up. All devices of a node send through one switch, but those of
// a rail network each through one of their own.
struct AggregatingSwitches {
  double share = 1;  // of links that slots carry
  Cluster without;   // where share < 1
};
AggregatingSwitches aggregating(const Cluster& cluster, std::int64_t slots) {
  if (slots < 0 || cluster.levels.size() < 2) return {};
  const SharedClusterQuestion usual;  // for its packets and round trip
  const Level& network = cluster.levels[1];
  const auto streams =
      network.topology == Topology::Rail ? 1.0 : static_cast<double>(cluster.levels[0].size);
  AggregatingSwitches made{share_of_slots(static_cast<double>(slots), usual.packet,
                                          usual.round_trip, streams, network.bandwidth.value),
                           cluster};
  for (std::size_t l = 1; l < made.without.levels.size(); ++l)
    made.without.levels[l].reduces = false;
  return made;
}

constexpr std::uint64_t kTenantJob = 0x7e4a47;

// Each device of other jobs sends to the one of equal place in another node; the nodes are paired
// by a shift that the seed draws. The share of a message is its rate, in bytes per nanosecond: that
// of the slower port.
DevicePhase tenant_phase(const Cluster& cluster, const NetworkOptions& options) {
  DevicePhase phase;
  const KindClusters own(cluster);
  const auto rate = [&](std::int64_t device) {
    const Cluster& of = own[kind_of_device(cluster, device)];
    return options.tenants * of.levels[1].bandwidth.value.value * 1e-9;
  };
  const std::int64_t node = cluster.levels.front().size, count = nodes(cluster);
  const std::int64_t shift = Random(options.seed).between(0, 1, count - 1);
  for (std::int64_t device = 0; device < cluster.count; ++device) {
    const std::int64_t to = (device / node + shift) % count * node + device % node;
    phase.messages.push_back({device, to, std::min(rate(device), rate(to))});
  }
  return phase;
}

}  // namespace

std::vector<double> NetworkTraffic::capacities() const { return capacities_of(classes_); }

const std::vector<TransferPhase>* NetworkTraffic::phases(std::uint32_t instruction) const {
  const std::uint32_t t = transfer_of_[instruction];
  return t == kNoTransfer ? nullptr : &transfers_[t];
}

NetworkTraffic::NetworkTraffic(const Program& program, const TaskPrices& prices, const Mesh& mesh,
                               const Cluster& cluster, const CostModel& cost,
                               const NetworkOptions& options)
    : network_(cluster, options.routing), bins_(options.bins) {
  const Placer placer(program, mesh, cluster);
  const Cluster priced = as_priced(cluster);
  const Network spread(priced);
  // Where the links are not those of the price, the price is of flows over its own.
  const bool apart = options.routing == NetworkRouting::Hashed || !(priced == cluster);
  PlacedFlows placed, ideal;
  struct Numbered {
    std::uint32_t first;
    std::vector<int> rounds;
    std::vector<MeetingPort> ports;  // by phase; empty where no switch loses anything
  };
  std::map<PatternKey, Numbered> patterns;
  using TransferKey = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;  // task, ranks
  std::map<TransferKey, std::uint32_t> transfers;
  struct Wanted {
    Numbered pattern;
    double time;
    double wire;
    Bytes bytes;
    std::size_t kind;
    double exchanges;
  };
  std::vector<Wanted> wanted;
  const KindClusters kinds(cluster);
  const auto kind_of = [&](std::int64_t rank) {
    return kind_of_rank(cluster, mesh, DeviceId{static_cast<std::uint32_t>(rank)});
  };
  std::vector<AggregatingSwitches> switches;  // by kind
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    switches.push_back(aggregating(kinds[kind], options.slots));
  const bool buffered = cluster.levels.size() > 1 && cluster.levels[1].port_buffer > Bytes{};
  const std::size_t pipeline = program.devices > 1 ? pipeline_level(mesh, cluster) : 0;
  transfer_of_.assign(program.instructions.size(), kNoTransfer);
  std::vector<std::int64_t> rank_of(program.instructions.size(), 0);
  for (const Stream& stream : program.streams)
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
      rank_of[i] = stream.device.value;
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    const Task& task = program.task(instruction);
    if (task.kind != TaskKind::Collective && task.kind != TaskKind::Send) continue;
    const bool send = task.kind == TaskKind::Send;
    const std::int64_t from = rank_of[i],
                       to = instruction.peer.valid() ? rank_of[instruction.peer.value] : -1;
    const auto [known, fresh] = transfers.try_emplace(TransferKey{instruction.task.value, from, to},
                                                      static_cast<std::uint32_t>(wanted.size()));
    transfer_of_[i] = known->second;
    if (!fresh) continue;
    PatternKey key{.from = from, .to = to, .send = send};
    double wire = 0, longer = 1;
    if (send) {
      // A message is as fast as the slower of its two ends.
      const auto sent = [&](std::int64_t rank, int times) {
        return cost.transfer(task.bytes * times, kinds[kind_of(rank)], pipeline);
      };
      const std::int64_t slower = to >= 0 && sent(to, 1) > sent(from, 1) ? to : from;
      wire = wire_share(sent(slower, 1), sent(slower, 2));
    } else {
      const GroupShape shape = group_shape(mesh, task.group, cluster, program.shard);
      const AggregatingSwitches& slots = switches[kind_of(from)];
      const Cluster* own = &kinds[kind_of(from)];
      const auto once = [&] { return cost.collective(task.collective, task.bytes, shape, *own); };
      CollectiveTime time = once();
      if (slots.share < 1 && shape.ranks > shape.per_node && time.time > Duration{} &&
          time.algorithm == CollectiveAlgorithm::InNetwork) {
        const auto added = static_cast<double>(time.time.count());
        const Cluster* const whole = std::exchange(own, &slots.without);
        const CollectiveTime around = once();
        key.slots = slots.share, key.ring = static_cast<double>(around.time.count()) / added;
        longer = longer_than_in_switches(key.slots, key.ring);
        if (slots.share > 0)
          own = whole;
        else
          time = around, key.slots = key.ring = 1;
      }
      key.group = task.group, key.kind = task.collective, key.algorithm = time.algorithm;
      wire =
          wire_share(time.time, cost.collective(task.collective, task.bytes * 2, shape, *own).time);
    }
    const auto [pattern, made] = patterns.try_emplace(key, Numbered{placed.patterns, {}, {}});
    if (made)
      for (const DevicePhase& phase : placer.phases(key)) {
        pattern->second.rounds.push_back(phase.rounds);
        if (buffered && !send && key.kind == CollectiveKind::AllToAll)
          pattern->second.ports.push_back(meeting_port(phase, network_));
        place(phase, placed.patterns, placed.patterns, options.trees, network_, placed);
        if (apart) place(phase, placed.patterns, 0, 1, spread, ideal);
        ++placed.patterns;
      }
    const double time = longer * static_cast<double>(prices.time[instruction.task.value].count());
    wanted.push_back({pattern->second, time, wire, task.bytes, kind_of(from),
                      static_cast<double>(task.repeats) / static_cast<double>(task.every)});
  }
  ideal.patterns = placed.patterns;
  if (options.tenants > 0 && nodes(cluster) > 1) {
    tenants_ = placed.patterns++;
    place(tenant_phase(cluster, options), tenants_, kTenantJob, 1, network_, placed);
  }
  classes_ = flow_classes(placed, network_.capacities());
  rates_.assign(classes_.flows.size(), 0.0);
  const FlowClasses of_ideal = apart ? flow_classes(ideal, spread.capacities()) : FlowClasses{};
  std::vector<double> lengths;  // by pattern
  for (std::uint32_t p = 0; p < ideal.patterns; ++p) {
    const double here = alone(classes_, p, &rates_);
    lengths.push_back(apart ? alone(of_ideal, p, nullptr) : here);
  }
  std::vector<KnownDelays> delays(kinds.size());
  for (const Wanted& w : wanted) {
    double length = 0, rounds = 0;
    for (std::size_t k = 0; k < w.pattern.rounds.size(); ++k)
      length += lengths[w.pattern.first + k], rounds += w.pattern.rounds[k];
    const double time = w.time, flowing = length > 0 ? time * w.wire : 0;
    std::vector<TransferPhase> phases;
    for (std::size_t k = 0; k < w.pattern.rounds.size(); ++k) {
      const auto pattern = w.pattern.first + static_cast<std::uint32_t>(k);
      const double scale = length > 0 ? flowing / length : 0;
      phases.push_back({(time - flowing) * w.pattern.rounds[k] / rounds, pattern,
                        lengths[pattern] * scale, scale});
      if (w.pattern.ports.empty() || w.pattern.ports[k].senders < 2) continue;
      TransferBurst burst =
          burst_at(w.pattern.ports[k], w.bytes, kinds[w.kind].levels[1], delays[w.kind]);
      burst.delay *= w.exchanges;
      if (!(burst.delay > 0)) continue;
      phases.back().wait += burst.delay;
      phases.back().burst = static_cast<std::uint32_t>(bursts_.size());
      bursts_.push_back(burst);
    }
    if (phases.empty()) phases.push_back({time, 0, 0, 0});
    transfers_.push_back(std::move(phases));
  }
}

}  // namespace trainyard
