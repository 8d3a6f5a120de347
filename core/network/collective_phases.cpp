#include "core/network/collective_phases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace trainyard {
namespace {

using Algorithm = CollectiveAlgorithm;
using Phases = std::vector<MessagePhase>;

constexpr std::int64_t kMostShifts = 64;
constexpr std::int64_t kMostInHops = 256;  // ranks of which messages are listed one by one

int whole(std::int64_t rounds) { return static_cast<int>(rounds); }

// Reduce-scatter and all-gather pass (p - 1) / p of the bytes over each link of a ring, an
// all-reduce twice that.
double passes(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast ? 2 : 1;
}

// Rings through all members, one for each member of a node: it visits a node's members so that it
// leaves at another one than the other rings.
Phases rings(CollectiveKind kind, const Members& m) {
  const std::int64_t p = m.ranks, width = p > m.per_node ? m.per_node : 1;
  MessagePhase phase;
  phase.rounds = whole(static_cast<std::int64_t>(passes(kind)) * (p - 1));
  const double share = passes(kind) * static_cast<double>(p - 1) / static_cast<double>(p) /
                       static_cast<double>(width);
  const auto at = [&](std::int64_t ring, std::int64_t place) {
    const std::int64_t node = place % p / width * width;
    return width == 1 ? place % p : node + (place % width + ring) % width;
  };
  for (std::int64_t ring = 0; ring < width; ++ring)
    for (std::int64_t i = 0; i < p; ++i)
      phase.messages.push_back({at(ring, i), at(ring, i + 1), share});
  return {phase};
}

// In-order binary tree over 0 .. n - 1: the parent of a place is reached by clearing its lowest one
// and setting the next (NCCL's double tree; the second is the first shifted by one place).
std::int64_t parent(std::int64_t place, std::int64_t n) {
  const std::int64_t one = place + 1;  // counted from 1
  const std::int64_t low = one & -one;
  const std::int64_t up = (one ^ low) | (low << 1);
  if (up <= n) return up - 1;
  const std::int64_t down = one ^ low;
  return down > 0 ? down - 1 : -1;
}

// Two trees between nodes and chains inside them, for each member of a node that leaves it.
Phases double_tree(CollectiveKind kind, const Members& m) {
  const std::int64_t width = m.ranks > m.per_node ? m.per_node : 1, nodes = m.ranks / width;
  const bool up = kind != CollectiveKind::Broadcast, down = kind != CollectiveKind::Reduce;
  MessagePhase phase;
  const int depth = whole(std::bit_width(static_cast<std::uint64_t>(nodes - 1)));
  phase.rounds = (depth + whole(width - 1)) * (up && down ? 2 : 1);
  const double share = 0.5 / static_cast<double>(width);
  const auto link = [&](std::int64_t child, std::int64_t to, double part) {
    if (up) phase.messages.push_back({child, to, part});
    if (down) phase.messages.push_back({to, child, part});
  };
  for (std::int64_t channel = 0; channel < width; ++channel) {
    for (std::int64_t tree = 0; tree < 2; ++tree)
      for (std::int64_t i = 0; i < nodes; ++i) {
        const std::int64_t to = parent(i, nodes);
        if (to < 0) continue;
        const auto placed = [&](std::int64_t node) {
          return (node + tree) % nodes * width + channel;
        };
        link(placed(i), placed(to), share);
      }
    for (std::int64_t node = 0; node < nodes; ++node)
      for (std::int64_t i = 1; i < width; ++i)
        link(node * width + (channel + i) % width, node * width + (channel + i - 1) % width,
             2 * share);
  }
  return {phase};
}

Phases shifts(const Members& m, double total) {
  const std::int64_t p = m.ranks, others = p - 1, taken = std::min(others, kMostShifts);
  MessagePhase phase;
  phase.rounds = whole(others);
  for (std::int64_t s = 0; s < taken; ++s) {
    const std::int64_t shift = 1 + s * others / taken;
    for (std::int64_t i = 0; i < p; ++i)
      phase.messages.push_back({i, (i + shift) % p, total / static_cast<double>(taken)});
  }
  return {phase};
}

Phases bruck(std::int64_t p) {
  Phases made;
  for (std::int64_t d = 1; d < p; d *= 2) {
    MessagePhase phase;
    for (std::int64_t i = 0; i < p; ++i) phase.messages.push_back({i, (i + d) % p, 0.5});
    made.push_back(std::move(phase));
  }
  return made;
}

Phases halo(std::int64_t p) {
  MessagePhase phase;
  for (std::int64_t i = 0; i < p; ++i) {
    phase.messages.push_back({i, (i + 1) % p, 0.5});
    phase.messages.push_back({i, (i + p - 1) % p, 0.5});
  }
  return {phase};
}

// One phase for all groups of equal sizes that do the same side by side.
template <class Place>
void side_by_side(Phases& made, const Phases& one, std::int64_t groups, double share,
                  const Place& place) {
  for (const MessagePhase& phase : one) {
    MessagePhase all;
    all.rounds = phase.rounds;
    for (std::int64_t g = 0; g < groups; ++g)
      for (const Message& m : phase.messages)
        all.messages.push_back({m.from < 0 ? m.from : place(g, m.from),
                                m.to < 0 ? m.to : place(g, m.to), m.share * share});
    made.push_back(std::move(all));
  }
}

Phases flat(CollectiveKind kind, Algorithm algorithm, std::int64_t p) {
  return collective_phases(kind, algorithm, {p, p});
}

MessagePhase over_switches(std::int64_t p, double up, double down) {
  MessagePhase phase;
  phase.rounds = 2;
  for (std::int64_t i = 0; i < p; ++i) {
    phase.messages.push_back({i, Message::kSwitch, up});
    phase.messages.push_back({Message::kSwitch, i, down});
  }
  return phase;
}

// A part inside nodes, one between the members of equal places, and one inside nodes.
Phases two_levels(CollectiveKind kind, Algorithm algorithm, const Members& m) {
  const std::int64_t inner = m.per_node, outer = m.ranks / m.per_node;
  const double part = 1.0 / static_cast<double>(inner);
  const auto inside = [&](std::int64_t g, std::int64_t i) { return g * inner + i; };
  const auto between = [&](std::int64_t g, std::int64_t i) { return i * inner + g; };
  const bool before = kind != CollectiveKind::AllGather && kind != CollectiveKind::Gather,
             after = kind != CollectiveKind::ReduceScatter && kind != CollectiveKind::Scatter;
  Phases made;
  if (before && inner > 1)
    side_by_side(made, flat(CollectiveKind::ReduceScatter, Algorithm::Ring, inner), outer, 1,
                 inside);
  if (algorithm == Algorithm::InNetwork)
    side_by_side(made, {over_switches(outer, 1, 1)}, inner, part, between);
  else
    side_by_side(made, flat(kind, Algorithm::Ring, outer), inner, part, between);
  if (after && inner > 1)
    side_by_side(made, flat(CollectiveKind::AllGather, Algorithm::Ring, inner), outer, 1, inside);
  return made;
}

}  // namespace

