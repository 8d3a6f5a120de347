// Checks for what the CPU backend cannot execute, and says why.
#include <algorithm>
#include <numeric>
#include <set>

#include "backends/anchored.h"
#include "backends/cpu/check_training.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/exchange/partial_gradient.h"
#include "backends/cpu/execution/run_plan.h"
#include "backends/documents.h"
#include "backends/executable.h"
#include "core/methods/catalogue.h"
#include "core/methods/layers/context_region.h"
#include "core/methods/layers/tensor_region.h"
#include "core/methods/layers/transients.h"
#include "core/model/edit.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"
#include "core/program/facts.h"
#include "core/training/optimizers/delayed_update.h"

namespace trainyard {
namespace {

bool has_lanes_that_share_devices(const Workload& w) {
  const Order made = order(w, schedule_shape(w));
  std::set<DeviceId> devices;
  return std::any_of(made.lanes.begin(), made.lanes.end(),
                     [&](const Lane& lane) { return !devices.insert(lane.device).second; });
}

// Ranks average what they find of a row, of which all have equal parts.
void check_norms(const Workload& w, Diagnostics& found) {
  const Binding& b = w.layout.binding;
  for (const Block& block : w.scenario.model.blocks)
    for (const Node& node : block.graph.nodes) {
      if (!divides_rows(block.graph, node, b)) continue;
      const Dim& row = block.graph[node.inputs[1]].shape.back();
      if (row.size % parts(row, b) == 0) continue;
      add_error(
          found,
          "tensor ranks take a norm of equal parts of a row, found tp=" + std::to_string(b.tp) +
              " and rows of " + std::to_string(row.size) + " in " + node.name + " of " + block.name,
          "plan#/mesh/tp", "tp=1");
      return;
    }
}

bool is_sequence(const Dim& d) {
  return d.axis == Axis::Sequence || d.axis == Axis::SequenceRegion;
}

// Attention has the keys and values of the whole sequence, a recurrence some heads of it, and a
// pooler is given its first token; the other ops treat each token by itself.
bool runs_on_part_of_sequence(const Node& node) {
  static const std::set<const Op*> list = {
      &attention(),    &matmul(),       &embedding(),     &layer_norm(),    &rms_norm(),
      &rotary(),       &add(),          &multiply(),      &scale(),         &gelu(),
      &relu(),         &tanh_op(),      &gated_silu(),    &gated_gelu(),    &dropout(),
      &softmax_loss(), &split_qkv(),    &concat_heads(),  &squared_error(), &router(),
      &dispatch(),     &combine(),      &routed_matmul(), &squared_relu(),  &sigmoid_gate(),
      &first_token(),  &place_images(), &layer_scale(),   &formula_op()};
  return list.contains(node.op) || is_headwise_recurrence(node);
}

// Sequence parallel divides the tokens between the tensor regions: each rank computes with its own,
// except that it gathers those of which a node takes the first.
void check_sequence_regions(const Workload& w, Diagnostics& found) {
  const Binding& b = w.layout.binding;
  if (b.tp == 1 || !b.sequence_parallel) return;
  for (const Block& block : w.scenario.model.blocks)
    for (const Node& node : block.graph.nodes) {
      const auto divided = [&](TensorId id) {
        const Shape& shape = block.graph[id].shape;
        return std::any_of(shape.begin(), shape.end(),
                           [](const Dim& d) { return d.axis == Axis::SequenceRegion; });
      };
      if (node.split != TensorSplit::None || runs_on_part_of_sequence(node) ||
          (std::none_of(node.inputs.begin(), node.inputs.end(), divided) &&
           std::none_of(node.outputs.begin(), node.outputs.end(), divided)))
        continue;
      add_error(found,
                "under sequence parallel a rank runs ops on one token each outside the tensor "
                "region, found " +
                    node.name + " (" + std::string(node.op->name) + ") of " + block.name,
                "plan#/choices/tensor-parallel", "sequence-parallel=off");
      return;
    }
}

// Why ranks cannot divide the sequence of a tensor; "" if they can.
std::string undivided_sequence(const Tensor& t, const Binding& b) {
  for (std::size_t d = 0; d < t.shape.size(); ++d) {
    if (!is_sequence(t.shape[d])) continue;
    if (d > 0 || t.kind == TensorKind::Parameter)
      return "as the first dimension of what flows through the model, found " + to_text(t.shape);
    const std::int64_t tokens = t.shape[d].size > 0 ? t.shape[d].size : b.sequence;
    const bool in_region = t.shape[d].axis == Axis::SequenceRegion && b.sequence_parallel;
    const std::int64_t pieces = std::lcm(2 * b.cp, b.cp * (in_region ? b.tp : 1));
    if (tokens % pieces != 0)
      return "into " + std::to_string(pieces) + " equal pieces, found " + std::to_string(tokens) +
             " tokens";
  }
  return "";
}

// Ranks that exchange heads turn what one op reads in place, so that nothing else may read it.
void check_heads(const Workload& w, Diagnostics& found) {
  for (const Body& body : w.bodies) {
    const Binding& b = body.binding;
    if (b.cp == 1) continue;
    const Block& block = w.scenario.model.blocks[static_cast<std::size_t>(body.block)];
    const Graph& graph = block.graph;
    const auto readers = [&](TensorId id) {
      std::ptrdiff_t count = id == graph.input || id == graph.side_input ? 1 : 0;
      for (const Node& node : graph.nodes)
        count += std::count(node.inputs.begin(), node.inputs.end(), id);
      return count;
    };
    for (const Node& node : graph.nodes)
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorId in = node.inputs[i];
        const bool attends = attends_over_ranks(node) && i < 3 && b.ulysses > 1,
                   recurs =
                       is_headwise_recurrence(node) && graph[in].kind == TensorKind::Activation;
        if ((!attends && !recurs) || readers(in) == 1) continue;
        add_error(found,
                  "a local run exchanges the heads of what one op alone reads, found that " +
                      graph[in].name + " of " + block.name + " has other readers than " + node.name,
                  body.tensor_heads ? "plan#/choices/tensor-parallel"
                  : attends         ? "plan#/choices/context-parallel/kind"
                                    : "plan#/mesh/cp",
                  body.tensor_heads ? "tensor-parallel.ulysses-layers=none"
                  : attends         ? "context-parallel.kind=ring"
                                    : "cp=1");
        return;
      }
  }
}

void check_contexts(const Workload& w, Diagnostics& found) {
  const Binding& b = w.layout.binding;
  check_heads(w, found);
  if (b.cp == 1) return;
  const auto refuse_block = [&](const Block& block, std::string sentence) {
    add_error(found, std::move(sentence) + " of " + block.name, "plan#/mesh/cp", "cp=1");
  };
  for (const Block& block : w.scenario.model.blocks) {
    for (const Tensor& t : block.graph.tensors)
      if (const std::string why = undivided_sequence(t, b); !why.empty()) {
        refuse_block(block,
                     "cp=" + std::to_string(b.cp) + " divides a sequence " + why + " in " + t.name);
        break;
      }
    for (const Node& node : block.graph.nodes) {
      const auto has_sequence = [&](TensorId id) {
        const Shape& shape = block.graph[id].shape;
        return std::any_of(shape.begin(), shape.end(), is_sequence);
      };
      const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), has_sequence);
      const bool writes = std::any_of(node.outputs.begin(), node.outputs.end(), has_sequence);
      if ((!reads && !writes) || runs_on_part_of_sequence(node)) continue;
      refuse_block(block,
                   "a rank that has a part of a sequence runs ops on one token each, and "
                   "attention, found " +
                       node.name + " (" + std::string(node.op->name) + ")");
      break;
    }
  }
}

