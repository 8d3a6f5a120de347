#include "core/exporters/torchtitan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/exporters/decoder_spec.h"
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/settings/resharding.h"
#include "core/plan/layer_ranges.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

// The models that torchtitan ships and the workbench knows, by size.
struct Flavor {
  std::string_view name, flavor;
  std::int64_t layers, hidden, heads, kv_heads, ffn, vocab, experts;
  bool pipelines = true;  // it has a function that divides the model into stages
  bool rings = true;      // its attention runs with context parallel (FlexAttention does not)
};
constexpr Flavor kFlavors[] = {
    {"llama3", "8B", 32, 4096, 32, 8, 14336, 128256, 0},
    {"llama3", "70B", 80, 8192, 64, 8, 28672, 128256, 0},
    {"llama3", "405B", 126, 16384, 128, 8, 53248, 128256, 0},
    {"qwen3", "8B", 36, 4096, 32, 8, 12288, 151936, 0, false},
    {"deepseek_v3", "671B", 61, 7168, 128, 128, 18432, 129280, 256, true, false},
};

const Flavor* flavor_of(const Model& model) {
  const std::optional<TransformerSpec> spec = decoder_spec(model);
  if (!spec) return nullptr;
  for (const Flavor& f : kFlavors)
    if (f.layers == spec->layers && f.hidden == spec->hidden && f.heads == spec->heads &&
        f.kv_heads == spec->kv_heads && f.ffn == spec->ffn && f.vocab == spec->vocab &&
        f.experts == spec->experts.count)
      return &f;
  return nullptr;
}

struct ScheduleName {
  std::string_view ours, theirs;
  int chunks;  // chunks of the model per device: 1, or at least 2
  bool fills;  // whether it needs as many microbatches as stages
};
constexpr ScheduleName kSchedules[] = {{"1f1b", "1F1B", 1, true},
                                       {"gpipe", "GPipe", 1, true},
                                       {"interleaved", "Interleaved1F1B", 2, false},
                                       {"zb-v", "ZBVZeroBubble", 2, false},
                                       {"dualpipe-v", "DualPipeV", 2, true}};

class TorchtitanWriter {
 public:
  explicit TorchtitanWriter(const Scenario& s)
      : s_(s), plan_(s.plan), zero_(params_of(s.plan, "zero")) {}

  Exported write() {
    fill();
    limits_.throw_if_refused();
    return {std::move(text_), limits_.warnings()};
  }

  Diagnostics refusals() {
    fill();
    return limits_.refusals();
  }

 private:
  void fill() {
    const World world = world_of(s_, limits_);
    refuse_frozen(s_, limits_, "its configuration names no adapters and no frozen parts");
    about(world);
    model();
    training();
    parallelism();
    activations();
    precision();
    optimizer();
    software();
  }

