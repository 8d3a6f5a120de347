#include "planners/recompute/graph_stages.h"

#include <algorithm>
#include <limits>

#include "planners/index.h"

namespace trainyard {
namespace {

struct Size {
  int n;
  explicit Size(const OpGraph& graph) : n(static_cast<int>(graph.ops.size())) {}
  std::size_t operator()(int stage, int op) const { return at(stage) * at(n) + at(op); }
};

std::vector<std::vector<int>> users_of(const OpGraph& graph) {
  std::vector<std::vector<int>> users(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    for (const int in : graph.ops[i].inputs) users[at(in)].push_back(static_cast<int>(i));
  return users;
}

}  // namespace

GraphStages with_least_runs(const OpGraph& graph, StageTable kept) {
  const Size cell(graph);
  GraphStages stages{StageTable(kept.size(), 0), std::move(kept)};
  for (int t = 0; t < cell.n; ++t)
    for (int i = t; i >= 0; --i) {
      const bool there = stages.kept[cell(t, i)] != 0;
      const bool handed_on = t + 1 < cell.n && stages.kept[cell(t + 1, i)] != 0;
      char& runs = stages.runs[cell(t, i)];
      if (i == t || (handed_on && !there)) runs = 1;
      if (runs == 0) continue;
      for (const int in : graph.ops[at(i)].inputs)
        if (stages.kept[cell(t, in)] == 0) stages.runs[cell(t, in)] = 1;
    }
  return stages;
}

std::vector<GraphAction> actions_of(const OpGraph& graph, const GraphStages& stages) {
  const Size cell(graph);
  const std::vector<std::vector<int>> users = users_of(graph);
  std::vector<GraphAction> actions;
  std::vector<char> there(at(cell.n), 0);
  const auto needed = [&](int t, int i, int after) {
    if (t + 1 < cell.n && stages.kept[cell(t + 1, i)] != 0) return true;
    return std::any_of(users[at(i)].begin(), users[at(i)].end(),
                       [&](int u) { return u > after && stages.runs[cell(t, u)] != 0; });
  };
  for (int t = 0; t < cell.n; ++t)
    for (int k = -1; k <= t; ++k) {
      if (k >= 0 && stages.runs[cell(t, k)] == 0) continue;
      if (k >= 0) actions.push_back({true, k}), there[at(k)] = 1;
      for (int i = 0; i < cell.n; ++i)
        if (there[at(i)] != 0 && !needed(t, i, k)) actions.push_back({false, i}), there[at(i)] = 0;
    }
  return actions;
}

StageTable keep_all(const OpGraph& graph) {
  const Size cell(graph);
  StageTable kept(at(cell.n) * at(cell.n), 0);
  for (int i = 0; i < cell.n; ++i) {
    int last = i;
    for (int u = i + 1; u < cell.n; ++u) {
      const std::vector<int>& in = graph.ops[at(u)].inputs;
      if (std::find(in.begin(), in.end(), i) != in.end()) last = u;
    }
    for (int t = i + 1; t <= last; ++t) kept[cell(t, i)] = 1;
  }
  return kept;
}

StageTable evict(const OpGraph& graph, StageTable kept, Bytes limit) {
  const Size cell(graph);
  const auto priced = [&](const StageTable& table) {
    return run_graph(graph, actions_of(graph, with_least_runs(graph, table)));
  };
  GraphRun now = priced(kept);
  while (now.peak > limit) {
    double best = std::numeric_limits<double>::infinity();
    StageTable chosen;
    GraphRun after;
    for (int i = 0; i < cell.n; ++i)
      for (int t = i + 1; t < cell.n; ++t) {
        if (kept[cell(t, i)] == 0 || (t > i + 1 && kept[cell(t - 1, i)] != 0)) continue;
        // A stretch of stages into which it is kept: all of it, or all but its beginning.
        int end = t;
        while (end < cell.n && kept[cell(end, i)] != 0) ++end;
        StageTable without = kept;
        for (int from = t; from < end; ++from) without[cell(from, i)] = 0;
        for (const bool later : {false, true}) {
          if (later) {
            if (end - t < 2) break;
            without = kept;
            for (int from = t + 1; from < end; ++from) without[cell(from, i)] = 0;
          }
          const GraphRun run = priced(without);
          const std::int64_t saved = (now.peak - run.peak).value;
          const auto costs = static_cast<double>((run.time - now.time).count());
          // What lowers no peak by itself may still make room for what does: it comes after all.
          const double score = saved > 0 ? costs / static_cast<double>(saved) : 1e30 + costs;
          if (score < best) best = score, chosen = without, after = run;
        }
      }
    if (chosen.empty()) return kept;
    kept = std::move(chosen);
    now = after;
  }
  return kept;
}

}  // namespace trainyard