// A layer keeps one choice of experts for a microbatch: one router makes it, and all ops of routed
// experts follow it.
bool follows_one_choice(const Graph& graph) {
  const std::vector<bool> copies = copies_of_tokens(graph);
  TensorId scores;
  int dispatches = 0;
  for (const Node& node : graph.nodes) {
    if (node.op == &router()) {
      if (scores.valid()) return false;
      scores = node.outputs[0];
    }
    if (node.op == &dispatch() && ++dispatches > 1) return false;
    const bool scored = node.op == &dispatch() || node.op == &combine();
    if (scored && node.inputs[1] != scores) return false;
    const bool reads_copies = node.op == &routed_matmul() || node.op == &combine();
    if (reads_copies && !copies[node.inputs[0].value]) return false;
  }
  return true;
}

void check_experts(const Workload& w, Diagnostics& found) {
  const Model& model = w.scenario.model;
  bool routed = false;
  for (const Block& block : model.blocks) {
    routed = routed || routed_experts(block.graph) > 0;
    if (!follows_one_choice(block.graph))
      add_error(found,
                "a local run executes layers of one router, whose scores one dispatch and one "
                "combine take, found other ways of tokens in " +
                    block.name,
                "model#/blocks/" + block.name);
  }
  if (!routed) return;
  if (const Choice* chosen = find_choice(w.scenario.plan, "expert-parallel")) {
    const Params& params = chosen->params;
    if (params.has("imbalance") && params.number("imbalance") != 1)
      add_error(found, "a local run has the loads that its router gives, found an imbalance stated",
                "plan#/choices/expert-parallel/imbalance", "expert-parallel.imbalance=1");
  }
}

