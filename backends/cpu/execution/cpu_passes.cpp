// Implements forward and backward of one op: its operands, its kernel, and what it hands on.
#include <algorithm>
#include <cstring>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/task_spans.h"
#include "backends/cpu/kernels/formats.h"
#include "backends/cpu/kernels/onednn.h"
#include "backends/cpu/kernels/ops/vocab_loss.h"
#include "backends/cpu/kernels/rounded_copies.h"
#include "backends/cpu/kernels/turned_heads.h"
#include "backends/documents.h"
#include "core/base/error.h"
#include "core/methods/layers/tensor_region.h"
#include "core/model/divided_rows.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"
#include "core/program/offloaded.h"

namespace trainyard {
namespace {

// No kernel of a node takes more operands, so that no call allocates memory.
constexpr std::size_t kOperands = 32;

// Counts how often f() asks for the calling thread's prepared kernels.
template <class F>
onednn::Counts counted(F&& f) {
  const onednn::Counts before = onednn::counts();
  f();
  const onednn::Counts& now = onednn::counts();
  return {now.asked - before.asked, now.created - before.created};
}

bool is_of(const Task& task, std::int32_t op) { return op >= task.op && op < task.op + task.ops; }

struct Views {
  std::array<TensorView, kOperands> list{};
  std::vector<TensorView> more;
  std::span<TensorView> of(std::size_t n) {
    if (n <= kOperands) return {list.data(), n};
    more.resize(n);
    return more;
  }
};

}  // namespace

CpuExecution::At CpuExecution::at(InstructionId id, int peer) {
  const Instruction& in = plan_.program.instructions[id.value];
  const Task& task = plan_.program.task(in);
  const DeviceId device = plan_.device_of(id);
  return {
      in,  task, state(device, peer), plan_.place_of(task.stage, device, in.wave), in.microbatch,
      peer};
}

void CpuExecution::take_all(const At& a, bool at_end) {
  const auto& effects = plan_.program.effects;
  for (std::uint32_t e = a.task.first_effect; e < a.task.first_effect + a.task.effects; ++e)
    if (effects[e].allocate && effects[e].at_end == at_end) {
      a.device.take(a.place, a.microbatch, a.task, effects[e].buffer);
      const Buffer& buffer = plan_.program.buffers[effects[e].buffer.value];
      if (buffer.holds == Holds::Unreduced && buffer.item == 0) add_late_gradients(a);
    }
}

void CpuExecution::release_all(const At& a, bool at_end) {
  const auto& effects = plan_.program.effects;
  for (std::uint32_t e = a.task.first_effect; e < a.task.first_effect + a.task.effects; ++e)
    if (!effects[e].allocate && effects[e].at_end == at_end)
      a.device.give_back(a.place, a.microbatch, a.task, effects[e].buffer);
}

void CpuExecution::begin(InstructionId id, int peer, Scratch& scratch) {
  const At a = at(id, peer);
  std::optional<TaskSpans> spans;
  if (options_.spans != nullptr) spans.emplace(*options_.spans, plan_.program, a.task);
  try {
    take_all(a, false);
    if (a.task.kind == TaskKind::Compute) {
      if (a.task.phase == Phase::Update)
        update(a);
      else
        compute(a, scratch);
    } else if (averages_means(a)) {
      make_views(a, scratch);
      find_means(a, scratch);
    } else if (a.task.kind == TaskKind::Collective && is_context(a.task.group)) {
      make_views(a, scratch);
    }
    a.device.scratch = std::max(a.device.scratch, scratch.most());
    release_all(a, false);
  } catch (Error& error) {
    error.add_context("executing " + describe(plan_.program, id));
    throw;
  }
}

void CpuExecution::end(InstructionId id, int peer) {
  const At a = at(id, peer);
  try {
    take_all(a, true);
    if (a.task.kind == TaskKind::HostCopy && host_cargo(a.task) == HostCargo::ActivationsUp)
      a.device.leave_host(a.place, a.microbatch, a.task);
    if (a.task.kind == TaskKind::Collective && plan_.peers.ep > 1 &&
        (a.task.group == Group::Expert || (a.task.group == Group::Tensor && a.task.tensor.valid())))
      receive_copies(a);
    if (a.task.list == BodyList::Forward || a.task.list == BodyList::Backward) {
      const OpRun& op = op_of(a);
      const std::size_t layer = plan_.layer_of(a.task.layer);
      Flight& f = a.device.flight(a.place, a.microbatch);
      if (a.task.list == BodyList::Backward && a.task.group == Group::Tensor &&
          op.from.where == Operand::Where::Saved)
        f.layers[layer].narrow[static_cast<std::size_t>(op.from.index)].wide = {};
      const bool last =
          std::any_of(&op, &op + a.task.ops, [](const OpRun& one) { return one.last; });
      if (last && a.task.list == BodyList::Forward) {
        for (NarrowCopy& copy : f.layers[layer].narrow) copy.wide = {};
        deliver_side(a, layer, f);
        deliver_output(a, layer, f);
        const std::int32_t later = a.microbatch + staged_microbatches_;
        if (plan_.asynchronous && later < plan_.program.microbatches * plan_.program.steps)
          stage(a.place, layer, later, a.peer);
      }
      if (last && a.task.list == BodyList::Backward) {
        deliver_side_gradient(a, layer, f);
        deliver_gradient(a, layer, f);
      }
    }
    if (a.task.kind == TaskKind::Send && a.task.phase == Phase::Forward)
      if (Flight& f = a.device.flight(a.place, a.microbatch); f.side) {
        a.device.arena().release(f.side);
        --f.held;
      }
    if (plan_.asynchronous && a.task.kind == TaskKind::Compute && a.task.phase != Phase::Update)
      --a.device.stage(a.place).reads_left[static_cast<std::size_t>(a.instruction.weights)];
    release_all(a, true);
    const bool backward = a.task.phase != Phase::Forward && a.task.phase != Phase::Update;
    const bool ends = a.task.kind != TaskKind::Receive && !is_host(a.task.kind);
    if (backward && ends && a.device.in_flight(a.place, a.microbatch))
      if (const Flight& f = a.device.flight(a.place, a.microbatch); f.held == 0 && f.left.empty())
        a.device.land(a.place, a.microbatch);
  } catch (Error& error) {
    error.add_context("ending " + describe(plan_.program, id));
    throw;
  }
}

const OpRun& CpuExecution::op_of(const At& a) const {
  const PlacedLayer& layer = plan_.places[a.place].layers[plan_.layer_of(a.task.layer)];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
  return (a.task.list == BodyList::Forward ? layout.forward
                                           : layout.backward)[static_cast<std::size_t>(a.task.op)];
}

void CpuExecution::compute(const At& a, Scratch& scratch) {
  const StagePlacement& place = plan_.places[a.place];
  const std::size_t l = plan_.layer_of(a.task.layer);
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  Flight& f = a.device.flight(a.place, a.microbatch);
  const OpRun& op = op_of(a);
  const bool forward = a.task.list == BodyList::Forward;
  if (forward) {
    f.version = a.instruction.weights;
    read_data(a, layout, l, f);
  }
  onednn::Counts counts;
  if (a.task.ops == 1)
    counts += counted([&] {
      for (const KernelRun& one : op.runs) run(a, l, f, one, scratch);
    });
  else
    counts = compute_stage(a, l, f, layout, scratch);
  const std::int64_t step =
      std::int64_t{repetition_} * plan_.program.steps + a.microbatch / plan_.program.microbatches;
  a.device.prepared += {counts.asked, counts.created, step < 2 ? 0 : counts.created};
  if (!forward && is_of(a.task, layout.last_weight) &&
      static_cast<std::int32_t>(l) == place.counting_layer) {
    StageState& stage = a.device.stage(a.place);
    const std::size_t set =
        std::min(static_cast<std::size_t>(a.instruction.wave), stage.counts.size() - 1);
    ++stage.counts[set];
  }
}

// The operators of a stage, each core's one after another. A view that waits for an operator reads
// what any of them may have made, so that it runs when all have ended.
onednn::Counts CpuExecution::compute_stage(const At& a, std::size_t l, Flight& f,
                                           const LayerLayout& layout, Scratch& scratch) {
  const bool forward = a.task.list == BodyList::Forward;
  const auto first = static_cast<std::size_t>(a.task.op),
             count = static_cast<std::size_t>(a.task.ops);
  const std::span<const OpRun> runs((forward ? layout.forward : layout.backward).data() + first,
                                    count);
  const std::span<const BodyOp> ops(
      (forward ? layout.body->forward : layout.body->backward).data() + first, count);
  f.layers[l].routing.capacity = capacity_;
  // No operator may add an entry to the map while others look into it.
  for (const BodyOp& op : ops)
    for (const auto* tensors :
         {&(*layout.graph)[op.node].inputs, &(*layout.graph)[op.node].outputs})
      for (const TensorId id : *tensors)
        if (const Tensor& tensor = (*layout.graph)[id];
            tensor.kind == TensorKind::Statistic && tensor.shape.empty())
          f.added_losses.try_emplace(id.value);
  std::vector<onednn::Counts> counts(std::size_t{1} + ops.back().place.core);
  a.device.cores->run(static_cast<int>(counts.size()), scratch, [&](int core, Scratch& own) {
    counts[static_cast<std::size_t>(core)] = counted([&] {
      for (std::size_t i = 0; i < count; ++i)
        if (ops[i].place.core == core)
          for (const KernelRun& one : runs[i].runs) {
            run(a, l, f, one, own);
            if (one.node == ops[i].node) break;
          }
    });
  });
  onednn::Counts sum = counted([&] {
    for (std::size_t i = 0; i < count; ++i) {
      auto one = std::find_if(runs[i].runs.begin(), runs[i].runs.end(),
                              [&](const KernelRun& r) { return r.node == ops[i].node; });
      for (; one != runs[i].runs.end(); ++one)
        if (one->node != ops[i].node) run(a, l, f, *one, scratch);
    }
  });
  for (const onednn::Counts& one : counts) sum += one;
  a.device.scratch = std::max(a.device.scratch, a.device.cores->scratch() + scratch.most());
  return sum;
}

// Calls f(call, loss, job) with the arguments for the run's kernel, job by job: they are found
// once, and lie for the others at the same places of their copies of the arena. `loss` is the
// address of the model's loss, or of the gradient with which backward begins.
template <class F>
void CpuExecution::with_call(const At& a, std::size_t l, Flight& f, const KernelRun& run,
                             Scratch& scratch, F&& call_kernel) {
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  const Node& node = (*layout.graph)[run.node];
  const LayerSizes& sizes = a.device.sizes(a.place, l, f);
  LayerFlight& layer = f.layers[l];
  Scratch::Frame frame(scratch);
  const bool anchored = reads_anchor(a);
  Views storage[4];
  const auto find = [&](Views& views, const std::vector<Operand>& operands) {
    const std::span<TensorView> list = views.of(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      list[i] = operand.where == Operand::Where::Parameter
                    ? parameter(a, l, layer, operand.tensor, run.pass, scratch)
                    : a.device.view(a.place, l, f, operand);
      if (training_.bit_errors > 0 && operand.where == Operand::Where::Parameter &&
          run.pass != Pass::BackwardWeight)
        list[i] = as_stored(a, l, operand.tensor, list[i], scratch);
      if (anchored && operand.where == Operand::Where::Parameter)
        list[i] = at_anchor(a, l, operand.tensor, list[i], scratch);
      if (operand.there() && layout.seen_at_experts(node, operand.tensor))
        list[i] = a.device.at_experts(list[i], layer);
    }
    return list;
  };
  const std::span<TensorView> inputs = find(storage[0], run.inputs),
                              outputs = find(storage[1], run.outputs);
  // Tensor ranks that do not divide the layer's weights each run it as one does alone.
  const int rank = layout.body->tensor_heads ? 0 : plan_.peers.tensor_rank(a.peer);
  const SequenceRanks sequence = plan_.sequence_ranks(*layout.body, a.peer);
  // A product divided by rows adds its bias on one rank only.
  if (node.split == TensorSplit::Row && rank > 0 && run.pass == Pass::Forward && inputs.size() > 2)
    inputs[2].data = nullptr;
  std::array<FactView, 4> facts{};
  std::size_t fact_count = 0;
  for (std::int32_t s : run.facts) {
    const SavedTensor& saved = layout.body->saved[static_cast<std::size_t>(s)];
    const Allocation& held = layer.saved[static_cast<std::size_t>(s)];
    if (fact_count == facts.size()) break;
    if (saved.fact == kOutputOfHeads) continue;  // this backend's backward does not read it
    if (!held && run.pass != Pass::Forward) continue;
    const DType type = fact_type(saved.fact, plan_.workload.layout.precision);
    // A forward that will be recomputed still writes its facts, even if they are not kept.
    void* const data = held ? held.data : scratch.take(static_cast<std::size_t>(saved.bytes.value));
    facts[fact_count++] = {saved.fact, data, type, saved.bytes};
  }
  // Nor is there a place for facts of an op below all that is trained, which its forward writes
  // too.
  if (run.pass == Pass::Forward && !layout.body->wanted.empty())
    for (const Saved& saved : node.op->saved(local_node(layout, node))) {
      const bool known = std::any_of(facts.begin(), facts.begin() + fact_count,
                                     [&](const FactView& one) { return one.what == saved.what; });
      if (saved.tensor.valid() || known || fact_count == facts.size()) continue;
      facts[fact_count++] = {saved.what, scratch.take(static_cast<std::size_t>(saved.bytes.value)),
                             fact_type(saved.what, plan_.workload.layout.precision), saved.bytes};
    }
  // An output is also written to scratch if the recomputed op is only run for its facts.
  if (run.pass == Pass::Forward && a.task.list == BodyList::Backward)
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].there()) {
        outputs[i] = sizes.local[node.outputs[i].value];
        outputs[i].data = scratch.take(static_cast<std::size_t>(outputs[i].bytes().value));
      }
  const NodePlace among = sizes.binding.cp > 1
                              ? place_as_given(*layout.graph, run.node)
                              : NodePlace{run.node.value, layout.graph->nodes.size()};
  // The anchor drops what the weights have dropped of the same samples.
  const std::int64_t drawn_for =
      samples_before() + sample(a.microbatch, plan_.peers.replica(a.peer)) - (anchored ? 1 : 0);
  const auto stream = ((static_cast<std::uint64_t>(drawn_for) << 20) +
                       static_cast<std::uint64_t>(place.layers[l].model_layer)) *
                          among.of +
                      among.place;
  KernelCall call{.graph = *layout.graph,
                  .node = node,
                  .binding = sizes.binding,
                  .flash_attention = plan_.workload.layout.flash_attention,
                  .random = Random(seed_of(training_, RandomSource::Dropout), stream),
                  .inputs = inputs,
                  .outputs = outputs,
                  .facts = {facts.data(), fact_count},
                  .scratch = scratch,
                  .tensor_rank = rank,
                  .sequence = sequence.part(),
                  .routing = &layer.routing};
  // Operators beside each other share it, and only the first of a layer finds another value.
  if (layer.routing.capacity != capacity_) layer.routing.capacity = capacity_;
  call.variants = options_.variants.get();
  call.stability = training_.stability;
  if (run.pass != Pass::BackwardWeight &&
      (divides_rows(*layout.graph, node, call.binding) ||
       (node.op == &batch_norm() &&
        (shares_statistics_ || has_part_of_rows((*layout.graph)[node.inputs[0]], call.binding)))))
    call.norm_means = &layer.norm_means[run.node.value];
  DocumentBounds bounds;
  if (documents_ && reads_documents(node)) {
    bounds = documents_->bounds(first_sample(a.microbatch, a.peer),
                                plan_.workload.scenario.plan.batch.micro, sizes.binding.sequence);
    call.documents = &bounds;
  }
  // The loss is not in the ledger: it takes four bytes, in full precision whatever the format of
  // activations. Backward begins with its scale, or where gradients are
  // those of an anchor, which are subtracted, with -1.
  const float first_loss = scales_loss_ ? static_cast<float>(scaler_.scale())
                           : anchored   ? -1.0f
                                        : 1.0f;
  float loss = first_loss;
  const bool is_loss = plan_.last_stage(place) && l + 1 == f.layers.size() &&
                       node.outputs[0] == layout.graph->output;
  TensorView scalar;
  scalar.data = &loss;
  if (is_loss && run.pass == Pass::Forward) outputs[0] = scalar;
  // Nor are the losses that it is the sum of, whose gradients are its own.
  const auto is_added = [&](TensorId id) {
    const Tensor& tensor = (*layout.graph)[id];
    return id != layout.graph->output && tensor.kind == TensorKind::Statistic &&
           tensor.shape.empty();
  };
  const auto added = [&](TensorId id) {
    TensorView view;
    view.data = &f.added_losses[id.value];
    return view;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_added(node.inputs[i])) inputs[i] = added(node.inputs[i]);
  const bool is_part = is_added(node.outputs[0]);
  if (is_part && run.pass == Pass::Forward) outputs[0] = added(node.outputs[0]);
  Views weights;
  std::span<TensorView> into, from;
  if (run.pass != Pass::Forward) {
    from = find(storage[2], run.output_gradients);
    if (is_loss || is_part) from[0] = scalar;
    call.output_gradients = from;
    into = find(storage[3], run.input_gradients);
    call.input_gradients = into;
    call.adds = run.adds;
    const std::span<TensorView> list = weights.of(run.inputs.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      if (run.inputs[i].where == Operand::Where::Parameter && !is_frozen(node, i))
        list[i] = parameter_gradient(a, l, layer, run.inputs[i].tensor);
    call.weight_gradients = list;
    if (!layout.body->wanted.empty()) take_unwanted(layout, sizes, run, scratch, into, list);
  }
  std::array<std::uint8_t, 4> adds{};
  if (sequence.ranks > 1 && attends_over_ranks(node)) {
    std::copy(run.adds.begin(), run.adds.end(), adds.begin());
    call.adds = adds;
    turn_to_heads(sequence, layer, call, {inputs, outputs, into, from});
    attend_round(layer, sequence.ring(), inputs, into, adds);
  } else if (sequence.ranks > 1 && is_headwise_recurrence(node)) {
    // A recurrence sees a part of the heads of all tokens, and takes that part of its parameters,
    // which are by head or by channel.
    for (const std::span<TensorView> list : {inputs, into, weights.of(run.inputs.size())})
      turn_recurrence(*layout.graph, node.inputs, call.binding, sequence.rank, list);
    for (const std::span<TensorView> list : {outputs, from})
      turn_recurrence(*layout.graph, node.outputs, call.binding, sequence.rank, list);
  }
  const Arena& arena = a.device.arena();
  std::ptrdiff_t at = 0;  // of the job whose operands the views are
  each_job(a.device, [&](std::size_t job, std::ptrdiff_t behind) {
    if (behind != at) {
      const std::ptrdiff_t on = behind - at;
      const auto shift = [&](auto& view) {
        auto* const data = static_cast<std::byte*>(view.data);
        if (arena.contains(data - at)) view.data = data + on;
      };
      for (const std::span<TensorView> list :
           {inputs, outputs, from, into, weights.of(run.pass == Pass::Forward ? 0 : inputs.size())})
        for (TensorView& view : list) shift(view);
      for (std::size_t i = 0; i < fact_count; ++i) shift(facts[i]);
      call.random = Random(seed_of(jobs_[job].training, RandomSource::Dropout), stream);
      call.stability = jobs_[job].training.stability;
      loss = first_loss;
      at = behind;
    }
    call_kernel(call, is_loss ? &loss : nullptr, job);
  });
}

