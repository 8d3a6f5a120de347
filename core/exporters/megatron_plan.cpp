#include "core/exporters/megatron_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/exporters/decoder_spec.h"
#include "core/io/plans/megatron_layout.h"
#include "core/methods/catalogue.h"
#include "core/methods/memory/layer_policy.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/settings/resharding.h"
#include "core/plan/batch_ramp.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

constexpr std::string_view kOverlap = "plan#/choices/overlap";

constexpr std::int64_t kTrialSteps = 20, kTrialWarmup = 2;

bool batch_grows(const Plan& plan) { return batch_phases(plan).size() > 1; }

// Samples of the first steps of a training.
std::int64_t samples_of_steps(const Plan& plan, std::int64_t steps) {
  std::int64_t samples = 0;
  for (const BatchPhase& phase : batch_phases(plan)) {
    const std::int64_t left = steps - phase.first_step;
    if (left <= 0) break;
    samples += phase.batch * (phase.steps > 0 ? std::min(left, phase.steps) : left);
  }
  return samples;
}

// A run whose batch grows is as long as its samples say; its steps alone would be refused.
MegatronWords trial_length(const Plan& plan) {
  if (!batch_grows(plan)) return {fmt::format("--train-iters {}", kTrialSteps)};
  return {fmt::format("--train-samples {}", samples_of_steps(plan, kTrialSteps))};
}

// The listed form counts tokens, and its largest batch is the global one, which must not be stated
// beside it.
MegatronWords batches(const Plan& plan) {
  const std::string global = fmt::format("--global-batch-size {}", plan.batch.global);
  if (!batch_grows(plan)) return {global};
  const BatchRamp ramp = *batch_ramp_of(plan);
  if (ramp.listed.empty())
    return {global,
            fmt::format("--rampup-batch-size {} {} {}", ramp.start, ramp.increment, ramp.samples)};
  std::string text;
  for (const BatchRamp::Size& size : ramp.listed)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", size.from * plan.batch.sequence,
                        size.batch);
  return {fmt::format("--step-batch-size-schedule \"{}\"", text)};
}

// Returns the order of the axes, without those of one rank.
std::string order_of(const Mesh& mesh, std::string_view order) {
  std::string kept;
  for (std::string_view rest = order; !rest.empty();) {
    const std::size_t dash = std::min(rest.find('-'), rest.size());
    const std::string_view axis = rest.substr(0, dash);
    const int degree = axis == "tp"   ? mesh.tp
                       : axis == "cp" ? mesh.cp
                       : axis == "ep" ? mesh.ep
                       : axis == "pp" ? mesh.pp
                                      : mesh.dp.value_or(1);
    if (degree > 1) kept += fmt::format("{} ", axis);
    rest.remove_prefix(std::min(dash + 1, rest.size()));
  }
  return kept;
}

void rank_order(const Mesh& mesh, MegatronWords& to, Limits& limits) {
  const std::string order = order_of(mesh, mesh.order);
  if (order == order_of(mesh, "tp-cp-ep-dp-pp")) return;
  if (order != order_of(mesh, "tp-cp-ep-pp-dp")) {
    limits.refuse("plan#/mesh/order",
                  fmt::format("ranks lie as tp-cp-ep-dp-pp or tp-cp-ep-pp-dp there, and the plan's "
                              "as {}",
                              mesh.order),
                  "rank-order=tp-cp-ep-dp-pp");
    return;
  }
  to.emplace_back("--use-tp-pp-dp-mapping");
  // The program makes groups of experts for every model. Where stages are not the outermost axis,
  // experts must have as many replicas as the other weights (dp).
  if (const std::int64_t experts = ranks(mesh, Group::ExpertData); experts != mesh.dp)
    limits.refuse("plan#/mesh/order",
                  fmt::format("stages that lie inside data parallel (--use-tp-pp-dp-mapping) need "
                              "as many replicas of experts as of other weights (dp {}), found {}",
                              *mesh.dp, experts),
                  "rank-order=tp-cp-ep-dp-pp");
}