void check_model(const Workload& w, Diagnostics& found) {
  const Model& model = w.scenario.model;
  check_executable(model, "a local run", found);
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (share_of_positions(node) < 1) {
        add_error(found,
                  "a local run trains on all positions, found " + node.name + " of " + block.name +
                      " on a share of them",
                  "model#/blocks/" + block.name);
        break;
      }
}

// A parameter whose gradient an op makes in its input pass, where no weight pass of the layer comes
// behind it to add it to what is scattered at its end. Null: the body has none.
const Tensor* gradient_without_weight_pass(const Workload& w, const Body& body) {
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  for (const BodyOp& op : body.backward)
    for (const TensorId made : made_in_input_pass(body, graph, op))
      if (std::none_of(body.transients.begin(), body.transients.end(),
                       [&](const Transient& t) { return t.gradient && t.tensor == made; }))
        return &graph[made];
  return nullptr;
}

// The convolution before a scan, whose weight pass makes its sums again and reads its weights: a
// layer that is gathered for the input pass has returned them by then. Null: the body has none.
const Node* reads_weights_again(const Workload& w, const Body& body) {
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  for (const BodyOp& op : body.backward)
    if (!op.communication && op.pass == Pass::BackwardWeight &&
        graph[op.node].op == &causal_convolution())
      return &graph[op.node];
  return nullptr;
}

void check_split_backward(const Workload& w, Diagnostics& found) {
  if (!splits_backward(w)) return;
  for (const Body& body : w.bodies)
    if (const Node* reads = w.layout.weight_shards > 1 && body.resident.value == 0
                                ? reads_weights_again(w, body)
                                : nullptr) {
      add_error(
          found,
          "zero=3 gathers the weights of a layer for its input pass, and the weight pass of " +
              reads->name + " reads them too",
          "plan#/choices/zero/stage", "zero=2");
      return;
    }
  for (const Body& body : w.bodies)
    if (const Tensor* made =
            body.unreduced.value > 0 ? gradient_without_weight_pass(w, body) : nullptr) {
      add_error(found,
                "zero=2 and zero=3 scatter the gradients of a layer at the end of its weight pass, "
                "which the layer of " +
                    made->name + " does not have behind the input pass that makes its gradient",
                "plan#/choices/zero/stage", "zero=1");
      return;
    }
}