  void table(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  void word(std::string_view key, std::string_view value) {
    text_ += fmt::format("{} = \"{}\"\n", key, value);
  }
  void number(std::string_view key, std::int64_t value) {
    text_ += fmt::format("{} = {}\n", key, value);
  }
  void raw(std::string_view key, std::string_view value) {
    text_ += fmt::format("{} = {}\n", key, value);
  }

  void about(const World& world) {
    for (const std::string& line : about_lines(s_, "torchtitan 0.2 (v0.2.2)"))
      text_ += fmt::format("# {}\n", line);
    text_ += fmt::format(
        "# Launch: torchrun --nnodes {} --nproc-per-node {} --rdzv-backend c10d "
        "--rdzv-endpoint HEAD:29500 -m torchtitan.train --job.config_file "
        "THIS_FILE\n",
        world.nodes, world.per_node);
  }

  void model() {
    const Flavor* flavor = flavor_of(s_.model);
    if (flavor == nullptr) {
      limits_.refuse("model", fmt::format("it has the models it ships (llama3 8B, 70B and 405B, "
                                          "qwen3 8B, deepseek_v3 671B), and {} has other sizes",
                                          s_.model.name));
      return;
    }
    table("model");
    word("name", flavor->name);
    word("flavor", flavor->flavor);
    limits_.warn("model",
                 "its tokenizer is downloaded first: [model] hf_assets_path is to be added");
  }

  void training() {
    const Batch& batch = plan_.batch;
    const std::int64_t data = plan_.mesh.dp.value_or(1);
    const bool pipeline = plan_.mesh.pp > 1;
    table("training");
    // With a pipeline the local batch is divided into microbatches; without one gradients are
    // accumulated.
    number("local_batch_size", pipeline ? batch.global / data : batch.micro);
    number("global_batch_size", batch.global);
    number("seq_len", batch.sequence);
    number("steps", 20);
    word("dataset", "c4_test");
    const std::int64_t parts = std::int64_t{plan_.mesh.tp} * 2 * plan_.mesh.cp;
    if (batch.sequence % parts != 0)
      limits_.refuse("plan#/batch/sequence",
                     fmt::format("tp x 2 cp = {} must divide a sample, found {} tokens", parts,
                                 batch.sequence),
                     fmt::format("seq={}", (batch.sequence / parts + 1) * parts));
    limits_.warn("plan",
                 "a plan says nothing of data, learning rate and length: a trial of 20 steps is "
                 "written, to be replaced by your own");
    refuse_batch_ramp(plan_, limits_);
    refuse_evaluation(plan_, limits_);
    refuse_input(plan_, limits_);
    refuse_reduce(plan_, limits_);
    refuse_sparse(plan_, limits_);
    refuse_formats(
        plan_,
        {kFirstMoment, kSecondMoment, kMainWeights, kReduceFormat, kBoundaryFormat, kGatherFormat},
        limits_);
    refuse_operator_stages(plan_, limits_);
    refuse_divided_images(plan_, limits_);
    warn_of_documents(plan_, limits_);
    mixed_precision();
  }

  void mixed_precision() {
    const Choice* chosen = chosen_on(plan_, MethodAxis::Precision);
    const std::string name = chosen == nullptr ? "fp32" : chosen->method;
    if (name == "fp32") {
      word("mixed_precision_param", "float32");
      word("mixed_precision_reduce", "float32");
      return;
    }
    if (name != "bf16" && name != "fp8" && name != "mxfp8") {
      limits_.refuse(fmt::format("plan#/choices/{}", name),
                     fmt::format("it trains in fp32, bf16, fp8 and mxfp8, found {}", name),
                     "precision=bf16");
      return;
    }
    const std::string gradient = params_of(plan_, name).text("gradient-dtype");
    if (gradient != "fp32")
      limits_.refuse(fmt::format("plan#/choices/{}", name),
                     fmt::format("it reduces gradients in fp32, found {}", gradient),
                     "gradient-dtype=fp32");
    word("mixed_precision_param", "bfloat16");
    word("mixed_precision_reduce", "float32");
    const Mesh& mesh = plan_.mesh;
    if ((mesh.tp > 1 || mesh.pp > 1) && !divides_weights())
      limits_.warn("plan#/mesh/dp",
                   "beside tensor parallel and pipelines it computes in 16 bits only where data or "
                   "context parallel divide weights: this runs in fp32");
  }

  // Returns whether FSDP divides weights over more than one rank.
  bool divides_weights() const {
    const Mesh& mesh = plan_.mesh;
    return mesh.cp > 1 || (zero_.integer("stage") == 3 && mesh.dp.value_or(1) > 1);
  }

  // Writes dp_replicate x dp_shard, which can express only stages 0 and 3 of ZeRO.
  void data_parallel() {
    const std::int64_t data = plan_.mesh.dp.value_or(1), cp = plan_.mesh.cp,
                       divides = zero_.integer("stage"), group = zero_.integer("shard");
    std::int64_t shard = divides == 3 ? data : 1;
    if (divides == 3 && group > 0 && group < data * cp) {
      shard = group / cp;
      if (group % cp != 0)
        limits_.refuse(
            "plan#/choices/zero/shard",
            fmt::format("a group that divides state holds all cp {} ranks, found {}", cp, group),
            fmt::format("hybrid={}", (group / cp + 1) * cp));
    }
    if (divides == 1 || divides == 2)
      limits_.refuse(kZeroPlace,
                     fmt::format("it replicates state or divides all of it (FSDP), found "
                                 "ZeRO {}",
                                 divides),
                     "zero=3");
    if (divides == 0 && cp > 1)
      limits_.refuse(kZeroPlace,
                     fmt::format("ranks of context parallel (cp {}) divide weights there", cp),
                     "zero=3");
    const Mesh& mesh = plan_.mesh;
    if (divides == 0 && data > 1 && (mesh.tp > 1 || mesh.pp > 1))
      limits_.refuse(kZeroPlace,
                     fmt::format("it replicates weights (dp {}) only where nothing else divides "
                                 "the model, found tp {}, pp {}",
                                 data, mesh.tp, mesh.pp),
                     "zero=3");
    const std::int64_t pool = shard * cp * (whole_experts(mesh) ? mesh.tp : 1);
    if (mesh.ep > 1 && pool % mesh.ep != 0) expert_ranks(pool);
    number("data_parallel_replicate_degree", data / std::max<std::int64_t>(1, shard));
    number("data_parallel_shard_degree", shard);
    if (divides == 3 && plan_.mesh.pp > 1 && zero_.text("reduce") == "microbatch")
      limits_.refuse("plan#/choices/zero/reduce",
                     "it adds gradients up and scatters them once a step under a pipeline",
                     "zero-reduce=step");
    if (divides == 3 && zero_.text(kGatheredLayers) != "none")
      limits_.refuse("plan#/choices/zero", "all its layers keep gathered weights, or none",
                     "zero.gathered-layers=none");
    if (divides == 3)
      word("fsdp_reshard_after_forward", reshards_after_forward(plan_) ? "always" : "never");
  }

  // Experts are spread over the ranks that divide weights, whose number is `pool`; where experts
  // are whole, the tensor ranks of each count too.
  void expert_ranks(std::int64_t pool) {
    limits_.refuse(
        "plan#/mesh/ep",
        fmt::format("ep {} must divide the {} ranks that divide weights{}", plan_.mesh.ep, pool,
                    whole_experts(plan_.mesh) ? ", tensor ranks included" : ""),
        zero_.integer("stage") == 3 ? "hybrid=0" : "zero=3");
  }

  void tensor() {
    const int tp = plan_.mesh.tp;
    number("tensor_parallel_degree", tp);
    if (tp == 1) return;
    refuse_ulysses_layers(plan_, limits_);
    if (!params_of(plan_, "tensor-parallel").flag("sequence-parallel"))
      limits_.refuse("plan#/choices/tensor-parallel",
                     "its tensor parallel divides norms and residuals too", "sequence-parallel=on");
    const bool beside = params_of(plan_, "overlap").text("tensor") == "on";
    raw("enable_async_tensor_parallel", beside ? "true" : "false");
    if (beside && !compiled())
      limits_.refuse(
          "plan#/choices/overlap",
          "tensor parallel traffic runs beside products only where a compiler makes the "
          "kernels",
          find_choice(plan_, "mxfp8") == nullptr ? "kernels=compiled" : "tensor-overlap=off");
  }

  bool compiled() const {
    return settle(plan_.software, s_.cluster.device).kernels == KernelClass::Compiled;
  }

  void pipeline() {
    const Mesh& mesh = plan_.mesh;
    number("pipeline_parallel_degree", mesh.pp);
    if (!plan_.order.empty())
      limits_.refuse("plan#/order", "it has schedules by name, and the plan has an edited order",
                     "order=own");
    if (mesh.pp == 1) return;
    const Flavor* flavor = flavor_of(s_.model);
    if (flavor != nullptr && !flavor->pipelines)
      limits_.refuse("plan#/mesh/pp",
                     fmt::format("its {} has no pipeline, found pp {}", flavor->name, mesh.pp),
                     "pp=1");
    const Method& schedule = schedule_of(plan_);
    const ScheduleName* known =
        std::find_if(std::begin(kSchedules), std::end(kSchedules),
                     [&](const ScheduleName& name) { return name.ours == schedule.name; });
    if (known == std::end(kSchedules)) {
      limits_.refuse("plan#/choices",
                     fmt::format("it has 1F1B, GPipe, interleaved 1F1B, ZB-V and "
                                 "DualPipeV, and the plan runs {}",
                                 schedule.name),
                     "schedule=1f1b");
      return;
    }
    word("pipeline_parallel_schedule", known->theirs);
    number("pipeline_parallel_microbatch_size", plan_.batch.micro);
    split(schedule.placement);
    rounds(*known);
  }

  // Each of PyTorch's schedule classes refuses some numbers of stages and microbatches when it is
  // constructed.
  void rounds(const ScheduleName& schedule) {
    const std::int64_t stages = std::int64_t{plan_.mesh.pp} * plan_.virtual_stages,
                       found = microbatches(plan_),
                       round = std::max<std::int64_t>(1, found / plan_.mesh.pp);
    const std::int64_t of_one = plan_.batch.micro * plan_.mesh.dp.value_or(1);
    if (schedule.chunks == 1 && plan_.virtual_stages > 1)
      limits_.refuse("plan#/virtual_stages",
                     fmt::format("a device holds one stage in {}, found {}", schedule.theirs,
                                 plan_.virtual_stages),
                     one_stage_a_device(plan_));
    if (schedule.chunks > 1 && plan_.virtual_stages == 1)
      limits_.refuse(
          "plan#/virtual_stages",
          fmt::format("a device holds two stages and more in {}, found 1", schedule.theirs),
          "virtual-stages=2");
    if (schedule.fills && found < stages)
      limits_.refuse("plan#/batch/global",
                     fmt::format("{} needs as many microbatches as its {} stages, found {}",
                                 schedule.theirs, stages, found),
                     fmt::format("global-batch={}", stages * of_one));
    else if (schedule.ours == "interleaved" && found % round != 0)
      limits_.refuse("plan#/batch/global",
                     fmt::format("{} divides its microbatches into {} rounds of equal size, found "
                                 "{}",
                                 schedule.theirs, round, found),
                     fmt::format("global-batch={}", (round + 1) * plan_.mesh.pp * of_one));
    else if (found < stages)
      limits_.warn("plan#/batch/global", fmt::format("{} microbatches for {} stages leave devices "
                                                     "idle",
                                                     found, stages));
    const std::string policy = params_of(plan_, "recompute").text("policy");
    if (schedule.ours == "dualpipe-v" && plan_.mesh.ep > 1 && policy != "none")
      limits_.refuse(
          kRecomputePlace,
          fmt::format("DualPipeV with experts (ep {}) recomputes nothing", plan_.mesh.ep),
          "recompute=none");
  }

  // The split is written by names, because torchtitan's own rule counts the modules at the ends of
  // the model as layers.
  void split(Placement placement) {
    const std::vector<Stage> all = stages(s_.model, plan_, placement);
    std::string parts;
    int layer = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::vector<std::string> names;
      if (i == 0) names.emplace_back("\"tok_embeddings\"");
      for (const LayerRun& run : all[i].runs)
        if (s_.model.blocks[static_cast<std::size_t>(run.block)].layer)
          for (int n = 0; n < run.count; ++n)
            names.push_back(fmt::format("\"layers.{}\"", layer++));
      if (i + 1 == all.size()) {
        names.emplace_back("\"norm\"");
        names.emplace_back("\"output\"");
      }
      parts += fmt::format("  [{}],\n", fmt::join(names, ", "));
    }
    raw("module_fqns_per_model_part", fmt::format("[\n{}]", parts));
  }

