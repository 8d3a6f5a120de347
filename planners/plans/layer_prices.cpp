#include "planners/plans/layer_prices.h"

#include <algorithm>

#include "core/lowering/phases.h"
#include "core/memory/process_bytes.h"
#include "core/methods/catalogue.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/precision/tensor_state.h"
#include "core/methods/settings/settings.h"
#include "core/model/open_sizes.h"
#include "planners/plans/exact_price.h"

namespace trainyard {
namespace {

std::vector<int> bodies_by_block(const Workload& w) {
  std::vector<int> found(w.scenario.model.blocks.size(), -1);
  for (std::size_t b = 0; b < w.bodies.size(); ++b)
    found[static_cast<std::size_t>(w.bodies[b].block)] = static_cast<int>(b);
  return found;
}

// Prepares the workload of a scenario, or returns the fate that forbids it.
Fate lay_out(Scenario&& s, Workload& w) {
  Diagnostics found, errors;
  w = prepare(std::move(s), found);
  for (Diagnostic& d : found)
    if (d.severity == Diagnostic::Severity::Error) errors.push_back(std::move(d));
  return errors.empty() ? Fate::Untried : illegal_fate(errors);
}

Fate fate_of(const Error& e) {
  return illegal_fate({{Diagnostic::Severity::Error, e.what(), e.place(), {}}});
}

// A plan whose trained parts the model does not have is refused where it is priced.
bool has_forward_only_stages(const Scenario& s, const std::vector<Stage>& table) {
  try {
    if (!derives_model(s)) return forward_only_stages(s.model, table) > 0;
    Scenario whole = s;
    whole.plan = complete(s);
    return forward_only_stages(trained_model(whole), table) > 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

StageKinds stage_kinds(const Scenario& base, int pp, int virtual_stages) {
  StageKinds found;
  Plan plan = base.plan;
  plan.mesh.pp = pp, plan.virtual_stages = virtual_stages;
  if (plan.split.layers.empty() && !framework(plan.software.framework).splits_by_cost)
    plan.split.layers = uneven_split(layer_count(base.model), std::int64_t{pp} * virtual_stages);
  const Diagnostics wrong = check_split(base.model, plan);
  if (has_errors(wrong)) {
    found.illegal = illegal_fate(wrong);
    return found;
  }
  const std::vector<Stage> table = stages(base.model, plan);
  found.forward_only = has_forward_only_stages(base, table);
  for (const Stage& stage : table) {
    BlockRuns runs;
    for (const LayerRun& r : stage.runs)
      if (r.count > 0) runs.push_back({r.block, r.count});
    const auto same = std::find(found.kinds.begin(), found.kinds.end(), runs);
    found.kind_of.push_back(static_cast<std::uint16_t>(same - found.kinds.begin()));
    if (same == found.kinds.end()) found.kinds.push_back(std::move(runs));
  }
  return found;
}

WorkPrices::WorkPrices(Scenario& scenario, const CostModel& cost) {
  Workload w;
  try {
    illegal_ = lay_out(std::move(scenario), w);
    if (illegal_ == Fate::Untried) read(w, cost);
  } catch (const Error& e) {  // such as a format without a peak, or a time that overflows
    illegal_ = fate_of(e);
  }
  scenario = std::move(w.scenario);
}

void WorkPrices::read(Workload& w, const CostModel& cost) {
  const std::vector<LayerTime> times = layer_times(w, cost);
  const ProcessMemory process = cost.process_memory(w.scenario.cluster.device);
  send_parts_ = w.layout.send_parts;
  if (w.scenario.plan.mesh.pp > 1) stage_tensors_ = w.layout.framework.stage_tensors;
  layers_.resize(w.scenario.model.blocks.size());
  for (std::size_t b = 0; b < w.bodies.size(); ++b) {
    const Body& body = w.bodies[b];
    Layer& layer = layers_[static_cast<std::size_t>(body.block)];
    layer.time = times[b];
    layer.held = layer_held(body);
    layer.output = body.output;
    const auto sent = [&](Bytes tensors) {
      return boundary_bytes(at_mean_width(tensors, body.binding), w.scenario.plan,
                            w.layout.precision);
    };
    layer.sent_forward = sent(body.output);
    layer.sent_backward = sent(body.input);
    layer.further = further_bytes(w, body, process);
  }
}

StageWorkSum WorkPrices::sum(const BlockRuns& runs, const CostModel& cost,
                             const Cluster& cluster) const {
  StageWorkSum s;
  const auto phase = [&](LayerTime::Part LayerTime::* of) {
    PhaseLoad load;
    PhaseSum sum;
    for (const BlockRun& r : runs) {
      const LayerTime::Part& one = layers_[static_cast<std::size_t>(r.block)].time.*of;
      load += one.load * r.count;
      sum.blocking += one.model.count() * r.count;
      sum.beside += one.beside.count() * r.count;
    }
    sum.compute = cost.phase(load, false, cluster).count();
    if (load.exposed > 0) sum.blocking += cost.exposed(load).count();
    return sum;
  };
  s.forward = phase(&LayerTime::forward), s.backward = phase(&LayerTime::backward);
  s.backward_input = phase(&LayerTime::backward_input);
  s.backward_weight = phase(&LayerTime::backward_weight);
  std::vector<LayerHeldRun> held;
  for (const BlockRun& r : runs) {
    const Layer& one = layers_[static_cast<std::size_t>(r.block)];
    held.push_back({&one.held, r.count});
    s.further = std::max(s.further, one.further);
  }
  add_held(s.bytes, held);
  if (!runs.empty()) {
    const Layer& last = layers_[static_cast<std::size_t>(runs.back().block)];
    s.bytes.stage_tensors = last.output * stage_tensors_;
    s.bytes.until_input += s.bytes.stage_tensors;
    s.bytes.send_forward = share(last.sent_forward, send_parts_);
    s.bytes.send_backward =
        share(layers_[static_cast<std::size_t>(runs.front().block)].sent_backward, send_parts_);
  }
  return s;
}

StatePrices::StatePrices(Scenario scenario, const CostModel& cost) {
  try {
    illegal_ = lay_out(std::move(scenario), workload_);
    if (illegal_ != Fate::Untried) return;
    times_ = layer_times(workload_, cost);
  } catch (const Error& e) {
    illegal_ = fate_of(e);
    return;
  }
  body_of_ = bodies_by_block(workload_);
  reduce_every_ = workload_.layout.reduce_every_microbatch;
  blocking_sends_ = workload_.layout.blocking_sends;
  for (const Body& body : workload_.bodies)
    states_.push_back(
        state_bytes(workload_.scenario.plan, workload_.scenario.model, body, workload_.layout));
}

StageStateSum StatePrices::sum(const BlockRuns& runs, const CostModel& cost) const {
  StageStateSum s;
  PhaseLoad update;
  std::int64_t parameters = 0, largest = 0;
  std::vector<Workload::Run> layers;
  bool first_reduce = true, first_gather = true;
  for (const BlockRun& r : runs) {
    const auto body = static_cast<std::size_t>(body_of_[static_cast<std::size_t>(r.block)]);
    const LayerTime& time = times_[body];
    const StateBytes& state = states_[body];
    layers.push_back({static_cast<int>(body), r.count, 0});
    s.lasting += (state.weights + state.gradients + state.optimizer) * r.count;
    s.weights += state.weights * r.count;
    s.resident += state.gathered * r.count;
    const LocalParameters& p = workload_.bodies[body].parameters;
    parameters += (p.dense + p.expert) * r.count;
    largest = std::max(largest, p.dense + p.expert);
    update += time.update * r.count;
    s.reduce += time.reduce.count() * r.count, s.gather += time.gather.count() * r.count;
    if (time.reduces) {
      if (std::exchange(first_reduce, false)) s.reduce_last = time.reduce.count();
      s.reduce_overlapped = time.reduce_overlapped;
    }
    if (time.gathers) {
      if (std::exchange(first_gather, false)) s.gather_last = time.gather.count();
      s.gather_overlapped = time.gather_overlapped;
    }
  }
  const auto weights = [&](LayerTime::Part LayerTime::* of, bool forward) {
    StageStateSum::Weights w;
    bool led = false;
    const auto add = [&](const BlockRun& r) {
      const auto body = static_cast<std::size_t>(body_of_[static_cast<std::size_t>(r.block)]);
      const LayerTime::Part& one = times_[body].*of;
      w.blocking += one.data.count() * r.count;
      const std::int64_t each = one.weights.count();
      if (each == 0) return;
      if (!led) w.lead = each;
      w.rest += each * (r.count - (led ? 0 : 1));
      led = true;
    };
    if (forward)
      std::for_each(runs.begin(), runs.end(), add);
    else
      std::for_each(runs.rbegin(), runs.rend(), add);
    return w;
  };
  s.forward = weights(&LayerTime::forward, true), s.backward = weights(&LayerTime::backward, false);
  s.backward_input = weights(&LayerTime::backward_input, false);
  s.backward_weight = weights(&LayerTime::backward_weight, false);
  if (!workload_.layout.host_optimizer)
    s.update = cost.phase(update, true, workload_.scenario.cluster).count();
  PhaseBytes traffic;
  add_communication(traffic, workload_, layers);
  s.gathered = traffic.gathered, s.unreduced = traffic.unreduced;
  s.backward_communication = traffic.backward_communication;
  s.bucket = bucket_bytes(workload_, parameters, largest);
  return s;
}

}  // namespace trainyard