void check_precision(const Workload& w, Diagnostics& found) {
  const Precision& p = w.layout.precision;
  for (DType type : {p.parameter, p.activation, p.gradient})
    if (type != DType::F32 && type != DType::BF16 && type != DType::F16) {
      add_error(found,
                "a local run stores fp32, bf16 or fp16, found " + std::string(to_string(type)),
                "plan#/choices", "precision=bf16");
      return;
    }
}

// Where ranks divide an update, each has a new version whole only once it is gathered, before the
// next forward of the lane that updates.
void check_divided_updates(const Workload& w, const Program& program, const Training& training,
                           Diagnostics& found) {
  const auto refuse_zero = [&](std::string sentence) {
    add_error(found, std::move(sentence), "plan#/choices/zero/stage", "zero=0");
  };
  const Method& schedule = schedule_of(w.scenario.plan);
  const Choice* choice = find_choice(w.scenario.plan, schedule.name);
  const std::string name(schedule.name);
  const std::vector<StageFacts> stages = facts(program);
  if (has_lanes_that_share_devices(w))
    refuse_zero("zero gathers weights in the lane that updates them, and lanes of " + name +
                " that share a device read them before");
  else if (std::any_of(stages.begin(), stages.end(),
                       [](const StageFacts& f) { return !f.consistent; }))
    refuse_zero("zero gathers weights before the next forward, and backwards of " + name +
                " read them before");
  else if (std::any_of(stages.begin(), stages.end(), [&](const StageFacts& f) {
             return derives_weights(
                 update_rule_of(schedule.name, choice->params, f, training.rate,
                                w.scenario.plan.optimizer == "momentum" ? training.momentum : 0));
           }))
    refuse_zero(name +
                " predicts weights from optimizer state, of which zero leaves each rank a "
                "part");
  else if (w.scenario.plan.optimizer == "lars" || w.scenario.plan.optimizer == "lamb")
    refuse_zero(w.scenario.plan.optimizer +
                " needs norms over all that divide an update, between two updates of a stage");
  if (std::any_of(w.bodies.begin(), w.bodies.end(),
                  [](const Body& body) { return body.resident.value > 0; }))
    add_error(found,
              "reshard-after-forward=off keeps one version of the gathered weights, and backwards "
              "of an asynchronous schedule read older ones",
              "plan#/choices/zero/reshard", "reshard-after-forward=on");
}

void check_asynchronous(const Workload& w, const Program& program, const Training& training,
                        Diagnostics& found) {
  if (!has_updates(order(w, schedule_shape(w)))) return;
  const std::string& rule = w.scenario.plan.optimizer;
  if (training.clip > 0)
    add_error(
        found,
        "clip needs the gradients of all stages at one moment, which an asynchronous schedule "
        "never has",
        "--train", "clip=0");
  if (w.layout.precision.activation == DType::F16)
    add_error(found,
              "fp16 skips updates whose gradients overflow on any stage, which an asynchronous "
              "schedule cannot know",
              "plan#/choices", "precision=bf16");
  const auto tied = [](const Block& block) {
    return std::any_of(block.graph.tensors.begin(), block.graph.tensors.end(),
                       [](const Tensor& t) { return !t.tied_to.empty(); });
  };
  const std::vector<Block>& blocks = w.scenario.model.blocks;
  if (w.layout.tied_copies && std::any_of(blocks.begin(), blocks.end(), tied))
    add_error(found,
              "the first and the last stage share a table, and an asynchronous schedule never has "
              "both of its gradients at one moment",
              "plan#/choices", "schedule=1f1b");
  if (w.layout.optimizer_shards > 1) check_divided_updates(w, program, training, found);
  const Binding& b = w.layout.binding;
  if (b.tp > 1 && b.sequence_parallel)
    add_error(
        found,
        "under sequence parallel the gradients of norms are summed over the tensor ranks before "
        "an update, which an asynchronous schedule does not wait for",
        "plan#/choices/tensor-parallel", "sequence-parallel=off");
  for (const Block& block : w.scenario.model.blocks)
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t) {
      const Tensor& tensor = block.graph.tensors[t];
      if (tensor.kind != TensorKind::Parameter ||
          partial_gradient(block.graph, {t}, b) != PartialGradient::OwnHeads)
        continue;
      const auto keys = std::find_if(tensor.shape.begin(), tensor.shape.end(),
                                     [](const Dim& d) { return d.axis == Axis::KvHeads; });
      const std::int64_t most = keys != tensor.shape.end() ? keys->units : 1;
      add_error(found,
                "each tensor rank finds only its heads' share of the gradient of " + tensor.name +
                    " in " + block.name +
                    ", and an asynchronous schedule does not wait for the sum",
                "plan#/mesh/tp", "tp=" + std::to_string(std::max<std::int64_t>(1, most)));
      return;
    }
  if ((rule == "lars" || rule == "lamb") && w.layout.binding.tp > 1)
    add_error(found, rule + " needs norms over all tensor ranks between two updates of a stage",
              "plan#/optimizer", "optimizer=momentum");
}