void pipeline(const Scenario& s, MegatronWords& to, Limits& limits) {
  const Plan& plan = s.plan;
  const Method& schedule = schedule_of(plan);
  if (!plan.order.empty()) {
    limits.refuse("plan#/order", "it runs 1F1B, and the plan has an edited order", "order=own");
    return;
  }
  const std::string_view implied = plan.virtual_stages > 1 ? "interleaved" : "1f1b";
  if (schedule.name != implied) {
    limits.refuse(
        "plan#/choices",
        fmt::format("its schedule follows from the degrees and is {} here, and the plan "
                    "runs {}",
                    implied, schedule.name),
        plan.mesh.pp > 1 ? fmt::format("schedule={}", implied) : one_stage_a_device(plan));
    return;
  }
  if (plan.virtual_stages > 1 && plan.mesh.pp == 1) {
    limits.refuse("plan#/virtual_stages", "it interleaves two pipeline stages and more, found pp 1",
                  one_stage_a_device(plan));
    return;
  }
  const std::vector<int> layers = stage_layers(s.model, s.plan);
  const bool even =
      std::all_of(layers.begin(), layers.end(), [&](int count) { return count == layers.front(); });
  if (!even) {
    std::string layout = megatron_layout(s);
    layout.pop_back();  // removes the end of its line
    to.push_back(fmt::format("--pipeline-model-parallel-layout '{}'", layout));
  } else if (plan.virtual_stages > 1) {
    to.push_back(fmt::format("--num-virtual-stages-per-pipeline-rank {}", plan.virtual_stages));
  }
}

void context(const Scenario& s, MegatronWords& to, Limits& limits) {
  const std::int64_t cp = s.plan.mesh.cp, sequence = s.plan.batch.sequence;
  if (cp == 1) return;
  to.push_back(fmt::format("--context-parallel-size {}", cp));
  // a2a exchanges heads among all cp ranks, p2p is a ring of them all.
  const std::int64_t ulysses = s.plan.mesh.ulysses, ring = cp / ulysses;
  to.emplace_back(ulysses == 1 ? "--cp-comm-type p2p"
                  : ring == 1  ? "--cp-comm-type a2a"
                               : "--cp-comm-type a2a+p2p");
  if (ulysses > 1 && ring > 1)
    to.push_back(fmt::format("--hierarchical-context-parallel-sizes {} {}", ulysses, ring));
  if (sequence % (2 * cp) != 0)
    limits.refuse("plan#/batch/sequence",
                  fmt::format("a rank holds two parts of a causal sequence, so that 2 x cp {} "
                              "divides it; found {} tokens",
                              cp, sequence),
                  fmt::format("seq={}", (sequence / (2 * cp) + 1) * 2 * cp));
  const std::optional<TransformerSpec> spec = decoder_spec(s.model);
  if (spec && spec->window > 0 && ring > 1)
    limits.refuse(
        "plan#/mesh/cp",
        fmt::format("its ring of context parallel (cp {}) knows no sliding window, which {} "
                    "has",
                    cp, s.model.name),
        "cp=1");
  if (!s.plan.flash_attention)
    limits.refuse(
        "plan#/flash_attention",
        fmt::format("its context parallel (cp {}) is in the fused attention kernels only", cp),
        "flash-attention=on");
  if (ring > 1 && !params_of(s.plan, "overlap").flag("context"))
    limits.warn(kOverlap, "keys and values travel beside attention there, and the plan waits");
}

// Returns whether a token travels once to each rank that holds some of its experts.
bool once_to_a_rank(const Scenario& s) {
  const std::string copies = params_of(s.plan, "expert-parallel").text("copies");
  return copies == "framework" ? framework(s.plan.software.framework).distinct_tokens
                               : copies == "rank";
}