  void parallelism() {
    const Mesh& mesh = plan_.mesh;
    table("parallelism");
    data_parallel();
    tensor();
    pipeline();
    number("context_parallel_degree", mesh.cp);
    const Flavor* flavor = flavor_of(s_.model);
    if (mesh.cp > 1 && flavor != nullptr && !flavor->rings)
      limits_.refuse("plan#/mesh/cp",
                     fmt::format("its {} {} has no context parallel, found cp {}", flavor->name,
                                 flavor->flavor, mesh.cp),
                     "cp=1");
    if (mesh.ulysses > 1)
      limits_.refuse("plan#/choices/context-parallel/kind",
                     fmt::format("its ranks pass keys and values round a ring, and {} of the "
                                 "plan's exchange heads",
                                 mesh.ulysses),
                     "context-parallel.kind=ring");
    if (mesh.cp > 1) {
      word("context_parallel_load_balancer", "headtail");
      word("context_parallel_rotate_method", "alltoall");  // keys and values travel round the ranks
    }
    number("expert_parallel_degree", mesh.ep);
    if (mesh.ep > 1) number("expert_tensor_parallel_degree", mesh.etp.value_or(mesh.tp));
    if (mesh.ep == 1 && whole_experts(mesh))
      limits_.refuse("plan#/mesh/etp",
                     fmt::format("it cuts experts over all tensor ranks (tp {}) where ep is 1, and "
                                 "the plan has etp 1",
                                 mesh.tp),
                     "etp=tp");
    if (mesh.order != "tp-cp-ep-dp-pp")
      limits_.refuse(
          "plan#/mesh/order",
          fmt::format("ranks lie as tp-cp-ep-dp-pp there, and the plan's as {}", mesh.order),
          "rank-order=tp-cp-ep-dp-pp");
  }

