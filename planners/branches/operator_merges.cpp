#include "planners/branches/operator_merges.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/model/merged_nodes.h"
#include "planners/index.h"

namespace trainyard {
namespace {

// Returns whether something that is not among the operators comes after one and before another.
bool is_parted(const OperatorGraph& graph, const std::vector<int>& operators) {
  const int first = operators.front();
  std::vector<bool> between(at(operators.back() - first + 1));
  for (int i = first; i <= operators.back(); ++i) {
    const bool own = std::binary_search(operators.begin(), operators.end(), i);
    for (const int before : graph.operators[at(i)].after) {
      if (before < first) continue;
      const bool outside = between[at(before - first)];
      if (own && outside) return true;
      if (!own && (outside || std::binary_search(operators.begin(), operators.end(), before)))
        between[at(i - first)] = true;
    }
  }
  return false;
}

// Calls f with each choice of two or more that may run as one.
template <class F>
void each_choice(const std::vector<int>& alike, F&& f) {
  if (alike.size() <= kFreelyMerged) {
    for (unsigned choice = 1; choice < 1U << alike.size(); ++choice) {
      std::vector<int> chosen;
      for (std::size_t i = 0; i < alike.size(); ++i)
        if ((choice >> i & 1U) != 0) chosen.push_back(alike[i]);
      if (chosen.size() > 1) f(std::move(chosen));
    }
    return;
  }
  for (auto first = alike.begin(); first != alike.end(); ++first)
    for (auto last = first + 1; last != alike.end(); ++last) f(std::vector<int>(first, last + 1));
}

}  // namespace

std::vector<OperatorMerge> operator_merges(const Graph& graph, const std::vector<BodyOp>& ops,
                                           const OperatorGraph& operators) {
  const auto alike = [&](const BodyOp& a, const BodyOp& b) {
    return !a.communication && !b.communication && a.pass == b.pass &&
           a.recomputed == b.recomputed && may_merge(graph, graph[a.node], graph[b.node]);
  };
  std::vector<std::vector<int>> kinds;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const std::vector<int>& list) {
      return alike(ops[at(list.front())], ops[i]);
    });
    (kind == kinds.end() ? kinds.emplace_back() : *kind).push_back(static_cast<int>(i));
  }
  std::vector<OperatorMerge> merges;
  for (const std::vector<int>& kind : kinds)
    each_choice(kind, [&](std::vector<int> chosen) {
      if (is_parted(operators, chosen)) return;
      std::string name;
      for (std::size_t i = 0; i + 1 < chosen.size(); ++i) name += ops[at(chosen[i])].name + " + ";
      name += operators.operators[at(chosen.back())].name;
      merges.push_back({std::move(name), std::move(chosen)});
    });
  return merges;
}

}  // namespace trainyard
