#include "planners/branches/merged_stage.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planners/index.h"

namespace trainyard {
namespace {

// The operators that do the work of a stage, each with those of the stage that it waits for.
using StageUnits = std::map<int, std::vector<int>>;

StageUnits stage_units(const OperatorGraph& graph, const OperatorGroups& groups,
                       const std::vector<int>& merges) {
  std::map<int, int> unit_of;  // by operator of the stage
  for (const OperatorGroup& group : groups)
    for (const int one : group) unit_of[one] = one;
  for (const int merge : merges)
    for (const int one : graph.merges[at(merge)].operators)
      unit_of[one] = static_cast<int>(graph.operators.size()) + merge;
  StageUnits units;
  for (const auto& [one, unit] : unit_of) {
    std::vector<int>& after = units[unit];
    for (const int before : graph.operators[at(one)].after)
      if (const auto found = unit_of.find(before); found != unit_of.end() && found->second != unit)
        after.push_back(found->second);
  }
  return units;
}

// The merges that lie in a stage, in the order of the graph.
std::vector<int> merges_within(const OperatorGraph& graph, const OperatorGroups& groups) {
  std::vector<int> operators, found;
  for (const OperatorGroup& group : groups)
    operators.insert(operators.end(), group.begin(), group.end());
  std::sort(operators.begin(), operators.end());
  for (std::size_t i = 0; i < graph.merges.size(); ++i)
    if (std::includes(operators.begin(), operators.end(), graph.merges[i].operators.begin(),
                      graph.merges[i].operators.end()))
      found.push_back(static_cast<int>(i));
  return found;
}

bool share_an_operator(const OperatorMerge& a, const OperatorMerge& b) {
  return std::find_first_of(a.operators.begin(), a.operators.end(), b.operators.begin(),
                            b.operators.end()) != a.operators.end();
}

}  // namespace

std::string_view to_string(StageStrategy strategy) {
  return kStageStrategies[static_cast<std::size_t>(strategy)];
}

std::optional<OperatorGroups> merged_groups(const OperatorGraph& graph,
                                            const OperatorGroups& groups,
                                            const std::vector<int>& merges) {
  const StageUnits units = stage_units(graph, groups, merges);
  std::map<int, std::size_t> group_of;
  OperatorGroups made;
  // Each round takes all that wait for nothing more, with the groups of what they wait for.
  for (bool goes_on = true; group_of.size() < units.size() && goes_on;) {
    goes_on = false;
    for (const auto& [unit, after] : units) {
      if (group_of.count(unit) > 0 || std::any_of(after.begin(), after.end(), [&](int before) {
            return group_of.count(before) == 0;
          }))
        continue;
      const std::size_t own = made.size();
      made.emplace_back();
      for (const int before : after)
        for (const int one : std::exchange(made[group_of[before]], {}))
          made[own].push_back(one), group_of[one] = own;
      made[own].push_back(unit);
      group_of[unit] = own;
      goes_on = true;
    }
  }
  if (group_of.size() < units.size()) return std::nullopt;
  std::erase_if(made, [](const OperatorGroup& group) { return group.empty(); });
  std::sort(made.begin(), made.end());
  return made;
}

StagePrice merged_stage(const OperatorGraph& graph, const OperatorGroups& groups,
                        const std::vector<OperatorTime>& times, const CoreSharing& sharing) {
  StagePrice best{stage_time(groups, times, sharing), {}};
  const std::vector<int> within = merges_within(graph, groups);
  std::vector<int> taken;
  for (bool gains = !within.empty(); gains;) {
    gains = false;
    std::vector<int> more = taken;
    for (const int merge : within) {
      if (std::any_of(taken.begin(), taken.end(), [&](int other) {
            return share_an_operator(graph.merges[at(merge)], graph.merges[at(other)]);
          }))
        continue;
      std::vector<int> tried = taken;
      tried.push_back(merge);
      std::optional<OperatorGroups> run = merged_groups(graph, groups, tried);
      if (!run) continue;
      const Duration time = stage_time(*run, times, sharing);
      if (time >= best.time) continue;
      best = {time, std::move(*run)}, more = std::move(tried), gains = true;
    }
    taken = std::move(more);
  }
  return best;
}

OperatorSchedule merged_stages(const OperatorGraph& graph, const std::vector<OperatorTime>& times) {
  check_operators(graph);
  OperatorGroups all(1);
  for (int i = 0; at(i) < graph.operators.size(); ++i) all[0].push_back(i);
  StagePrice price = merged_stage(graph, all, times, {});
  // Groups that wait for nothing in each other follow each other all the same.
  for (std::size_t i = 1; i < price.run.size(); ++i)
    price.run[0].insert(price.run[0].end(), price.run[i].begin(), price.run[i].end());
  if (!price.run.empty()) price.run.resize(1);
  OperatorSchedule schedule;
  schedule.time = price.time;
  schedule.stages.push_back({std::move(all), std::move(price)});
  return schedule;
}

StrategyStages strategy_stages(const OperatorGraph& graph, const std::vector<OperatorTime>& times,
                               const CoreSharing& sharing, const StageLimits& limits,
                               const std::stop_token& stop) {
  StrategyStages found;
  const OperatorGraph apart{graph.operators};
  const auto concurrent = [&](const OperatorGroups& groups) {
    return StagePrice{stage_time(groups, times, sharing), {}};
  };
  found.concurrent = best_stages(apart, concurrent, limits, stop).schedule;
  found.merged = merged_stages(graph, times);
  const auto both = [&](const OperatorGroups& groups) {
    return merged_stage(graph, groups, times, sharing);
  };
  found.both = best_stages(graph, both, limits, stop);
  for (const OperatorSchedule* other : {&found.concurrent, &found.merged})
    if (other->time < found.both.schedule.time) found.both.schedule = *other;
  return found;
}

}  // namespace trainyard