std::vector<MessagePhase> hop_phases(const CollectiveHops& collective, std::int64_t elements) {
  Phases made;
  const auto& hops = collective.hops;
  for (auto at = hops.begin(); at != hops.end();) {
    const auto end =
        std::find_if(at, hops.end(), [&](const Hop& h) { return h.round != at->round; });
    MessagePhase phase;
    for (; at != end; ++at)
      phase.messages.push_back({static_cast<std::int64_t>(at->from),
                                static_cast<std::int64_t>(at->to),
                                static_cast<double>(at->count) / static_cast<double>(elements)});
    const auto same = [](const Message& a, const Message& b) {
      return a.from == b.from && a.to == b.to;
    };
    MessagePhase* last = made.empty() ? nullptr : &made.back();
    // A round that sends another amount may overtake no earlier one, so that it is a phase anew.
    const double each = last ? last->messages.front().share / last->rounds : 0;
    const bool merges =
        last &&
        std::equal(last->messages.begin(), last->messages.end(), phase.messages.begin(),
                   phase.messages.end(), same) &&
        std::all_of(phase.messages.begin(), phase.messages.end(), [&](const Message& m) {
          return std::abs(m.share - each) * static_cast<double>(elements) < 1.5;
        });
    if (!merges) {
      made.push_back(std::move(phase));
      continue;
    }
    for (std::size_t i = 0; i < phase.messages.size(); ++i)
      last->messages[i].share += phase.messages[i].share;
    ++last->rounds;
  }
  return made;
}

std::vector<MessagePhase> collective_phases(CollectiveKind kind, Algorithm algorithm,
                                            const Members& m) {
  const std::int64_t p = m.ranks;
  if (p < 2) return {};
  if (kind == CollectiveKind::HaloExchange) return halo(p);
  if (kind == CollectiveKind::AllToAll) {
    if (algorithm == Algorithm::Bruck) return bruck(p);
    return shifts(m, static_cast<double>(p - 1) / static_cast<double>(p));
  }
  const bool spans = p > m.per_node && m.per_node > 1 && p % m.per_node == 0;
  if (spans && (algorithm == Algorithm::Hierarchical || algorithm == Algorithm::InNetwork))
    return two_levels(kind, algorithm, m);
  if (algorithm == Algorithm::InNetwork && p > m.per_node) return {over_switches(p, 1, 1)};
  if (algorithm == Algorithm::InNetwork) {
    const double each = static_cast<double>(p + 1) / static_cast<double>(p);
    return {over_switches(p, each, each)};
  }
  const bool tree = algorithm == Algorithm::Tree &&
                    (kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast ||
                     kind == CollectiveKind::Reduce);
  if (tree) return double_tree(kind, m);
  const bool ring = algorithm == Algorithm::Ring &&
                    (kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter ||
                     kind == CollectiveKind::AllGather);
  if (!ring && p <= kMostInHops && !no_hops(kind, algorithm, p)) {
    const std::int64_t elements = p * 256;
    return hop_phases(collective_hops(kind, algorithm, p, elements), elements);
  }
  if (kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter) {
    const std::int64_t elements = p;
    return hop_phases(collective_hops(kind, Algorithm::Tree, p, elements), elements);
  }
  return rings(kind, m);
}

}  // namespace trainyard