  void activations() {
    const std::string policy = params_of(plan_, "recompute").text("policy");
    table("activation_checkpoint");
    if (policy != "none" && policy != "full" && policy != "op")
      limits_.refuse(
          "plan#/choices/recompute",
          fmt::format("it recomputes nothing, by operator or all, and the plan says {}", policy),
          "recompute=op");
    word("mode", policy == "op" ? "selective" : policy);
    if (policy == "op") word("selective_ac_option", "op");
    if (params_of(plan_, "offload").text("host") != "none")
      limits_.refuse("plan#/choices/offload",
                     "its host keeps weights, gradients and optimizer state together",
                     "offload=none");
  }

  void precision() {
    const Choice* chosen = chosen_on(plan_, MethodAxis::Precision);
    if (chosen == nullptr || (chosen->method != "fp8" && chosen->method != "mxfp8")) return;
    const Params params = params_of(plan_, chosen->method);
    const bool blocks = chosen->method == "mxfp8";
    const std::string place = fmt::format("plan#/choices/{}", chosen->method);
    if (params.text("weights") != "bf16")
      limits_.refuse(place, "it keeps weights in 16 bits beside their master copy",
                     fmt::format("{}.weights=bf16", chosen->method));
    if (!blocks && params.text("scaling") == "block")
      limits_.refuse(place, "it scales tensors and rows, not blocks of a row", "fp8.scaling=row");
    if (!blocks && params.text("keeps") == "fp8")
      limits_.warn(place,
                   "products keep their 16-bit operand for backward there: more memory than "
                   "the plan has",
                   "fp8.keeps=bf16");
    const std::string name = blocks ? "quantize.linear.mx" : "quantize.linear.float8";
    converter_ = name;
    table(name);
    if (blocks && plan_.mesh.tp > 1 && compiled())
      limits_.refuse(
          place,
          fmt::format("its mxfp8 is not compiled beside tensor parallel (tp {})", plan_.mesh.tp),
          "kernels=eager");
    if (blocks && params.text(kWideLayers) != "none")
      limits_.refuse(place, "its mxfp8 is given no layers that stay in bf16",
                     "mxfp8.bf16-layers=none");
    if (blocks) return word("recipe_name", "mxfp8_cublas");
    // Without a recipe it scales whole tensors, as plans do that gather weights in 8 bits.
    if (params.text("scaling") == "row") word("recipe_name", "rowwise");
    raw("enable_fsdp_float8_all_gather", params.flag("gather-fp8") ? "true" : "false");
    // Layers are left out by a part of their modules' names.
    std::string left = "[\"output\"";
    const std::vector<bool> wide =
        in_ranges(parse_layer_ranges(params.text(kWideLayers)), layer_count(s_.model));
    for (std::size_t l = 0; l < wide.size(); ++l)
      if (wide[l]) left += fmt::format(", \"layers.{}.\"", l);
    raw("filter_fqns", left + "]");
  }

