#include "planners/recompute/recompute_layer.h"

#include <algorithm>
#include <map>

#include "planners/index.h"

namespace trainyard {
namespace {

// What has been decided of the last nodes.
struct NodeChoice {
  std::int64_t bytes = 0, time = 0;
  int before = -1;  // index of the choice that it goes on from
  int kept = -1;    // node that it keeps; -1 = none
};

// Nodes that must be there for what runs again, among those that are not decided; rising.
using Open = std::vector<int>;

class Front {
 public:
  explicit Front(const std::vector<LayerNode>& nodes) : nodes_(nodes) {
    pool_.push_back({});
    std::map<Open, std::vector<int>> states = {{Open{}, {0}}};
    for (int n = static_cast<int>(nodes.size()); n-- > 0;) {
      std::map<Open, std::vector<int>> next;
      for (auto& [open, choices] : states)
        for (const int choice : choices) decide(n, open, choice, next);
      for (auto& [open, choices] : next) thin(choices);
      states = std::move(next);
    }
    for (const auto& [open, choices] : states)
      last_.insert(last_.end(), choices.begin(), choices.end());
    thin(last_);
  }

  std::vector<KeptSet> sets() const {
    std::vector<KeptSet> found;
    for (const int choice : last_) {
      const NodeChoice& end = pool_[at(choice)];
      KeptSet set{{}, Bytes{end.bytes}, Duration{end.time}};
      for (int c = choice; c >= 0; c = pool_[at(c)].before)
        if (pool_[at(c)].kept >= 0) set.nodes.push_back(pool_[at(c)].kept);
      std::sort(set.nodes.begin(), set.nodes.end());
      found.push_back(std::move(set));
    }
    return found;
  }

 private:
  void decide(int n, const Open& open, int choice, std::map<Open, std::vector<int>>& next) {
    const LayerNode& node = nodes_[at(n)];
    const bool read_again = !open.empty() && open.back() == n;
    Open rest = open;
    if (read_again) rest.pop_back();
    if (!node.needed && !read_again) {
      next[rest].push_back(choice);
      return;
    }
    const NodeChoice from = pool_[at(choice)];
    add(next[rest], {from.bytes + node.kept.value + (read_again ? node.output.value : 0), from.time,
                     choice, n});
    for (const int in : node.inputs)
      if (const auto place = std::lower_bound(rest.begin(), rest.end(), in);
          place == rest.end() || *place != in)
        rest.insert(place, in);
    add(next[rest], {from.bytes, from.time + node.time.count(), choice, -1});
  }

  void add(std::vector<int>& list, const NodeChoice& choice) {
    list.push_back(static_cast<int>(pool_.size()));
    pool_.push_back(choice);
  }

  // Only choices that need fewer bytes or less time than every other stay.
  void thin(std::vector<int>& list) const {
    std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
      const NodeChoice &x = pool_[at(a)], &y = pool_[at(b)];
      return x.bytes != y.bytes ? x.bytes < y.bytes : x.time < y.time;
    });
    std::size_t kept = 0;
    for (const int one : list)
      if (kept == 0 || pool_[at(one)].time < pool_[at(list[kept - 1])].time) list[kept++] = one;
    list.resize(kept);
  }

  const std::vector<LayerNode>& nodes_;
  std::vector<NodeChoice> pool_;
  std::vector<int> last_;
};

}  // namespace

Duration op_time(const BodyOp& op, const Workload& w, const CostModel& cost) {
  const Cluster& cluster = w.scenario.cluster;
  if (!op.communication) return cost.compute(op.work, cluster.device);
  const GroupShape& group = w.groups[static_cast<std::size_t>(op.group)];
  return cost.collective(op.collective, op.bytes, group, cluster).time;
}

std::vector<KeptSet> kept_sets(const std::vector<LayerNode>& nodes) { return Front(nodes).sets(); }

std::vector<LayerNode> layer_nodes(const Workload& w, const Body& body, const CostModel& cost) {
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  std::vector<LayerNode> nodes(graph.nodes.size());
  std::vector<int> producer(graph.tensors.size(), -1);
  std::vector<bool> saved(graph.tensors.size());
  for (const SavedTensor& s : body.saved) {
    if (s.tensor.valid()) saved[s.tensor.value] = true;
    if (!s.producer.valid()) continue;
    nodes[s.producer.value].needed = true;
    nodes[s.producer.value].kept += s.bytes;
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const TensorId in : node.inputs)
      if (producer[in.value] >= 0) nodes[n].inputs.push_back(producer[in.value]);
    for (const TensorId out : node.outputs) {
      producer[out.value] = static_cast<int>(n);
      if (!saved[out.value])
        nodes[n].output += local_bytes(graph[out], body.binding, w.layout.precision);
    }
  }
  for (const BodyOp& op : body.forward)
    if (op.node.valid()) nodes[op.node.value].time += op_time(op, w, cost);
  return nodes;
}

}  // namespace trainyard
