// Prepares the bodies of a scenario's layers, which both grains and the closed form share.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/lowering/edited_order.h"
#include "core/lowering/host_memory.h"
#include "core/lowering/layer_strategies.h"
#include "core/lowering/lower.h"
#include "core/lowering/phases.h"
#include "core/lowering/split_again.h"
#include "core/methods/catalogue.h"
#include "core/methods/layers/transients.h"
#include "core/methods/parallel/optimizer_norms.h"
#include "core/methods/parallel/tensor_optimizers.h"
#include "core/methods/precision/tensor_state.h"
#include "core/methods/precision/update_arithmetic.h"
#include "core/methods/settings/settings.h"
#include "core/model/edit.h"
#include "core/model/open_sizes.h"
#include "core/model/patch_grid.h"
#include "core/model/trained_parts.h"
#include "core/plan/stage_kinds.h"

namespace trainyard {
namespace {

Diagnostic error(std::string message, std::string place, std::string fix = {}) {
  return {Diagnostic::Severity::Error, std::move(message), {std::move(place)}, std::move(fix)};
}

void append(Diagnostics& list, Diagnostics more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

// Larger sizes could overflow 64-bit byte counts in a sum; no real machine has them.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 55;

// The limit on microbatches times stages; a larger program would take gigabytes at either grain.
constexpr std::int64_t kMostActions = std::int64_t{1} << 21;

Diagnostics check_actions(const Plan& plan) {
  const std::int64_t count = plan.batch.global / plan.batch.micro / *plan.mesh.dp;
  const std::int64_t stages = std::int64_t{plan.mesh.pp} * plan.virtual_stages;
  if (count <= kMostActions / stages) return {};
  return {error("a step of " + std::to_string(count) + " microbatches on " +
                    std::to_string(stages) + " stages is more than the 2^21 that are laid out",
                "plan#/batch/global",
                "global-batch=" + std::to_string(std::max<std::int64_t>(1, kMostActions / stages) *
                                                 plan.batch.micro * *plan.mesh.dp))};
}

Diagnostics check_sizes(const Scenario& s) {
  Diagnostics found;
  const Plan& plan = s.plan;
  for (auto [value, place, what] :
       {std::tuple{plan.batch.micro, "plan#/batch/micro", "micro-batch"},
        std::tuple{plan.batch.global, "plan#/batch/global", "global-batch"},
        std::tuple{plan.batch.sequence, "plan#/batch/sequence", "seq"}})
    if (value < 1)
      found.push_back(
          error("expected " + std::string(what) + " of at least 1, found " + std::to_string(value),
                place));
  if (has_errors(found)) return found;
  const std::int64_t images = tokens_of_images(s.model);
  if (images > 0 && plan.batch.sequence <= images)
    return {error("the images of a sample of " + s.model.name + " take " + std::to_string(images) +
                      " places, and a sequence of " + std::to_string(plan.batch.sequence) +
                      " tokens leaves none for text",
                  "plan#/batch/sequence", "seq=" + std::to_string(2 * images))};
  const Binding one{plan.batch.micro, plan.batch.sequence, 1, 1, 1, false};
  double total = 0;
  for (const Block& block : s.model.blocks)
    for (const Tensor& t : block.graph.tensors)
      total += static_cast<double>(local_elements(t.shape, one)) * 8.0 * block.count;
  if (total > static_cast<double>(kMostBytes))
    found.push_back(
        error("one microbatch of " + s.model.name +
                  " would hold more than 2^55 bytes; a smaller micro-batch or seq is needed",
              "plan#/batch", "micro-batch=1"));
  return found;
}

// Calls f for the choices by method, in catalogue order (complete() has sorted them).
template <class F>
void each_choice(const Plan& plan, F&& f) {
  for (const Choice& c : plan.choices) f(method(c.method), c.params);
}

Diagnostics check_choices(const Scenario& s) {
  Diagnostics found;
  std::map<MethodAxis, std::string> taken;
  each_choice(s.plan, [&](const Method& m, const Params& params) {
    if (m.axis == MethodAxis::Schedule || m.axis == MethodAxis::Precision) {
      const auto [entry, is_new] = taken.try_emplace(m.axis, m.name);
      if (!is_new)
        found.push_back(error("a plan has one " + std::string(to_string(m.axis)) + ", found " +
                                  entry->second + " and " + std::string(m.name),
                              "plan#/choices"));
    }
    if (m.check) append(found, m.check(s, params));
  });
  return found;
}

// Every method must be legal on the devices of each stage.
Diagnostics check_other_kinds(const Scenario& s) {
  Diagnostics found = check_stage_kinds(s.cluster, s.plan.mesh, schedule_of(s.plan).placement);
  if (!is_mixed(s.cluster) || has_errors(found)) return found;
  Scenario other = s;
  for (std::size_t kind = 1; kind < kinds(s.cluster) && !has_errors(found); ++kind) {
    other.cluster = kind_cluster(s.cluster, kind);
    append(found, check_choices(other));
  }
  return found;
}

Layout arrange(const Scenario& s) {
  Layout layout;
  layout.binding.micro_batch = s.plan.batch.micro;
  layout.binding.sequence = s.plan.batch.sequence;
  layout.flash_attention = s.plan.flash_attention;
  layout.tied_copies = s.plan.mesh.pp * s.plan.virtual_stages > 1;
  const FrameworkProfile& software = framework(s.plan.software.framework);
  layout.blocking_sends = software.blocking_sends;
  layout.framework = framework_memory(s.plan.software.framework);
  if (settle(s.plan.software, s.cluster.device).kernels != KernelClass::Eager)
    layout.framework.wide_between_layers = false;
  const Optimizer& rule = optimizer(s.plan.optimizer);
  layout.optimizer_bytes = rule.state_bytes;
  layout.optimizer_touched_bytes = rule.touched_bytes;
  each_choice(s.plan, [&](const Method& m, const Params& params) {
    if (m.arrange) m.arrange(layout, s, params);
  });
  if (software.scatters_sends && !layout.binding.sequence_parallel)
    layout.send_parts = layout.binding.tp;
  return layout;
}

// Reduces work to a share of the positions.
void take_share(Work& work, double share, std::int64_t tokens) {
  work.flops = work.flops * share;
  for (Bytes* bytes : {&work.read, &work.written})
    bytes->value = static_cast<std::int64_t>(static_cast<double>(bytes->value) * share);
  for (std::int64_t* size : {&work.m, &work.n, &work.k})
    if (*size == tokens)
      *size =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(tokens) * share));
}

void take_shares(Body& body, const Graph& graph, const Layout& layout) {
  const Binding priced = at_mean_width(layout.binding);
  const std::int64_t tokens = priced.micro_batch * priced.sequence;
  for (auto* ops : {&body.forward, &body.backward})
    for (BodyOp& op : *ops) {
      const double share = op.node.valid() ? share_of_positions(graph[op.node]) : 1;
      if (share < 1) take_share(op.work, share, tokens);
    }
}

// Nothing at all to train is no training.
Diagnostics check_trained(const Scenario& s) {
  if (!any_frozen(s.model)) return {};
  if (trained_parameters(s.model) == 0)
    return {error(
        "expected weights that are trained, found that all of " + s.model.name + " are frozen",
        "plan#/choices")};
  const Method& schedule = schedule_of(s.plan);
  if (schedule.settles != nullptr)
    return {error("frozen weights are modelled for schedules that update once a step, and " +
                      std::string(schedule.name) + " updates while microbatches are under way",
                  "plan#/choices/" + std::string(schedule.name), "schedule=1f1b")};
  for (const Block& block : s.model.blocks)
    if (block.graph.side_input.valid())
      return {
          error("frozen weights are modelled for layers that read the layer before them alone, "
                "and " +
                    block.name + " reads the output of an encoder too",
                "plan#/choices")};
  return {};
}

// Ranks exchange as much of activations as a microbatch has.
void narrow_messages(Body& body) {
  for (auto* ops : {&body.forward, &body.backward})
    for (BodyOp& op : *ops)
      if (op.communication && op.tensor.valid()) op.bytes = at_mean_width(op.bytes, body.binding);
}

// Finds the runs of equal layers of each stage. A kind of layer has one body for each of its
// recomputation policies and strategies.
class Bodies {
 public:
  explicit Bodies(Workload& w)
      : w_(w), policies_(policies_of(w.scenario.plan)), strategies_(layer_strategies(w.scenario)) {
    int layers = 0;
    for (const Block& block : w.scenario.model.blocks) {
      first_strategy_.push_back(layers);
      if (block.layer) layers += block.count;
    }
  }