// A kernel makes all gradients of its inputs at once. Those that nobody needs are not in the
// ledger: they go to scratch memory, as do gradients of frozen weights that a kernel makes beside
// these.
void CpuExecution::take_unwanted(const LayerLayout& layout, const LayerSizes& sizes,
                                 const KernelRun& run, Scratch& scratch,
                                 std::span<TensorView> inputs,
                                 std::span<TensorView> weights) const {
  if (run.pass != Pass::BackwardInput) return;
  const Layout& settled = plan_.workload.layout;
  const Node& node = (*layout.graph)[run.node];
  const Work of_weights = node.op->work(local_node(layout, node), Pass::BackwardWeight);
  const bool beside = is_frozen(node) && of_weights.kernel < 0 && of_weights.flops.value == 0 &&
                      of_weights.read.value == 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId in = node.inputs[i];
    const TensorKind kind = (*layout.graph)[in].kind;
    const bool weight = kind == TensorKind::Parameter;
    if (weight ? !beside : kind != TensorKind::Activation || inputs[i].there()) continue;
    if (!weight && layout.body->wanted[in.value]) continue;
    TensorView& view = weight ? weights[i] : inputs[i];
    view = sizes.local[in.value];
    if (weight) view.type = settled.precision.gradient;
    view.data = scratch.take(static_cast<std::size_t>(view.bytes().value));
  }
}

