#include "core/lowering/phases.h"

#include <algorithm>
#include <utility>

#include "core/lowering/held_bytes.h"
#include "core/methods/layers/transients.h"
#include "core/methods/parallel/optimizer_norms.h"
#include "core/methods/parallel/whole_replicas.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/precision/tensor_state.h"
#include "core/methods/schedules/wave_average.h"
#include "core/model/open_sizes.h"

namespace trainyard {
namespace {

bool belongs(const BodyOp& op, Phase phase) {
  if (phase == Phase::Forward || phase == Phase::Backward) return true;
  return (op.pass == Pass::BackwardWeight) == (phase == Phase::BackwardWeight);
}

bool is_weight_gather(const BodyOp& op) {
  return op.communication && op.overlapped && !is_context(op.group);
}

// Returns whether the collective and what it runs beside are in the same part of a split backward.
bool together(const BodyOp& op, bool split) {
  return !split || op.recomputed || op.beside.pass == op.pass;
}

void add(std::vector<CollectiveRun>& list, const BodyOp& op, int repeats, bool split = false) {
  if (repeats == 0) return;
  CollectiveRun run{op.collective, op.group,  op.bytes, repeats,
                    op.pass_name,  op.beside, 0,        op.every};
  if (!together(op, split)) run.beside = {.count = 0};
  for (CollectiveRun& have : list)
    if (have.kind == run.kind && have.group == run.group && have.bytes == run.bytes &&
        have.beside == run.beside && have.every == run.every) {
      have.repeats += repeats;
      return;
    }
  list.push_back(run);
}

void add(std::vector<WorkCount>& list, const BodyOp& op, int count) {
  for (WorkCount& have : list)
    if (have.work == op.work && have.pass == op.pass && have.recomputed == op.recomputed &&
        have.place == op.place) {
      have.count += count;
      return;
    }
  list.push_back({op.work, count, op.pass, op.recomputed, op.place});
}

using Runs = std::vector<Workload::Run>;

const Body& body(const Workload& w, const Workload::Run& run) {
  return w.bodies[static_cast<std::size_t>(run.body)];
}

// The layer that is needed first (by position in `runs`, walked forward or backward) leads; the
// others follow.
StepCollectives step_collectives(const Workload& w, const Runs& runs,
                                 std::vector<BodyOp> Body::* list) {
  StepCollectives found;
  bool first = true;
  for (const Workload::Run& run : runs) {
    const std::vector<BodyOp>& ops = body(w, run).*list;
    for (const BodyOp& op : ops) {
      found.overlapped = op.overlapped;
      if (first) add(found.last, op, 1);
      add(found.others, op, run.count - (first ? 1 : 0));
    }
    if (!ops.empty()) first = false;
  }
  return found;
}

bool any_overlapped(const std::vector<BodyOp>& ops, bool (*is)(const BodyOp&)) {
  return std::any_of(ops.begin(), ops.end(),
                     [&](const BodyOp& op) { return op.overlapped && is(op); });
}

PhaseWork make_phase_work(const Workload& w, const Runs& runs, Phase phase) {
  PhaseWork sum;
  const bool forward = phase == Phase::Forward;
  const bool split = phase == Phase::Backward ? splits_backward(w) : !forward;
  Runs order = runs;
  if (!forward) std::reverse(order.begin(), order.end());
  bool lead_taken = false;
  for (const Workload::Run& run : order) {
    const Body& layer = body(w, run);
    bool has_gather = false;
    for (const BodyOp& op : forward ? layer.forward : layer.backward) {
      if (!belongs(op, phase)) continue;
      if (!op.communication) {
        add(sum.works, op, run.count);
      } else if (!op.overlapped) {
        add(sum.blocking, op, run.count, split);
      } else if (is_weight_gather(op)) {
        if (!lead_taken) add(sum.lead, op, 1);
        add(sum.gather, op, run.count - (lead_taken ? 0 : 1));
        has_gather = true;
      } else {
        add(sum.beside, op, run.count);
      }
    }
    lead_taken = lead_taken || has_gather;
  }
  return sum;
}

std::vector<WorkCount> make_update_work(const Workload& w, const Runs& runs) {
  std::vector<WorkCount> sum;
  for (const Workload::Run& run : runs)
    for (const BodyOp& op : body(w, run).update) add(sum, op, run.count);
  return sum;
}

// An update that goes on to take the mean of the waves' weights reads those of all, in the format
// in which updates are added up, and writes those of one.
std::vector<WorkCount> make_averaging_work(const Workload& w, std::vector<WorkCount> update,
                                           const StateBytes& state) {
  const WaveAverage mean = wave_average(w.scenario.plan);
  if (mean.every == 0 || state.weights.value == 0) return {};
  const Precision& precision = w.layout.precision;
  const std::int64_t elements = state.weights.value / bytes_of(precision.parameter);
  const Bytes master{precision.master_weights ? elements * bytes_of(DType::F32) : 0};
  Work work;
  work.kind = WorkKind::Optimizer;
  work.read = (precision.master_weights ? master : state.weights) * mean.waves;
  work.written = master + state.weights;
  update.push_back({work, 1});
  return update;
}

PhaseBytes make_phase_bytes(const Workload& w, const Runs& runs) {
  PhaseBytes sum;
  std::vector<LayerHeld> layers;
  std::vector<LayerHeldRun> held;
  layers.reserve(runs.size());
  for (const Workload::Run& run : runs) {
    layers.push_back(layer_held(body(w, run)));
    held.push_back({&layers.back(), run.count});
  }
  add_held(sum, held);
  add_communication(sum, w, runs);
  if (!runs.empty()) {
    const auto sent = [&](Bytes whole) {
      const Bytes message = boundary_bytes(at_mean_width(whole, w.layout.binding), w.scenario.plan,
                                           w.layout.precision);
      return share(message, w.layout.send_parts);
    };
    sum.send_forward = sent(body(w, runs.back()).output);
    sum.send_backward = sent(body(w, runs.front()).input);
    // A stage without backward hands its output on and keeps nothing.
    const bool backs = std::any_of(runs.begin(), runs.end(), [&](const Workload::Run& run) {
      return first_op(body(w, run).backward) != kNoOp;
    });
    if (w.scenario.plan.mesh.pp > 1 && backs)
      sum.stage_tensors = body(w, runs.back()).output * w.layout.framework.stage_tensors;
    sum.until_input += sum.stage_tensors;
  }
  return sum;
}

StateByBlock make_stage_state(const Workload& w, const Runs& runs) {
  StateByBlock state;
  for (const Workload::Run& run : runs) {
    const Body& layer = body(w, run);
    StateBytes one = state_bytes(w.scenario.plan, w.scenario.model, layer, w.layout);
    one.weights = one.weights * run.count;
    one.gradients = one.gradients * run.count;
    one.optimizer = one.optimizer * run.count;
    one.gathered = one.gathered * run.count;
    state.total.weights += one.weights;
    state.total.gradients += one.gradients;
    state.total.optimizer += one.optimizer;
    state.total.gathered += one.gathered;
    if (!state.blocks.empty() && state.blocks.back().first == layer.block) {
      StateBytes& same = state.blocks.back().second;
      same.weights += one.weights, same.gradients += one.gradients, same.optimizer += one.optimizer;
      same.gathered += one.gathered;
    } else {
      state.blocks.emplace_back(layer.block, one);
    }
  }
  return state;
}

HostWork make_host_work(const Workload& w, const Runs& runs) {
  HostWork sum;
  const Choice* overlap = find_choice(w.scenario.plan, "overlap");
  sum.overlapped = overlap != nullptr && overlap->params.flag("gradients");
  bool first = true;
  for (const Workload::Run& run : runs) {
    const HostShare one = host_share(body(w, run), w.layout);
    if (one == HostShare{}) continue;
    if (std::exchange(first, false)) sum.first = one;
    sum.last = one;
    sum.all += one.times(run.count);
    if (w.layout.nvme_optimizer) sum.layers.emplace_back(one, run.count);
  }
  return sum;
}

// The index of the work among the kernels, which contain each work once.
std::uint32_t index_of(std::vector<Work>& kernels, const Work& work) {
  const auto same = std::find(kernels.begin(), kernels.end(), work);
  const auto index = static_cast<std::uint32_t>(same - kernels.begin());
  if (same == kernels.end()) kernels.push_back(work);
  return index;
}

std::vector<std::uint32_t> indices(std::vector<Work>& kernels,
                                   const std::vector<WorkCount>& works) {
  std::vector<std::uint32_t> found;
  found.reserve(works.size());
  for (const WorkCount& w : works) found.push_back(index_of(kernels, w.work));
  return found;
}

bool same_layers(const Runs& a, const Runs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Workload::Run& x, const Workload::Run& y) {
                      return x.body == y.body && x.count == y.count;
                    });
}

