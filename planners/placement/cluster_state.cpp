#include "planners/placement/cluster_state.h"

#include <algorithm>

#include "planners/index.h"

namespace trainyard {

ClusterState::ClusterState(const JobTrace& trace, const PlacementRules& rules)
    : trace_(&trace), rules_(&rules), nodes_(at(rules.nodes.count)) {}

std::vector<PlacementOption> ClusterState::options(int job, bool best_partner) const {
  std::vector<PlacementOption> found;
  const std::int64_t peak = trace_->peak(job), devices = trace_->kind_of(job).devices;
  for (int n = 0; n < rules_->nodes.count; ++n) {
    const NodeLoad& node = nodes_[at(n)];
    if (node.devices + devices > rules_->nodes.devices) continue;
    const std::size_t first = found.size();
    const auto add = [&](int partner, std::int64_t bytes) {
      if (bytes > rules_->nodes.bytes) return;
      if (!best_partner || found.size() == first)
        found.push_back({n, partner, bytes});
      else if (bytes < found.back().bytes)
        found.back() = {n, partner, bytes};
    };
    add(-1, node.bytes + peak);
    if (!rules_->pairs) continue;
    for (const Resident& one : node.residents)
      if (one.partner < 0) add(one.job, node.bytes + peak - trace_->saving(one.job, job));
  }
  return found;
}

void ClusterState::start(int job, const PlacementOption& option) {
  NodeLoad& node = nodes_[at(option.node)];
  node.devices += trace_->kind_of(job).devices;
  node.bytes = option.bytes;
  for (Resident& one : node.residents)
    if (one.job == option.partner) one.partner = job;
  node.residents.push_back({job, now_, now_ + trace_->jobs[at(job)].duration, option.partner});
  peak_ = std::max(peak_, node.bytes);
}

void ClusterState::pass_until(Instant then) {
  now_ = std::max(now_, then);
  for (NodeLoad& node : nodes_) {
    for (const Resident& gone : node.residents) {
      if (gone.end > now_) continue;
      node.devices -= trace_->kind_of(gone.job).devices;
      node.bytes -= trace_->peak(gone.job);
      if (gone.partner < 0) continue;
      node.bytes += trace_->saving(gone.job, gone.partner);
      for (Resident& one : node.residents)
        if (one.partner == gone.job) one.partner = -1;
    }
    std::erase_if(node.residents, [&](const Resident& one) { return one.end <= now_; });
  }
}

std::optional<Instant> ClusterState::next_end() const {
  std::optional<Instant> next;
  for (const NodeLoad& node : nodes_)
    for (const Resident& one : node.residents)
      if (!next || one.end < *next) next = one.end;
  return next;
}

PlacedJob dispatch(ClusterState& state, int job, const ChoosePlacement& choose) {
  const Instant arrival = state.trace().jobs[at(job)].arrival;
  const Instant deadline = arrival + state.rules().patience;
  state.pass_until(arrival);
  while (state.now() <= deadline) {
    const std::vector<PlacementOption> options = state.options(job, false);
    if (!options.empty())
      if (const std::optional<std::size_t> chosen = choose(state, job, options)) {
        const PlacementOption& option = options[*chosen];
        state.start(job, option);
        return {option.node, option.partner, state.now()};
      }
    const std::optional<Instant> next = state.next_end();
    if (!next || *next > deadline) break;
    state.pass_until(*next);
  }
  state.pass_until(deadline);
  return {-1, -1, state.now()};
}

PlacementSchedule place_all(const JobTrace& trace, const PlacementRules& rules,
                            const ChoosePlacement& choose) {
  ClusterState state(trace, rules);
  PlacementSchedule schedule;
  for (int job = 0; job < static_cast<int>(trace.jobs.size()); ++job)
    schedule.push_back(dispatch(state, job, choose));
  return schedule;
}

}  // namespace trainyard