  void optimizer() {
    const std::string& rule = plan_.optimizer;
    table("optimizer");
    word("name", rule == "adam" ? "Adam" : "AdamW");
    raw("lr", "1e-4");
    raw("weight_decay", rule == "adam" ? "0.0" : "0.1");
    if (rule != "adam" && rule != "adamw")
      limits_.refuse("plan#/optimizer", fmt::format("it has Adam and AdamW, found {}", rule),
                     "optimizer=adamw");
  }

  void software() {
    table("compile");
    raw("enable", compiled() ? "true" : "false");
    if (plan_.software.graphs == "on")
      limits_.warn("plan#/software/cuda-graphs",
                   "it has no argument that records layers, and the plan has them recorded",
                   "cuda-graphs=off");
    if (settle(plan_.software, s_.cluster.device).kernels == KernelClass::Fused)
      limits_.warn("plan#/software/kernels",
                   "the plan has kernels fused by hand; there they are eager, or a compiler's",
                   "framework=torchtitan");
    if (!plan_.flash_attention)
      limits_.warn("plan",
                   "attention is fused there and keeps no scores: less memory than the "
                   "plan has",
                   "flash-attention=on");
    if (!converter_.empty())
      text_.insert(text_.find("\n[training]"), fmt::format("converters = [\"{}\"]\n", converter_));
  }

  const Scenario& s_;
  const Plan& plan_;
  Params zero_;
  Limits limits_{"torchtitan"};
  std::string text_, converter_;
};

}  // namespace

Exported torchtitan(const Scenario& s) { return TorchtitanWriter(s).write(); }

Diagnostics torchtitan_refusals(const Scenario& s) { return TorchtitanWriter(s).refusals(); }

}  // namespace trainyard