void expert_ranks(const Scenario& s, bool sequence_parallel, MegatronWords& to, Limits& limits) {
  const Mesh& mesh = s.plan.mesh;
  const std::optional<TransformerSpec> spec = decoder_spec(s.model);
  if (spec && spec->experts.count > 0 && mesh.tp > 1 && !sequence_parallel)
    limits.refuse("plan#/choices/tensor-parallel",
                  fmt::format("experts (ep {}) beside tensor parallel (tp {}) need sequence "
                              "parallel",
                              mesh.ep, mesh.tp),
                  "sequence-parallel=on");
  const int etp = mesh.etp.value_or(mesh.tp);
  if (mesh.ep == 1 && etp == mesh.tp) return;
  to.push_back(fmt::format("--expert-model-parallel-size {}", mesh.ep));
  to.push_back(fmt::format("--expert-tensor-parallel-size {}", etp));
  if (mesh.ep > 1 && once_to_a_rank(s)) {
    to.emplace_back("--moe-token-dispatcher-type flex");
    to.emplace_back("--moe-enable-deepep");
    limits.warn("plan#/choices/expert-parallel",
                "a token travels once to each rank with DeepEP only, which must be installed",
                "expert-parallel.copies=expert");
  } else {
    to.emplace_back("--moe-token-dispatcher-type alltoall");
  }
  if (const double capacity = params_of(s.plan, "expert-parallel").number("capacity");
      capacity > 0) {
    to.push_back(fmt::format("--moe-expert-capacity-factor {:g}", capacity));
    to.emplace_back("--moe-pad-expert-input-to-capacity");
  }
  const std::int64_t world = s.cluster.count, inner = std::int64_t{etp} * mesh.ep * mesh.pp;
  if (world % inner != 0)
    limits.refuse("plan#/mesh/ep",
                  fmt::format("etp {} x ep {} x pp {} = {} must divide the {} devices", etp,
                              mesh.ep, mesh.pp, inner, world));
  if (mesh.ep > 1 && find_choice(s.plan, "fp16") != nullptr)
    limits.refuse("plan#/choices/fp16", "it has no expert parallel in fp16", "precision=bf16");
}

// Returns whether the tensor parallel communication of all products runs beside them.
bool overlaps_tensor(const Scenario& s) {
  const std::string word = params_of(s.plan, "overlap").text("tensor");
  return word == "on" ||
         (word == "framework" &&
          framework(s.plan.software.framework).overlaps_tensor == TensorOverlap::All);
}

void tensor(const Scenario& s, bool sequence_parallel, MegatronWords& to, Limits& limits) {
  const int tp = s.plan.mesh.tp;
  if (tp == 1) return;
  if (sequence_parallel) to.emplace_back("--sequence-parallel");
  if (params_of(s.plan, "overlap").text("tensor") == "off")
    limits.warn(kOverlap,
                "backward gathers and reduces beside the weight gradient there, and the plan waits",
                "tensor-overlap=backward");
  if (!overlaps_tensor(s)) return;
  to.emplace_back("--tp-comm-overlap");
  if (!sequence_parallel)
    limits.refuse(kOverlap, "--tp-comm-overlap needs sequence parallel", "sequence-parallel=on");
}

void software(const Scenario& s, MegatronWords& to, Limits& limits) {
  if (s.plan.software.graphs == "on") to.emplace_back("--enable-cuda-graph");
  const std::string& framework = s.plan.software.framework;
  const bool own = framework.empty() || framework == "typical" || framework == "megatron" ||
                   framework == "megatron-core";
  if (!own)
    limits.warn("plan#/software/framework",
                fmt::format("the plan is priced as {} runs it", framework),
                "framework=megatron-core");
  const std::string& kernels = s.plan.software.kernels;
  if (!kernels.empty() && kernels != "fused")
    limits.warn("plan#/software/kernels",
                fmt::format("kernels are fused by hand there, and the plan has them {}", kernels),
                "kernels=fused");
  if (s.cluster.device.vendor != "NVIDIA")
    limits.warn("cluster",
                fmt::format("Megatron-LM is written for NVIDIA's devices, and {} is {}'s",
                            s.cluster.device.name, s.cluster.device.vendor));
}