LocalNode CpuExecution::local_node(const LayerLayout& layout, const Node& node) const {
  const Layout& settled = plan_.workload.layout;
  return {*layout.graph, node, layout.body->binding, settled.precision, settled.flash_attention};
}

void CpuExecution::run(const At& a, std::size_t l, Flight& f, const KernelRun& run,
                       Scratch& scratch) {
  with_call(a, l, f, run, scratch, [&](const KernelCall& call, const float* loss, std::size_t job) {
    const RecordedSpan span(SpanLevel::Op, call.node.name);
    if (run.pass == Pass::Forward && loses_over_ranks(call.node)) {
      // The ranks exchange their statistics before the loss is computed.
      const std::int64_t rows = call.inputs[1].elements();
      f.statistics.resize(static_cast<std::size_t>(rows * kVocabStatistics));
      return vocab_statistics(call, f.statistics.data());
    }
    const PlacedLayer& placed = plan_.places[a.place].layers[l];
    if (is_narrow(plan_.layouts[static_cast<std::size_t>(placed.layout)], call.node))
      run_narrow(a, l, f, run, call);
    else if (is_seen_by_statistics(a, call.node, run.pass))
      run_batch_norm(a, l, run.node, call);
    else if (call.norm_means != nullptr)
      run_with_means(a, call, run.pass);
    else
      run_kernel(call, run.pass);
    if (training_.stability > 0 && training_.stability_data.kind == CorruptionKind::Bits)
      run_rounded_copies(call, run.pass, static_cast<int>(training_.stability_data.amount));
    if (flips_ != nullptr && run.pass == Pass::Forward)
      flip_output(a, l, run.node, call.outputs[0]);
    if (call.node.op == &router() && run.pass == Pass::Forward)
      count_dropped(a, f.layers[l].routing);
    if (sight_ != nullptr && run.pass == Pass::Forward && a.task.list == BodyList::Forward)
      show_outputs(a, l, run.node, call);
    if (run.pass == Pass::Forward && loss != nullptr && a.task.list == BodyList::Forward)
      end_loss(a, *loss, job);
    if (call.binding.cp > 1 && attends_over_ranks(call.node))
      end_round(a, f.layers[l], run.pass, scratch);
  });
}

