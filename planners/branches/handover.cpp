#include "planners/branches/handover.h"

#include <algorithm>
#include <map>
#include <set>

#include "planners/index.h"

namespace trainyard {
namespace {

std::vector<OperatorTouch> touches_of(const OperatorGraph& graph, int one) {
  if (at(one) < graph.operators.size()) return graph.operators[at(one)].touches;
  std::map<int, OperatorTouch> united;
  for (const int part : graph.merges[at(one) - graph.operators.size()].operators)
    for (const OperatorTouch& touch : graph.operators[at(part)].touches)
      united.try_emplace(touch.tensor, touch).first->second.written |= touch.written;
  std::vector<OperatorTouch> touches;
  for (const auto& [tensor, touch] : united) touches.push_back(touch);
  return touches;
}

}  // namespace

std::vector<std::int64_t> handed_bytes(const OperatorGraph& graph,
                                       const std::vector<OperatorGroups>& stages) {
  std::vector<std::int64_t> handed(graph.operators.size() + graph.merges.size());
  std::map<int, std::set<std::size_t>> holders;  // cores that have a tensor
  const auto run = [&](int one, std::size_t core) {
    handed[at(one)] = 0;
    for (const OperatorTouch& touch : touches_of(graph, one)) {
      std::set<std::size_t>& cores = holders[touch.tensor];
      const bool has = cores.count(core) > 0, alone = has && cores.size() == 1;
      if (touch.written ? !alone : !has) handed[at(one)] += touch.bytes;
      if (touch.written) cores.clear();
      cores.insert(core);
    }
  };
  for (int pass = 0; pass < 2; ++pass)  // the second begins where the first left tensors
    for (const OperatorGroups& stage : stages)
      for (std::size_t core = 0; core < stage.size(); ++core)
        for (const int one : stage[core]) run(one, core);
  return handed;
}

std::vector<OperatorGroups> alternating_stages(const OperatorGraph& graph, int cores) {
  std::vector<OperatorGroups> stages;
  for (int one = 0; at(one) < graph.operators.size(); ++one) {
    stages.emplace_back(at(one % cores + 1));
    stages.back().back().push_back(one);
  }
  return stages;
}

}  // namespace trainyard
