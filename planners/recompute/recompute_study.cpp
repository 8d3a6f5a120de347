#include "planners/recompute/recompute_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/methods/settings/settings.h"
#include "planners/index.h"
#include "planners/recompute/graph_stages.h"
#include "planners/recompute/layer_graph.h"
#include "planners/recompute/recompute_chain.h"
#include "planners/recompute/recompute_graph.h"
#include "planners/recompute/recompute_layer.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostKeptSets = 6;
// Where the integer program is asked beside the kept sets: shares of what keeping everything needs.
constexpr double kShares[] = {0.9, 0.75, 0.6};
// Few enough that a layer takes seconds; what branch and bound has not proven by then is said.
constexpr std::int64_t kNodes = 200;

class Study {
 public:
  Study(const Scenario& scenario, const CostModel& cost, std::stop_token stop)
      : w_(prepare(scenario)), cost_(cost), stop_(std::move(stop)) {}

  RecomputeStudy run() {
    std::vector<Chain> chains;
    std::size_t fullest = 0;
    for (std::size_t s = 0; s < w_.runs.size(); ++s) {
      chains.push_back(chain_of(w_.runs[s]));
      if (everything(chains[s]).peak > everything(chains[fullest]).peak) fullest = s;
    }
    found_.stage = static_cast<int>(fullest);
    found_.layers = static_cast<int>(chains[fullest].layers.size());
    compare(chains[fullest]);
    const auto most = std::max_element(
        w_.runs[fullest].begin(), w_.runs[fullest].end(),
        [](const Workload::Run& a, const Workload::Run& b) { return a.count < b.count; });
    compare(w_.bodies[at(most->body)]);
    const auto by = [](Bytes RecomputeTrade::* bytes) {
      return [bytes](const RecomputeTrade& a, const RecomputeTrade& b) {
        return a.*bytes != b.*bytes ? a.*bytes < b.*bytes : a.time > b.time;
      };
    };
    std::stable_sort(found_.chain.begin(), found_.chain.end(), by(&RecomputeTrade::peak));
    std::stable_sort(found_.layer.begin(), found_.layer.end() - 1, by(&RecomputeTrade::kept));
    return std::move(found_);
  }

 private:
  Duration time_of(const std::vector<BodyOp>& ops) const {
    Duration sum{};
    for (const BodyOp& op : ops) sum += op_time(op, w_, cost_);
    return sum;
  }

  Chain chain_of(const std::vector<Workload::Run>& runs) const {
    Chain chain;
    for (const Workload::Run& run : runs) {
      const Body& body = w_.bodies[at(run.body)];
      RecomputeLayerCost layer{time_of(body.forward), time_of(body.backward), body.input, {}};
      for (const SavedTensor& saved : body.saved)
        if (saved.producer.valid()) layer.tape += saved.bytes;
      chain.layers.insert(chain.layers.end(), at(run.count), layer);
      chain.output = body.output;
    }
    return chain;
  }

  static ChainRun everything(const Chain& chain) {
    std::vector<ChainAction> actions;
    const int layers = static_cast<int>(chain.layers.size());
    for (int i = 0; i < layers; ++i) actions.push_back({ChainStep::ForwardKeepAll, i});
    for (int i = layers; i-- > 0;) actions.push_back({ChainStep::Backward, i});
    return run_chain(chain, actions);
  }

  void compare(const Chain& chain) {
    const int layers = static_cast<int>(chain.layers.size());
    const auto add = [&](std::string method, std::string words, const ChainRun& run) {
      found_.chain.push_back(
          {std::move(method), std::move(words), run.stored, run.peak, run.time, {}});
    };
    if (layers > 1) {
      const auto segments = static_cast<int>(chen_segments(layers));
      add("sqrt n", fmt::format("{} segment{}", segments, segments == 1 ? "" : "s"),
          run_chain(chain, chen_schedule(layers, segments)));
      for (int checkpoints = 1; checkpoints < layers; checkpoints *= 2)
        add("revolve", fmt::format("{} checkpoint{}", checkpoints, checkpoints == 1 ? "" : "s"),
            run_chain(chain, revolve_schedule(layers, checkpoints)));
    }
    const std::vector<RecomputeTrade> rules = found_.chain;
    for (const RecomputeTrade& rule : rules) add_optimum(chain, rule);
    add("keep everything", "", everything(chain));
    found_.chain.back().optimal = true;
  }

  /// The quickest schedule within the memory of a rule, unless another rule has led to it.
  void add_optimum(const Chain& chain, const RecomputeTrade& rule) {
    const ChainSchedule best = best_chain_schedule(chain, rule.peak, {.stop = stop_});
    const bool known =
        std::any_of(found_.chain.begin(), found_.chain.end(), [&](const RecomputeTrade& trade) {
          return trade.optimal && trade.peak == best.peak && trade.time == best.time;
        });
    if (!known)
      found_.chain.push_back({"optimal chain",
                              "in the memory of " + rule.method + ", " + rule.words,
                              run_chain(chain, best.actions).stored, best.peak, best.time, true});
  }

  void compare(const Body& body) {
    const LayerGraph layer = layer_graph(w_, body, cost_);
    const Block& block = w_.scenario.model.blocks[at(body.block)];
    found_.block = block.name;
    found_.ops = static_cast<int>(layer.graph.ops.size());
    std::vector<KeptSet> sets = kept_sets(layer_nodes(w_, body, cost_));
    const std::size_t shown = std::min(kMostKeptSets, sets.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const KeptSet& set = sets[shown > 1 ? i * (sets.size() - 1) / (shown - 1) : 0];
      std::string names;
      for (const int n : set.nodes)
        names += (names.empty() ? "" : "+") + block.graph.nodes[at(n)].name;
      add(layer, "keep", names.empty() ? "nothing" : names, keep_schedule(layer, set.nodes), {});
    }
    const std::vector<GraphAction> everything =
        actions_of(layer.graph, with_least_runs(layer.graph, keep_all(layer.graph)));
    const Bytes whole = run_graph(layer.graph, everything).peak;
    for (const double share : found_.ops > kMostProgramOps ? std::span<const double>()
                                                           : std::span<const double>(kShares)) {
      const Bytes limit{static_cast<std::int64_t>(share * static_cast<double>(whole.value))};
      try {
        const GraphSchedule best =
            best_graph_schedule(layer.graph, limit, {.nodes = kNodes, .stop = stop_});
        add(layer, "integer program", fmt::format("peak within {:.0f} %", 100 * share),
            best.actions, best.optimal);
      } catch (const Error& error) {
        if (error.kind() != Error::Kind::InvalidInput) throw;  // nothing fits in so little
      }
    }
    add(layer, "keep everything", "", everything, true);
  }

  void add(const LayerGraph& layer, std::string method, std::string words,
           const std::vector<GraphAction>& actions, std::optional<bool> optimal) {
    const GraphRun run = run_graph(layer.graph, actions);
    found_.layer.push_back({std::move(method), std::move(words), kept_for_backward(layer, actions),
                            run.peak, run.time, optimal});
  }

  const Workload w_;
  const CostModel& cost_;
  std::stop_token stop_;
  RecomputeStudy found_;
};

}  // namespace

RecomputeStudy study_recomputation(const Scenario& scenario, const CostModel& cost,
                                   std::stop_token stop) {
  Scenario plain = scenario;
  apply_setting(plain.plan, "recompute", "none");
  return Study(plain, cost, std::move(stop)).run();
}

}  // namespace trainyard