bool CpuExecution::loses_over_ranks(const Node& node) const {
  return node.op->name == "softmax_loss" && node.split == TensorSplit::Vocab && plan_.peers.tp > 1;
}

// When all ranks have all statistics, each computes the loss and its part of the softmax.
TravelPtr CpuExecution::exchange_loss(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer);
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  const std::vector<OpRun>& ops =
      a.task.list == BodyList::Forward ? layout.forward : layout.backward;
  const KernelRun* run = nullptr;
  for (const OpRun& op : ops)
    for (const KernelRun& one : op.runs)
      if (one.node == a.task.node && one.pass == Pass::Forward) run = &one;
  if (run == nullptr) refuse("a loss is reduced, and no op of the layer computes it");
  const Company company = company_of(a, members);
  std::vector<const std::byte*> from(members.size(), nullptr);
  std::size_t size = 0;
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    const Flight& f = state(a.device.device(), members[r]).flight(a.place, a.microbatch);
    from[r] = reinterpret_cast<const std::byte*>(f.statistics.data());
    size = f.statistics.size();
  }
  const auto combine = [this, company, a, members, l, run,
                        size](std::span<const std::byte* const> parts) -> TravelPtr {
    std::vector<const float*> by_rank;
    for (const std::byte* part : parts) by_rank.push_back(reinterpret_cast<const float*>(part));
    std::vector<float> combined(size);
    combine_vocab_statistics(by_rank, static_cast<std::int64_t>(size) / kVocabStatistics,
                             combined.data());
    Scratch scratch;
    for (std::size_t r = 0; r < members.size(); ++r) {
      if (!company.here(r)) continue;
      const At to = {a.instruction, a.task,       state(a.device.device(), members[r]),
                     a.place,       a.microbatch, members[r]};
      Flight& f = to.device.flight(a.place, a.microbatch);
      with_call(to, l, f, *run, scratch,
                [&](const KernelCall& call, const float* loss, std::size_t job) {
                  vocab_loss(call, combined.data());
                  if (loss != nullptr && to.task.list == BodyList::Forward)
                    end_loss(to, *loss, job);
                });
    }
    return nullptr;
  };
  return spread(company, std::move(from),
                std::vector<std::size_t>(members.size(), size * sizeof(float)), combine);
}