  void lay_out() {
    std::vector<int> first_layer;  // by block, as an index over all layers of the model
    int layers = 0;
    for (const Block& b : w_.scenario.model.blocks)
      first_layer.push_back(layers), layers += b.count;
    w_.runs.clear();
    for (std::size_t stage = 0; stage < w_.table.size(); ++stage) {
      std::vector<Workload::Run> runs;
      each_part(stage, [&](const Part& part) {
        runs.push_back({body(part), part.count,
                        first_layer[static_cast<std::size_t>(part.block)] + part.first});
      });
      w_.runs.push_back(std::move(runs));
    }
  }

  // Call after a change of the split, by which runs of layers are counted.
  void count_again() { strategies_ = layer_strategies(w_.scenario); }

  // Identifies the bodies of a workload that was laid out before.
  void find_bodies() {
    for (std::size_t stage = 0; stage < w_.table.size(); ++stage) {
      auto run = w_.runs[stage].begin();
      each_part(stage, [&](const Part& part) { made_[key(part)] = run++->body; });
    }
  }

 private:
  bool is_layer(const LayerRun& run) const {
    return w_.scenario.model.blocks[static_cast<std::size_t>(run.block)].layer;
  }
  int layers_of(const Stage& stage) const {
    int sum = 0;
    for (const LayerRun& run : stage.runs) sum += is_layer(run) ? run.count : 0;
    return sum;
  }