// State on NVMe is in memory once in an update, and rules that scale by the norm of what a tensor
// is changed by may read it twice.
void check_nvme(const Workload& w, Diagnostics& found) {
  const std::string& rule = w.scenario.plan.optimizer;
  if (w.layout.nvme_optimizer && (rule == "lars" || rule == "lamb"))
    add_error(found,
              "a local run reads optimizer state from NVMe once in an update, and " + rule +
                  " needs it for its norms before",
              "plan#/optimizer", "optimizer=adamw");
}

// A stage hands an output that it keeps to the next stage of its device where it lies, and the host
// may have it by then.
void check_offload(const BackendJob& job, Diagnostics& found) {
  const Workload& w = job.workload;
  if (!w.layout.host_activations || w.scenario.plan.mesh.pp > 1) return;
  const RunPlan plan(w, job.program);
  for (const StagePlacement& place : plan.places) {
    const PlacedLayer& last = place.layers.back();
    const LayerLayout& layout = plan.layouts[static_cast<std::size_t>(last.layout)];
    if (place.after < 0 || layout.output.where != Operand::Where::Saved) continue;
    add_error(found,
              "a local run moves activations that no other stage of the device reads, found that "
              "the stage after layer " +
                  std::to_string(last.model_layer) + " reads " +
                  (*layout.graph)[layout.graph->output].name + ", which that layer keeps",
              "plan#/mesh/pp", "virtual-stages=1");
    return;
  }
}

}  // namespace

Diagnostics CpuBackend::check(const BackendJob& job) {
  if (job.training == nullptr)
    return {{Diagnostic::Severity::Error,
             "the CPU backend trains, and was given no training",
             {"training"},
             ""}};
  const Workload& w = job.workload;
  Diagnostics found = trainyard::check(*job.training);
  check_norms(w, found);
  check_sequence_regions(w, found);
  check_model(w, found);
  check_contexts(w, found);
  check_experts(w, found);
  check_split_backward(w, found);
  check_precision(w, found);
  check_nvme(w, found);
  check_executable(job.program, found);
  if (!has_errors(found)) check_offload(job, found);
  if (!has_errors(found)) check_asynchronous(w, job.program, *job.training, found);
  if (!has_errors(found) && job.data != nullptr && job.data->acting() &&
      has_updates(order(w, schedule_shape(w))))
    add_error(found,
              std::string(job.data->name()) +
                  " acts with the newest parameters before each update, which an asynchronous "
                  "schedule never has all at one moment",
              "plan#/choices", "schedule=1f1b");
  check_training(job, found);
  check_anchored(job, "a local run", found);
  if (w.layout.binding.documents != nullptr)
    check_documents(job, "a local run", found);
  else if (job.data != nullptr)
    for (Diagnostic& d : job.data->check(w.scenario.model)) found.push_back(std::move(d));
  return found;
}

}  // namespace trainyard