void attention_kernel(const Scenario& s, MegatronWords& to, Limits& limits) {
  const AttentionKernel kernel = settle(s.plan.software, s.cluster.device).attention;
  if (s.plan.flash_attention && find_choice(s.plan, "fp32") != nullptr)
    limits.refuse("plan#/choices/fp32", "its fused attention kernels take 16 bits and fewer",
                  s.plan.mesh.cp > 1 ? "precision=bf16" : "flash-attention=off");
  if (s.plan.software.attention == "triton")
    limits.refuse("plan#/software/attention", "it has no attention kernel in Triton",
                  "attention=flash-2");
  to.push_back(fmt::format("--attention-backend {}", !s.plan.flash_attention            ? "unfused"
                                                     : kernel == AttentionKernel::Cudnn ? "fused"
                                                                                        : "flash"));
}

// Adds the arguments of ZeRO's stages; stage 0 has none.
void stage(std::int64_t stage, MegatronWords& to) {
  if (stage == 0) return;
  to.emplace_back("--use-distributed-optimizer");
  if (stage == 1) return;
  to.emplace_back("--use-megatron-fsdp");
  to.push_back(fmt::format("--data-parallel-sharding-strategy {}",
                           stage == 2 ? "optim_grads" : "optim_grads_params"));
  to.emplace_back("--no-gradient-accumulation-fusion");
  to.emplace_back("--ckpt-format fsdp_dtensor");
}

// Returns how many of the first layers of every stage are recomputed in full; -1 where the policy
// is not of that form.
std::int64_t full_layers(const RecomputePolicies& policies, std::int64_t most) {
  if (policies.stages.size() != 1) return -1;
  std::int64_t full = 0;
  bool over = false;
  for (const PolicyRun& run : policies.stages.front()) {
    const bool none = run.policy.kind == LayerPolicy::Kind::None;
    if (!none && (over || run.policy.kind != LayerPolicy::Kind::Full)) return -1;
    if (none)
      over = true;
    else
      full = run.layers == 0 ? most : full + run.layers;
  }
  return std::min(full, most);
}

bool recomputes_attention(const RecomputePolicies& policies) {
  return policies.stages.size() == 1 && policies.stages.front().size() == 1 &&
         policies.stages.front().front().policy.kind == LayerPolicy::Kind::Selective;
}

void recomputation(const Scenario& s, MegatronWords& to, Limits& limits) {
  const Params params = params_of(s.plan, "recompute");
  const std::string& text = params.text("policy");
  const std::vector<int> layers = stage_layers(s.model, s.plan);
  const std::int64_t most = *std::max_element(layers.begin(), layers.end());
  const bool blocks = text == "blocks";
  const RecomputePolicies policies = blocks ? RecomputePolicies{} : policies_of(s.plan);
  if (!blocks && recomputes_attention(policies)) {
    to.emplace_back("--recompute-granularity selective");
    if (s.plan.flash_attention)
      limits.warn(kRecomputePlace,
                  "fused attention runs twice there though it keeps no scores, and the plan does "
                  "not count that",
                  "recompute=none");
    return;
  }
  const std::int64_t full =
      blocks ? std::min(params.integer("blocks"), most) : full_layers(policies, most);
  if (full < 0) {
    limits.refuse(kRecomputePlace,
                  fmt::format("it recomputes nothing, the attention core, all layers or the first "
                              "layers of every stage, and the plan says {}",
                              text),
                  "recompute=full");
  } else if (full > 0) {
    to.emplace_back("--recompute-granularity full");
    to.push_back(fmt::format("--recompute-method {}", full == most ? "uniform" : "block"));
    to.push_back(fmt::format("--recompute-num-layers {}", full == most ? 1 : full));
  }
}