  // Layers of a block that are treated alike; `first` is the index of the first within the block.
  struct Part {
    int block, count, first;
    LayerPolicy policy;
    LayerStrategy strategy;
  };
  using Key = std::tuple<int, std::string, LayerStrategy>;
  static Key key(const Part& part) { return {part.block, to_text(part.policy), part.strategy}; }

  LayerStrategy strategy(int block, int layer) const {
    const int first = first_strategy_[static_cast<std::size_t>(block)];
    return strategies_[static_cast<std::size_t>(first) + static_cast<std::size_t>(layer)];
  }

  // Calls use(Part) for each part of the stage, in order.
  template <class Use>
  void each_part(std::size_t stage, const Use& use) const {
    StagePolicies left = policies_of(policies_, stage, layers_of(w_.table[stage]));
    auto policy = left.begin();
    for (const LayerRun& r : w_.table[stage].runs) {
      if (!is_layer(r)) {
        use(Part{r.block, r.count, r.first, {}, {}});
        continue;
      }
      int first = r.first;
      for (int count = r.count; count > 0;) {
        const int most = std::min(count, policy->layers);
        const LayerStrategy own = strategy(r.block, first);
        int some = 1;
        while (some < most && strategy(r.block, first + some) == own) ++some;
        use(Part{r.block, some, first, policy->policy, own});
        first += some, count -= some;
        policy->layers -= some;
        if (policy->layers == 0) ++policy;
      }
    }
  }

  int body(const Part& part) {
    const auto [entry, is_new] = made_.try_emplace(key(part), static_cast<int>(w_.bodies.size()));
    if (is_new) w_.bodies.push_back(layer_body(w_, part.block, part.policy, part.strategy));
    return entry->second;
  }