// --- data ---

// The index of a sample in data order: the replicas of a step follow one another.
std::int64_t CpuExecution::sample(std::int32_t microbatch, int replica) const {
  const std::int64_t m = plan_.program.microbatches;
  return (microbatch / m * plan_.peers.replicas() + replica) * m + microbatch % m;
}

void CpuExecution::read_data(const At& a, const LayerLayout& layout, std::size_t l, Flight& f) {
  for (std::size_t i = 0; i < layout.data.size(); ++i) {
    if (!is_of(a.task, static_cast<std::int32_t>(layout.data_at[i]))) continue;
    const bool flows = layout.data[i].first == layout.graph->input;
    if (flows && plan_.places[a.place].layers[l].model_layer > 0) continue;
    const TensorView into = a.device.view(a.place, l, f, layout.data[i].second);
    if (!into.there())
      refuse("there is no place for \"" + (*layout.graph)[layout.data[i].first].name + "\"");
    each_job(a.device, [&](std::size_t job, std::ptrdiff_t behind) {
      auto* const to = static_cast<std::byte*>(into.data) + behind;
      const Staged& from = staged(first_operand_[a.place][l] + i, a.microbatch, a.peer, job);
      if (from.microbatch == a.microbatch)
        std::memcpy(to, from.data.data(), from.data.size());
      else
        fill(layout, layout.data[i].first, into, a.microbatch, a.peer, jobs_[job].source, to);
    });
  }
}

}  // namespace trainyard