StageWork make_stage_work(Workload& w, const Runs& runs) {
  StageWork made;
  for (std::size_t p = 0; p < kPhases; ++p) {
    made.phases[p] = make_phase_work(w, runs, static_cast<Phase>(p));
    made.phases[p].kernels = indices(w.kernels, made.phases[p].works);
    for (CollectiveRun& run : made.phases[p].blocking)
      if (run.beside.count > 0) run.kernel = index_of(w.kernels, run.beside.work);
  }
  made.reduce = step_collectives(w, runs, &Body::reduce);
  made.gather = step_collectives(w, runs, &Body::gather);
  if (shares_norms(w.scenario.plan))
    add(made.gather.last, norms_exchange(trained_tensors(w, runs)), 1);
  made.update = make_update_work(w, runs);
  made.update_kernels = indices(w.kernels, made.update);
  made.bytes = make_phase_bytes(w, runs);
  made.state = make_stage_state(w, runs);
  made.averaging = make_averaging_work(w, made.update, made.state.total);
  made.averaging_kernels = indices(w.kernels, made.averaging);
  if (w.layout.host_optimizer) made.host = make_host_work(w, runs);
  return made;
}

}  // namespace

std::int64_t trained_tensors(const Workload& w, const std::vector<Workload::Run>& runs) {
  std::int64_t count = 0;
  for (const Workload::Run& run : runs)
    count += run.count * trained_tensors(body(w, run), w.scenario.model, w.layout);
  return count;
}