  Workload& w_;
  RecomputePolicies policies_;
  std::vector<LayerStrategy> strategies_;  // by layer of the model
  std::vector<int> first_strategy_;        // by block: index into strategies_
  std::map<Key, int> made_;
};

// Sets the shapes of the groups of ranks that communicate.
void seat_groups(Workload& w) {
  const Mesh& mesh = w.scenario.plan.mesh;
  const Cluster& cluster = w.scenario.cluster;
  for (std::size_t g = 0; g < kGroups; ++g)
    w.groups[g] = group_shape(mesh, static_cast<Group>(g), cluster, w.shard);
  w.pipeline_level = pipeline_level(mesh, cluster);
}

// Finds the largest message between stages.
void find_largest_message(Workload& w) {
  w.largest_message = {};
  const auto stages = static_cast<std::uint32_t>(w.table.size()),
             takes = static_cast<std::uint32_t>(forward_only_stages(w.scenario.model, w.table));
  for (std::uint32_t s = 0; s < stages; ++s) {
    const PhaseBytes& bytes = phase_bytes(w, StageId{s});
    if (s + 1 < stages) w.largest_message = std::max(w.largest_message, bytes.send_forward);
    if (s > takes) w.largest_message = std::max(w.largest_message, bytes.send_backward);
  }
}

// Collects everything that check() finds, and completes the plan on the way.
Diagnostics complete_and_check(Scenario& scenario) {
  Diagnostics found = check(scenario.cluster);
  if (scenario.model.blocks.empty())
    found.push_back(error("the model has no layers", "model#/blocks"));
  if (has_errors(found)) return found;
  try {
    scenario.plan = complete(scenario);
    if (derives_model(scenario)) scenario.model = trained_model(scenario);
  } catch (const Error& e) {
    found.push_back({Diagnostic::Severity::Error, e.what(), e.place(), {}});
    return found;
  }
  append(found, check_sizes(scenario));
  append(found, check_split(scenario.model, scenario.plan));
  if (!has_errors(found)) append(found, check_trained(scenario));
  if (!has_errors(found)) append(found, check_actions(scenario.plan));
  if (!has_errors(found)) append(found, check_choices(scenario));
  if (!has_errors(found)) append(found, check_other_kinds(scenario));
  if (!has_errors(found)) append(found, check_tensor_optimizer(scenario.plan));
  if (!has_errors(found)) append(found, check_edited_order(scenario));
  return found;
}

// Says whether the plan offloads and what it offloads to is limited.
bool limits_offload(const Scenario& s) {
  const Choice* offload = find_choice(s.plan, "offload");
  if (offload == nullptr) return false;
  const Params& params = offload->params;
  return s.cluster.host_memory.value.value > 0 ||
         (params.has("tier") && params.text("tier") == "nvme");
}

}  // namespace

Body layer_body(const Workload& w, int block, const LayerPolicy& policy,
                const LayerStrategy& strategy) {
  const Scenario& s = w.scenario;
  const Layout layout = layout_of_layer(w.layout, strategy);
  Body body = write_body(s.model, block, layout);
  add_norms(body, layout, s.plan,
            std::max<std::int64_t>(1, layer_count(s.model) / std::max(1, s.plan.mesh.pp)));
  add_update_arithmetic(body, layout, s.plan);
  add_matrix_updates(body, s.model, layout, s.plan);
  each_choice(s.plan, [&](const Method& m, const Params& params) {
    if (!m.rewrite) return;
    Params own;
    if (m.name != "recompute")
      return m.rewrite(body, layout, s, params_of_layer(params, strategy, own));
    own = params;
    own.set("policy", to_text(policy));
    m.rewrite(body, layout, s, own);
  });
  const Graph& graph = s.model.blocks[static_cast<std::size_t>(block)].graph;
  take_shares(body, graph, layout);
  if (has_open_widths(body.binding)) narrow_messages(body);
  find_lifetimes(body, graph, layout);
  note_neighbours(body);
  return body;
}

Diagnostics check(const Scenario& scenario) {
  Scenario whole = scenario;
  // The bytes that the host would hold are only known once all layers are.
  Diagnostics found;
  if (limits_offload(whole))
    prepare(std::move(whole), found);
  else
    found = complete_and_check(whole);
  return found;
}

Workload prepare(const Scenario& scenario) {
  Diagnostics found;
  Workload w = prepare(Scenario(scenario), found);
  throw_if_errors(found);
  return w;
}

Workload prepare(Scenario&& scenario, Diagnostics& found) {
  Workload w;
  w.scenario = std::move(scenario);
  found = complete_and_check(w.scenario);
  if (has_errors(found)) return w;
  w.layout = arrange(w.scenario);
  w.shard = std::max<std::int64_t>(1, w.layout.shard_group);
  w.placement = schedule_of(w.scenario.plan).placement;
  w.table = stages(w.scenario.model, w.scenario.plan, w.placement);
  Bodies(w).lay_out();
  if (!w.scenario.plan.order.empty()) w.edited = parse_order(w.scenario.plan.order);
  sum_stages(w);
  seat_groups(w);
  find_largest_message(w);
  append(found, check_host_memory(w));
  return w;
}

void split_again(Workload& w, StageSplit split) {
  Bodies bodies(w);
  bodies.find_bodies();
  w.scenario.plan.split = std::move(split);
  w.table = stages(w.scenario.model, w.scenario.plan, w.placement);
  bodies.count_again();
  bodies.lay_out();
  sum_stages(w);
  find_largest_message(w);
}

}  // namespace trainyard
