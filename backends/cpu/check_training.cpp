// Implements which trainings and options a plan cannot be run with on the CPU backend.
#include "backends/cpu/check_training.h"

#include <algorithm>

#include "backends/cpu/execution/run_plan.h"
#include "backends/cpu/execution/state/shard_saves.h"
#include "backends/cpu/kernels/rounded_copies.h"
#include "backends/executable.h"
#include "backends/processes.h"
#include "core/methods/catalogue.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/model/ops.h"
#include "core/model/sparse_weights.h"
#include "core/plan/batch_ramp.h"
#include "core/training/data/corrupted_data.h"

namespace trainyard {
namespace {

// The stability loss compares rows of whole answers, a sample's with those of its copy.
void check_stability(const BackendJob& job, Diagnostics& found) {
  const Training& training = *job.training;
  if (training.stability == 0) return;
  const Workload& w = job.workload;
  const Model& model = w.scenario.model;
  const std::vector<Node>& last = model.blocks.back().graph.nodes;
  const auto loss = std::find_if(last.begin(), last.end(),
                                 [](const Node& node) { return node.op == &softmax_loss(); });
  const std::int64_t micro = w.scenario.plan.batch.micro;
  const auto refuse = [&](const std::string& sentence, std::string place, std::string fix) {
    add_error(found, "the stability loss " + sentence, std::move(place), std::move(fix));
  };
  if (loss == last.end() || last.back().op != &softmax_loss())
    return refuse("compares the classes that a model answers with, found a model of another loss",
                  "--train stability", "stability=0");
  if (micro % 2 != 0)
    refuse("takes microbatches of pairs, a sample and its corrupted copy, found " +
               std::to_string(micro) + (micro == 1 ? " sample" : " samples"),
           "plan#/batch/micro", "micro=" + std::to_string(micro + 1));
  if (w.layout.binding.documents != nullptr)
    refuse("pairs whole samples, found documents that share one", "plan#/choices/packing",
           "packing=none");
  if (w.layout.binding.cp > 1)
    refuse("corrupts whole samples, found cp=" + std::to_string(w.layout.binding.cp),
           "plan#/mesh/cp", "cp=1");
  if (w.layout.binding.tp > 1 && loss->split == TensorSplit::Vocab)
    refuse("compares whole rows of answers, found a vocabulary that tensor ranks divide",
           "plan#/mesh/tp", "tp=1");
  if (job.data != nullptr && job.data->acting())
    refuse("corrupts data that are read, found " + std::string(job.data->name()) + ", which acts",
           "--data", "stability=0");
  if (training.stability_data.kind == CorruptionKind::Bits) {
    if (w.layout.binding.tp > 1)
      refuse("rounds whole channels of weights, found tp=" + std::to_string(w.layout.binding.tp),
             "plan#/mesh/tp", "tp=1");
    if (w.layout.precision.parameter != DType::F32 || w.layout.precision.activation != DType::F32)
      refuse("rounds weights of 4 bytes beside activations of as many, found another format",
             "plan#/choices", "precision=fp32");
    for (const Block& block : model.blocks)
      for (const Node& node : block.graph.nodes)
        if (reads_matrix(block.graph, node) && !can_round_copies(block.graph, node))
          return refuse(
              "rounds the weights of products, convolutions and tables that are read for "
              "each sample, found " +
                  node.name + " (" + std::string(node.op->name) + ")",
              "--train stability-data", model.tokens ? "replace:0.1" : "noise:0.3");
  }
  for (Diagnostic& d : check_corruption(model, training.stability_data, {"--train stability-data"}))
    found.push_back(std::move(d));
}

// A microbatch is repeated on the device that has found its loss, and a range is of whole tensors.
void check_bit_errors(const BackendJob& job, Diagnostics& found) {
  const Training& training = *job.training;
  const Workload& w = job.workload;
  const Plan& plan = w.scenario.plan;
  const Binding& binding = w.layout.binding;
  const auto refuse = [&](const std::string& sentence, std::string place, std::string fix) {
    add_error(found, sentence, std::move(place), std::move(fix));
  };
  if (training.weight_clip > 0 && combines_updates(plan))
    refuse(
        "weights are clipped by the replica that updates them, and Adasum adds the changes of "
        "several to them afterwards",
        "--train weight-clip", "weight-clip=0");
  const Synchrony synchrony = synchrony_of(plan);
  if (training.weight_clip > 0 && (synchrony.served() || synchrony.elasticity > 1))
    refuse(
        "weights are clipped by the replica that updates them, and a server or a centre moves "
        "them further afterwards",
        "--train weight-clip", "weight-clip=0");
  if (training.bit_errors == 0) return;
  const std::string what = "training against bit errors ";
  if (has_updates(order(w, schedule_shape(w))))
    refuse(what + "repeats microbatches of one update, which an asynchronous schedule does not end",
           "plan#/choices", "schedule=1f1b");
  if (w.runs.size() > 1)
    refuse(what + "needs the loss of a microbatch where its repetition begins, found " +
               std::to_string(w.runs.size()) + " stages",
           "plan#/mesh/pp", "pp=1");
  if (binding.tp > 1)
    refuse(what + "takes the range of whole tensors, found tp=" + std::to_string(binding.tp),
           "plan#/mesh/tp", "tp=1");
  if (binding.cp > 1)
    refuse(what + "needs the loss of whole samples, found cp=" + std::to_string(binding.cp),
           "plan#/mesh/cp", "cp=1");
  if (binding.ep > 1)
    refuse(what + "takes the range of whole tensors, found ep=" + std::to_string(binding.ep),
           "plan#/mesh/ep", "ep=1");
  if (job.program.microbatches % 2 != 0)
    refuse(what +
               "takes an even number of microbatches, of which every second one repeats the one "
               "before it, found " +
               std::to_string(job.program.microbatches),
           "plan#/batch/micro", "");
  if (batch_ramp_of(plan))
    refuse(what + "repeats microbatches of one size, found a batch that grows", "plan#/choices",
           "batch-ramp=off");
  if (binding.documents != nullptr)
    refuse(what + "repeats whole samples, found documents that share one", "plan#/choices/packing",
           "packing=none");
  if (narrow_scaling(w) != nullptr)
    refuse(what + "has codes of its own, found products in 8 or 4 bits, or in flex16",
           "plan#/choices", "precision=bf16");
  if (training.stability > 0)
    refuse(what + "repeats microbatches as they are, found copies that stability corrupts",
           "--train stability", "stability=0");
  if (job.data != nullptr && job.data->acting())
    refuse(what + "repeats data that are read, found " + std::string(job.data->name()) +
               ", which acts",
           "--data", "bit-errors=0");
}

// Bits flip in numbers that a step has ended with on every device, and the run goes back to them.
void check_bit_flips(const BackendJob& job, Diagnostics& found) {
  const BitFlips& flips = job.training->flips;
  if (!flips.on()) return;
  const Workload& w = job.workload;
  const Plan& plan = w.scenario.plan;
  const std::string what = "flipped bits ";
  const auto refuse = [&](const std::string& sentence, std::string place, std::string fix) {
    add_error(found, what + sentence, std::move(place), std::move(fix));
  };
  if (has_updates(order(w, schedule_shape(w))))
    refuse("are counted by the steps that all stages end together, found an asynchronous schedule",
           "plan#/choices", "schedule=1f1b");
  if (combines_updates(plan) || synchrony_of(plan).relaxed() ||
      compression_of(plan).how != Compress::None)
    refuse(
        "are of one model that all replicas hold alike, found replicas that update apart or "
        "send a part of their gradients",
        "plan#/choices", "dp=1");
  if (w.layout.host_optimizer || w.layout.host_activations)
    refuse("are of what devices hold, found a plan that offloads to the host", "plan#/choices",
           "offload=none");
  const TensorFormats formats = tensor_formats(plan);
  if (narrow_scaling(w) != nullptr || formats.remainder || formats.has_scaled_state())
    refuse(
        "are of numbers in fp32, bf16 or fp16, found a plan that keeps codes or parts of numbers",
        "plan#/choices", "precision=bf16");
  if (trains_by_halp(plan))
    refuse("would be of two copies of each weight, found optimizer=halp", "plan#/optimizer",
           "optimizer=sgd");
  if (batch_ramp_of(plan))
    refuse("are counted over one run, found a batch that grows in phases", "plan#/choices",
           "batch-ramp=off");
  if (job.data != nullptr && job.data->acting())
    refuse("leave the data as they are, found " + std::string(job.data->name()) + ", which acts",
           "--data", "flip-bits=off");
  const auto tied = [](const Block& block) {
    return std::any_of(block.graph.tensors.begin(), block.graph.tensors.end(),
                       [](const Tensor& t) { return !t.tied_to.empty(); });
  };
  const std::vector<Block>& blocks = w.scenario.model.blocks;
  if (flips.flips() && w.layout.tied_copies && std::any_of(blocks.begin(), blocks.end(), tied))
    refuse("would part the two copies of a table that the first and the last stage share",
           "plan#/mesh/pp", "pp=1");
}

// A weight that is grown begins at zero, and pruned ones stay there.
void check_sparse(const BackendJob& job, Diagnostics& found) {
  if (job.training->sparsity > 0 && has_sparse_weights(job.workload.scenario.model))
    add_error(found,
              "a run prunes weights that are stored as matrices, found a plan whose weights are "
              "sparse",
              "--train sparsity", "--train sparsity=0");
}

// Its memory of what it did is held by one process, and no checkpoint has it.
Diagnostics check_acting(const DataSource& data, const CpuOptions& options) {
  Diagnostics found;
  const std::string name(data.name());
  const auto refuse = [&](std::string sentence, std::string flag, std::string fix) {
    found.push_back(
        {Diagnostic::Severity::Error, std::move(sentence), {std::move(flag)}, std::move(fix)});
  };
  if (options.resume)
    refuse("expected a run from its beginning: a checkpoint does not hold what " + name +
               " remembers of the episodes before",
           "--resume", "no --resume");
  if (options.processes != nullptr)
    refuse("expected one process, found " + std::to_string(options.processes->count()) + ": " +
               name + " acts with all parameters, which no process of several has",
           "--backend", "--backend cpu without mpirun");
  return found;
}

// The process of a rank keeps the rows of the rank before it, so that each rank has a process.
Diagnostics check_shards(const BackendJob& job, const CpuOptions& options) {
  const PartialRecovery& recovery = job.training->recovery;
  const Processes* const processes = options.processes;
  if (!recovery.on() || processes == nullptr) return {};
  Diagnostics found;
  const auto refuse = [&](std::string sentence, std::string place, std::string fix) {
    found.push_back(
        {Diagnostic::Severity::Error, std::move(sentence), {std::move(place)}, std::move(fix)});
  };
  const auto ranks = std::to_string(job.program.replicas);
  if (processes->count() != job.program.replicas)
    refuse("expected a process for each of the " + ranks + " ranks of cpr, found " +
               std::to_string(processes->count()),
           "--processes", "--processes " + ranks);
  if (recovery.kills.empty()) return found;
  if (!processes->replaces())
    refuse("expected processes of which one can be lost: MPI ends all with one", "--train cpr-kill",
           "--processes " + ranks + " without mpirun");
  return found;
}

}  // namespace

void check_training(const BackendJob& job, Diagnostics& found) {
  check_sparse(job, found);
  check_stability(job, found);
  check_bit_errors(job, found);
  check_bit_flips(job, found);
  check_recovery(job, found);
}

Diagnostics check_options(const BackendJob& job, const CpuOptions& options) {
  Diagnostics found;
  const auto add = [&](const Diagnostics& more) {
    found.insert(found.end(), more.begin(), more.end());
  };
  if (const auto acting = job.data->acting()) add(check_acting(*acting, options));
  add(check_shards(job, options));
  return found;
}

}  // namespace trainyard