void offloading(const Scenario& s, MegatronWords& to, Limits& limits) {
  constexpr std::string_view kOffloadPlace = "plan#/choices/offload";
  const std::string host = params_of(s.plan, "offload").text("host");
  if (host == "activations" || host == "both")
    limits.refuse(kOffloadPlace,
                  "it moves activations of named modules or of whole layers without a pipeline, "
                  "not those that wait for their backward",
                  host == "both" ? "offload=optimizer" : "offload=none");
  if (host != "optimizer" && host != "both") return;
  if (params_of(s.plan, "zero").integer("stage") != 1)
    limits.refuse(kOffloadPlace, "the host updates weights for the distributed optimizer only",
                  "zero=1");
  if (params_of(s.plan, "offload").text("tier") == "nvme")
    limits.refuse(kOffloadPlace, "it keeps offloaded optimizer state in the memory of the host",
                  "offload-tier=host");
  to.emplace_back("--optimizer-cpu-offload");
  to.emplace_back("--optimizer-offload-fraction 1.0");
  to.emplace_back("--use-precision-aware-optimizer");
}

}  // namespace

bool needs_megatron_fsdp(const Plan& plan) { return params_of(plan, "zero").integer("stage") >= 2; }

MegatronWords megatron_parallelism(const Scenario& s, Limits& limits) {
  const Mesh& mesh = s.plan.mesh;
  const bool sequence_parallel =
      mesh.tp > 1 && params_of(s.plan, "tensor-parallel").flag("sequence-parallel");
  refuse_ulysses_layers(s.plan, limits);
  refuse_evaluation(s.plan, limits);
  refuse_input(s.plan, limits);
  refuse_reduce(s.plan, limits);
  refuse_sparse(s.plan, limits);
  refuse_formats(s.plan, {kReduceFormat, kBoundaryFormat, kGatherFormat}, limits);
  refuse_operator_stages(s.plan, limits);
  refuse_divided_images(s.plan, limits);
  MegatronWords to = {fmt::format("--tensor-model-parallel-size {}", mesh.tp),
                      fmt::format("--pipeline-model-parallel-size {}", mesh.pp)};
  tensor(s, sequence_parallel, to, limits);
  pipeline(s, to, limits);
  context(s, to, limits);
  expert_ranks(s, sequence_parallel, to, limits);
  rank_order(mesh, to, limits);
  software(s, to, limits);
  attention_kernel(s, to, limits);
  return to;
}

MegatronWords megatron_batch(const Scenario& s, Limits& limits) {
  const Batch& batch = s.plan.batch;
  const std::int64_t of_one = batch.micro * s.plan.mesh.dp.value_or(1);
  if (batch.global % of_one != 0)
    limits.refuse("plan#/batch/global",
                  fmt::format("micro {} x dp {} = {} must divide the global batch, found {}",
                              batch.micro, s.plan.mesh.dp.value_or(1), of_one, batch.global),
                  fmt::format("global-batch={}", (batch.global / of_one + 1) * of_one));
  limits.warn("plan",
              "a plan says nothing of data, learning rate and length: a trial of 20 steps on mock "
              "data is written, to be replaced by your own");
  warn_of_documents(s.plan, limits);
  MegatronWords to = {fmt::format("--micro-batch-size {}", batch.micro)};
  const auto add = [&to](const MegatronWords& words) {
    to.insert(to.end(), words.begin(), words.end());
  };
  add(batches(s.plan));
  add({fmt::format("--seq-length {}", batch.sequence)});
  add(trial_length(s.plan));
  add({"--eval-iters 0", "--log-interval 1"});
  return to;
}

