#include "planners/placement/placement_figures.h"

#include <algorithm>

#include "planners/index.h"

namespace trainyard {
namespace {

std::size_t segment_of(const std::vector<Instant>& edges, Instant when) {
  return static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), when) -
                                  edges.begin());
}

Instant end_of(const JobTrace& trace, const PlacementSchedule& schedule, int job) {
  return schedule[at(job)].start + trace.jobs[at(job)].duration;
}

}  // namespace

NodeProfile node_profile(const JobTrace& trace, const PlacementRules& rules,
                         const PlacementSchedule& schedule) {
  NodeProfile profile;
  const auto jobs = static_cast<int>(schedule.size());
  for (int j = 0; j < jobs; ++j)
    if (schedule[at(j)].node >= 0) {
      profile.edges.push_back(schedule[at(j)].start);
      profile.edges.push_back(end_of(trace, schedule, j));
    }
  std::sort(profile.edges.begin(), profile.edges.end());
  profile.edges.erase(std::unique(profile.edges.begin(), profile.edges.end()), profile.edges.end());
  const std::size_t segments = profile.edges.empty() ? 0 : profile.edges.size() - 1;
  profile.bytes.assign(at(rules.nodes.count), std::vector<std::int64_t>(segments));
  profile.devices = profile.bytes;
  for (int j = 0; j < jobs; ++j) {
    const PlacedJob& placed = schedule[at(j)];
    if (placed.node < 0) continue;
    const auto add = [&](Instant until, std::int64_t bytes, std::int64_t devices) {
      const std::size_t last = segment_of(profile.edges, until);
      for (std::size_t i = segment_of(profile.edges, placed.start); i < last; ++i) {
        profile.bytes[at(placed.node)][i] += bytes;
        profile.devices[at(placed.node)][i] += devices;
      }
    };
    const Instant end = end_of(trace, schedule, j);
    add(end, trace.peak(j), trace.kind_of(j).devices);
    if (placed.partner >= 0)
      add(std::min(end, end_of(trace, schedule, placed.partner)), -trace.saving(placed.partner, j),
          0);
  }
  return profile;
}

bool keeps_capacity(const NodeProfile& profile, const PlacementRules& rules) {
  const auto within = [](const std::vector<std::vector<std::int64_t>>& all, std::int64_t most) {
    return std::all_of(all.begin(), all.end(), [&](const std::vector<std::int64_t>& node) {
      return std::all_of(node.begin(), node.end(), [&](std::int64_t v) { return v <= most; });
    });
  };
  return within(profile.bytes, rules.nodes.bytes) && within(profile.devices, rules.nodes.devices);
}

PlacementFigures placement_figures(const JobTrace& trace, const PlacementRules& rules,
                                   const PlacementSchedule& schedule) {
  const NodeProfile profile = node_profile(trace, rules, schedule);
  PlacementFigures found;
  double asked = 0, used = 0, waited = 0;  // byte-seconds, device-seconds, seconds
  std::int64_t started = 0;
  for (int j = 0; j < static_cast<int>(schedule.size()); ++j) {
    if (schedule[at(j)].node < 0) {
      ++found.rejected;
      continue;
    }
    const double taken = to_seconds(trace.jobs[at(j)].duration);
    const Duration wait = schedule[at(j)].start - trace.jobs[at(j)].arrival;
    asked += taken * static_cast<double>(trace.peak(j));
    used += taken * static_cast<double>(trace.kind_of(j).devices);
    waited += to_seconds(wait);
    found.longest_wait = std::max(found.longest_wait, wait);
    ++started;
  }
  if (started == 0) return found;
  double scattered = 0;  // seconds times share
  for (std::size_t i = 0; i + 1 < profile.edges.size(); ++i) {
    std::int64_t free = 0, most = 0;
    for (const std::vector<std::int64_t>& node : profile.bytes) {
      found.peak = std::max(found.peak, node[i]);
      free += rules.nodes.bytes - node[i];
      most = std::max(most, rules.nodes.bytes - node[i]);
    }
    if (free > 0)
      scattered += to_seconds(profile.edges[i + 1] - profile.edges[i]) *
                   (1 - static_cast<double>(most) / static_cast<double>(free));
  }
  const double whole = to_seconds(profile.edges.back() - profile.edges.front());
  found.peak_to_mean = static_cast<double>(found.peak) * rules.nodes.count * whole / asked;
  found.utilisation = used / (whole * rules.nodes.count * static_cast<double>(rules.nodes.devices));
  found.mean_wait = seconds(waited / static_cast<double>(started));
  found.fragmentation = scattered / whole;
  return found;
}

PlacementCost placement_cost(const JobTrace& trace, const PlacementRules& rules,
                             const PlacementSchedule& schedule) {
  PlacementCost cost;
  for (const std::vector<std::int64_t>& node : node_profile(trace, rules, schedule).bytes)
    for (const std::int64_t bytes : node) cost.peak = std::max(cost.peak, bytes);
  for (std::size_t j = 0; j < schedule.size(); ++j) {
    cost.waited += (schedule[j].start - trace.jobs[j].arrival).count();
    if (schedule[j].node < 0) ++cost.rejected;
  }
  return cost;
}

}  // namespace trainyard