// Walks in the order of backward: if they overlap, the weights of the next layer arrive and the
// gradients of the previous one leave while a layer runs.
void add_communication(PhaseBytes& sum, const Workload& w, const std::vector<Workload::Run>& runs) {
  std::vector<const Body*> layers;  // three layers of a run suffice
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    layers.insert(layers.end(), static_cast<std::size_t>(std::min(3, run->count)), &body(w, *run));
  Bytes further{};  // of layers that the framework has not released yet
  for (const Body* layer : layers)
    if (w.scenario.model.blocks[static_cast<std::size_t>(layer->block)].layer)
      further = std::max(further, layer->gathered * w.layout.framework.gathered_layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Body& layer = *layers[i];
    const bool prefetches = any_overlapped(layer.forward, is_weight_gather);
    const bool scatters_beside =
        i > 0 && any_overlapped(layers[i - 1]->reduce, [](const BodyOp&) { return true; });
    const auto with = [&](bool overlaps, std::size_t other, Bytes Body::* part) {
      return layer.*part + (overlaps && other < layers.size() ? layers[other]->*part : Bytes{});
    };
    const Bytes gathered = with(prefetches, i + 1, &Body::gathered) + further,
                unreduced = with(scatters_beside, i - 1, &Body::unreduced);
    sum.gathered = std::max(sum.gathered, gathered);
    sum.unreduced = std::max(sum.unreduced, unreduced);
    sum.backward_communication = std::max(sum.backward_communication, gathered + unreduced);
  }
}

void sum_stages(Workload& w) {
  std::vector<const Runs*> layers;  // by kind
  w.kinds.clear(), w.kind_of.clear(), w.kernels.clear();
  for (const Runs& runs : w.runs) {
    std::size_t kind = 0;
    while (kind < layers.size() && !same_layers(*layers[kind], runs)) ++kind;
    if (kind == layers.size()) {
      layers.push_back(&runs);
      w.kinds.push_back(make_stage_work(w, runs));
    }
    w.kind_of.push_back(static_cast<std::uint32_t>(kind));
  }
}

}  // namespace trainyard