MegatronWords megatron_sharding(const Scenario& s, Limits& limits) {
  MegatronWords to;
  const std::int64_t data = ranks(s.plan.mesh, Group::Data);
  const Params zero = params_of(s.plan, "zero"), overlap = params_of(s.plan, "overlap");
  const std::int64_t divides = zero.integer("stage"), shard = zero.integer("shard");
  stage(divides, to);
  if (divides > 0 && shard > 0 && shard < data) {
    to.push_back(fmt::format("--num-distributed-optimizer-instances {}", data / shard));
    if (divides > 1) to.emplace_back("--outer-dp-sharding-strategy no_shard");
    // The optimizer of experts has as many instances as that of the other weights.
    const std::int64_t experts = ranks(s.plan.mesh, Group::ExpertData), instances = data / shard,
                       common = std::gcd(instances, experts);
    if (experts % instances != 0)
      limits.refuse("plan#/choices/zero/shard",
                    fmt::format("data {} / shard {} = {} instances of the optimizer must divide "
                                "the {} replicas of experts (ep {})",
                                data, shard, instances, experts, s.plan.mesh.ep),
                    fmt::format("hybrid={}", common == 1 ? 0 : data / common));
  }
  if (divides == 3 && data > 1 && zero.text(kGatheredLayers) != "none")
    limits.refuse("plan#/choices/zero", "all its layers let go of gathered weights",
                  "zero.gathered-layers=none");
  if (divides == 3 && data > 1 && !reshards_after_forward(s.plan))
    limits.refuse(kZeroPlace, "it lets go of gathered weights after forward",
                  "reshard-after-forward=on");
  if (divides >= 2 && data > 1 && zero.text("reduce") == "step")
    limits.refuse("plan#/choices/zero/reduce",
                  "gradients that it divides are scattered with every microbatch",
                  "zero-reduce=microbatch");
  if (data == 1) return to;
  if (overlap.flag("gradients")) to.emplace_back("--overlap-grad-reduce");
  if (divides == 0 || !overlap.flag("weights")) return to;
  to.emplace_back("--overlap-param-gather");
  if (!overlap.flag("gradients"))
    limits.refuse(kOverlap,
                  "it gathers weights beside computation only where it reduces gradients so",
                  "overlap=on");
  return to;
}

MegatronWords megatron_memory(const Scenario& s, Limits& limits) {
  MegatronWords to;
  recomputation(s, to, limits);
  offloading(s, to, limits);
  return to;
}

MegatronWords megatron_optimizer(const Scenario& s, Limits& limits) {
  const std::string& name = s.plan.optimizer;
  MegatronWords to;
  if (name == "adam" || name == "adamw") {
    to = {"--optimizer adam", "--adam-beta1 0.9", "--adam-beta2 0.95",
          fmt::format("--weight-decay {}", name == "adamw" ? "0.1" : "0.0")};
  } else if (name == "sgd" || name == "momentum") {
    to = {"--optimizer sgd", fmt::format("--sgd-momentum {}", name == "sgd" ? "0.0" : "0.9"),
          "--weight-decay 0.0"};
  } else if (name == "lion") {
    to = {"--optimizer lion", "--weight-decay 0.1"};
  } else {
    limits.refuse("plan#/optimizer",
                  fmt::format("it has adam, sgd and lion of the plan's optimizers, found {}", name),
                  "optimizer=adamw");
  }
  if (name != "adam" && name != "adamw" && params_of(s.plan, "zero").integer("stage") > 0)
    limits.refuse(
        "plan#/optimizer",
        fmt::format("its distributed optimizer divides the state of Adam only, found {}", name),
        "optimizer=adamw");
  const std::string warmup =
      batch_grows(s.plan)
          ? fmt::format("--lr-warmup-samples {}", samples_of_steps(s.plan, kTrialWarmup))
          : fmt::format("--lr-warmup-iters {}", kTrialWarmup);
  for (const std::string_view word :
       {std::string_view("--lr 1.0e-4"), std::string_view("--min-lr 1.0e-5"),
        std::string_view("--lr-decay-style cosine"), std::string_view(warmup),
        std::string_view("--clip-grad 1.0")})
    to.emplace_back(word);
  return to;
}

}  // namespace trainyard
