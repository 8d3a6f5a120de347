#include "core/exporters/deepspeed.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/io/json/json.h"
#include "core/methods/catalogue.h"
#include "core/methods/memory/layer_policy.h"
#include "core/methods/precision/precision_check.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/methods/settings/resharding.h"
#include "core/plan/context_degrees.h"
#include "core/plan/mesh.h"
#include "core/plan/spatial_partition.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

constexpr std::string_view kOffload = "plan#/choices/offload";
constexpr std::string_view kTensor = "plan#/choices/tensor-parallel";

class DeepSpeedWriter {
 public:
  explicit DeepSpeedWriter(const Scenario& s)
      : s_(s), plan_(s.plan), zero_(params_of(s.plan, "zero")), stage_(zero_.integer("stage")) {}

  Exported write() {
    fill();
    limits_.throw_if_refused();
    return {write_json(config_), limits_.warnings()};
  }

  Diagnostics refusals() {
    fill();
    return limits_.refusals();
  }

 private:
  void fill() {
    const World world = world_of(s_, limits_);
    about(world);
    trained();
    batch();
    tensor();
    pipeline();
    context();
    others();
    sharding();
    offloading();
    recomputation();
    precision();
    optimizer();
    config_.set("steps_per_print", 1);
  }

  bool has_pipeline() const { return plan_.mesh.pp > 1; }

  void about(const World& world) {
    Json lines = Json::list();
    for (const std::string& line : about_lines(s_, "DeepSpeed 0.19")) lines.push(line);
    const bool many = world.nodes > 1;
    lines.push(fmt::format(
        "Launch: deepspeed {}--num_gpus {} train.py --deepspeed "
        "--deepspeed_config THIS_FILE",
        many ? fmt::format("--hostfile HOSTS --num_nodes {} ", world.nodes) : "", world.per_node));
    config_.set("_comment", std::move(lines));
  }

  void batch() {
    const Batch& batch = plan_.batch;
    config_.set("train_batch_size", batch.global);
    config_.set("train_micro_batch_size_per_gpu", batch.micro);
    const std::int64_t of_one = batch.micro * plan_.mesh.dp.value_or(1);
    if (batch.global % of_one != 0)
      limits_.refuse("plan#/batch/global",
                     fmt::format("micro {} x dp {} = {} must divide the global batch, found {}",
                                 batch.micro, plan_.mesh.dp.value_or(1), of_one, batch.global),
                     fmt::format("global-batch={}", (batch.global / of_one + 1) * of_one));
    config_.set("gradient_accumulation_steps", batch.global / of_one);
    refuse_batch_ramp(plan_, limits_);
    refuse_evaluation(plan_, limits_);
    refuse_input(plan_, limits_);
    refuse_reduce(plan_, limits_);
    refuse_sparse(plan_, limits_);
    refuse_formats(plan_, {kFirstMoment, kSecondMoment, kMainWeights, kBoundaryFormat}, limits_);
    refuse_operator_stages(plan_, limits_);
    refuse_divided_images(plan_, limits_);
    warn_of_documents(plan_, limits_);
  }

  // DeepSpeed trains whatever parameters of the model it is given want gradients.
  void trained() {
    if (const Choice* chosen = find_choice(plan_, "lora")) {
      const Params params = params_of(plan_, "lora");
      const std::int64_t rank = params.integer("rank"), alpha = params.integer("alpha");
      limits_.warn("plan#/choices/" + chosen->method,
                   fmt::format("the training program adds the adapters, as with PEFT's "
                               "LoraConfig(r={}, lora_alpha={}) and its target_modules for {}",
                               rank, alpha > 0 ? alpha : rank, params.text("targets")));
    }
    if (find_choice(plan_, "frozen") != nullptr)
      limits_.warn("plan#/choices/frozen",
                   fmt::format("the training program freezes {}, with requires_grad_(False)",
                               params_of(plan_, "frozen").text("parts")));
    if (find_choice(plan_, "tensor-train") != nullptr)
      limits_.warn("plan#/choices/tensor-train",
                   fmt::format("the training program has cores of rank {} in place of tables of {} "
                               "rows or more",
                               params_of(plan_, "tensor-train").integer("rank"),
                               params_of(plan_, "tensor-train").integer("tables")));
  }

  // With a pipeline, the training program divides layers over tensor ranks itself.
  void tensor() {
    const int tp = plan_.mesh.tp;
    if (tp == 1) return;
    refuse_ulysses_layers(plan_, limits_);
    if (has_pipeline()) {
      limits_.warn(kTensor,
                   fmt::format("layers of a PipelineModule are divided over tp {} by hand, with "
                               "PipeModelDataParallelTopology(num_pp={}, num_mp={}, num_dp={})",
                               tp, plan_.mesh.pp, tp, plan_.mesh.dp.value_or(1)));
      return;
    }
    config_.set("tensor_parallel", Json::object().set("autotp_size", tp));
    if (params_of(plan_, "tensor-parallel").flag("sequence-parallel"))
      limits_.refuse(kTensor, "its tensor parallel leaves norms and residuals whole",
                     whole_experts(plan_.mesh) ? "etp=tp ep=1 sequence-parallel=off"
                                               : "sequence-parallel=off");
    if (stage_ == 3)
      limits_.refuse(kZeroPlace,
                     fmt::format("tensor_parallel (tp {}) goes with ZeRO 0, 1 and 2", tp),
                     "zero=2");
  }

  bool divides_evenly() const {
    const std::vector<int> layers = stage_layers(s_.model, plan_);
    return std::all_of(layers.begin(), layers.end(), [&](int n) { return n == layers.front(); });
  }

  void pipeline() {
    if (!plan_.order.empty())
      limits_.refuse("plan#/order", "it runs 1F1B, and the plan has an edited order", "order=own");
    const Method& schedule = schedule_of(plan_);
    if (schedule.name != "1f1b")
      limits_.refuse("plan#/choices", fmt::format("it runs 1F1B, and the plan {}", schedule.name),
                     one_stage_a_device(plan_));
    if (!has_pipeline()) return;
    if (plan_.virtual_stages > 1)
      limits_.refuse("plan#/virtual_stages",
                     fmt::format("a device holds one stage of its pipeline, found {} chunks",
                                 plan_.virtual_stages),
                     one_stage_a_device(plan_));
    if (!divides_evenly())
      limits_.refuse("plan#/split",
                     "its PipelineModule takes no list of layers, only rules for a split",
                     "split=even");
    if (stage_ > 1)
      limits_.refuse(kZeroPlace,
                     fmt::format("its pipeline goes with ZeRO 0 and 1, found {}", stage_),
                     "zero=1");
    limits_.warn("plan#/mesh/pp",
                 fmt::format("the stages are the program's: PipelineModule(layers, num_stages={}, "
                             "partition_method=\"type:LAYER\") with the name of its layers' class",
                             plan_.mesh.pp));
  }

  void context() {
    const Mesh& mesh = plan_.mesh;
    if (mesh.cp == 1 || divides_images(plan_)) return;
    if (mesh.ulysses != mesh.cp) {
      limits_.refuse(
          "plan#/mesh/cp",
          fmt::format("it divides a sequence by heads (Ulysses) and not round a ring, found cp {}",
                      mesh.cp),
          exchanges_heads() ? "context-parallel.kind=ulysses" : "cp=1");
      return;
    }
    config_.set("data_parallel_size", mesh.dp.value_or(1));
    config_.set("sequence_parallel_size", mesh.cp);
    if (mesh.tp > 1 || mesh.pp > 1)
      limits_.refuse("plan#/mesh",
                     fmt::format("the ranks of a sequence (cp {}) go with data parallel alone, "
                                 "found tp {} and pp {}",
                                 mesh.cp, mesh.tp, mesh.pp),
                     "tp=1 pp=1");
    if (mesh.order.find("cp") > mesh.order.find("dp"))
      limits_.refuse("plan#/mesh/order",
                     fmt::format("the ranks of a sequence lie next to each other there, and the "
                                 "plan has {}",
                                 mesh.order),
                     "rank-order=tp-cp-ep-dp-pp");
    limits_.warn("plan#/mesh/cp",
                 "the attention is the program's: deepspeed.sequence.layer.DistributedAttention "
                 "around it, and a part of each sample for every rank");
  }

  // Returns whether all cp ranks could exchange heads.
  bool exchanges_heads() const {
    const std::vector<std::int64_t> heads = heads_of_attention(s_.model, plan_.mesh.tp);
    return std::all_of(heads.begin(), heads.end(),
                       [&](std::int64_t n) { return n % plan_.mesh.cp == 0; });
  }

  void others() {
    const Mesh& mesh = plan_.mesh;
    if (mesh.ep > 1)
      limits_.warn(
          "plan#/mesh/ep",
          fmt::format("experts are the program's: deepspeed.moe.layer.MoE(ep_size={})", mesh.ep));
    if (whole_experts(mesh))
      limits_.refuse("plan#/mesh/etp",
                     fmt::format("it takes the ranks of experts from data parallel alone, and the "
                                 "plan from tp {} too (etp 1)",
                                 mesh.tp),
                     "etp=tp ep=1 sequence-parallel=off");
    if ((mesh.tp > 1 || has_pipeline()) && mesh.order.find("tp") > mesh.order.find("dp"))
      limits_.refuse("plan#/mesh/order",
                     fmt::format("tensor parallel ranks lie next to each other there, and the plan "
                                 "has {}",
                                 mesh.order),
                     "rank-order=tp-cp-ep-dp-pp");
    if (has_pipeline() && mesh.order.find("dp") > mesh.order.find("pp"))
      limits_.refuse(
          "plan#/mesh/order",
          fmt::format("stages lie farthest apart there, and the plan has {}", mesh.order),
          "rank-order=tp-cp-ep-dp-pp");
    const std::string& framework = plan_.software.framework;
    if (!framework.empty() && framework.find("deepspeed") == std::string::npos)
      limits_.warn("plan#/software/framework",
                   fmt::format("the plan is priced as {} runs it", framework),
                   "framework=deepspeed");
    if (plan_.software.graphs == "on")
      limits_.warn("plan#/software/cuda-graphs",
                   "it records no training, and the plan has its layers recorded",
                   "cuda-graphs=off");
    limits_.warn(
        "model",
        fmt::format(
            "the configuration says nothing of the model: train.py builds {}{}", s_.model.name,
            s_.model.tokens ? fmt::format(", with {} tokens a sample", plan_.batch.sequence) : ""));
  }

  // ZeRO++ gathers weights in whole numbers of 8 bits, with scales for groups of its own.
  void quantized_weights(Json& zero) {
    if (find_choice(plan_, kTensorFormats) == nullptr) return;
    const std::string format = params_of(plan_, kTensorFormats).text(kGatherFormat);
    if (format == "int8")
      zero.set("zero_quantized_weights", true);
    else
      refuse_formats(plan_, {kGatherFormat}, limits_);
  }

  void sharding() {
    const Params overlap = params_of(plan_, "overlap");
    Json zero = Json::object();
    zero.set("stage", stage_).set("overlap_comm", overlap.flag("gradients"));
    zero.set("contiguous_gradients", true).set("reduce_scatter", true);
    quantized_weights(zero);
    const std::int64_t data = ranks(plan_.mesh, Group::Data), shard = zero_.integer("shard");
    if (stage_ > 0 && shard > 0 && shard < data) hybrid(shard, zero);
    if (stage_ == 3) {
      if (!overlap.flag("weights")) zero.set("stage3_prefetch_bucket_size", 0);
      if (data > 1 && zero_.text(kGatheredLayers) != "none")
        limits_.refuse(kZeroPlace, "all its layers let go of gathered weights",
                       "zero.gathered-layers=none");
      if (!reshards_after_forward(plan_) && data > 1)
        limits_.refuse(kZeroPlace, "it lets go of gathered weights after forward",
                       "reshard-after-forward=on");
    }
    if (stage_ >= 2 && data > 1 && zero_.text("reduce") == "step")
      limits_.refuse("plan#/choices/zero/reduce",
                     "its stages 2 and 3 scatter gradients with every microbatch",
                     "zero-reduce=microbatch");
    config_.set("zero_optimization", std::move(zero));
  }

  void hybrid(std::int64_t shard, Json& zero) {
    if (stage_ != 3) {
      limits_.refuse("plan#/choices/zero/shard",
                     fmt::format("groups of {} ranks that divide state among them (MiCS) are of "
                                 "ZeRO 3, found {}",
                                 shard, stage_),
                     has_pipeline() || plan_.mesh.tp > 1 ? "hybrid=0" : "zero=3");
      return;
    }
    zero.set("mics_shard_size", shard);
    limits_.warn("plan#/choices/zero/shard",
                 "the program makes the model within deepspeed.zero.MiCS_Init()");
  }

  void offloading() {
    const std::string host = params_of(plan_, "offload").text("host");
    if (host == "activations" || host == "both")
      limits_.refuse(kOffload,
                     "of activations it moves only what recomputation keeps (cpu_checkpointing)",
                     host == "both" ? "offload=optimizer" : "offload=none");
    if (host != "optimizer" && host != "both") return;
    if (stage_ == 0)
      limits_.refuse(kOffload, "the host keeps optimizer state from ZeRO 1 on, found 0", "zero=1");
    const std::string& rule = plan_.optimizer;
    if (rule == "sgd" || rule == "momentum" || rule == "lamb")
      limits_.refuse(kOffload, fmt::format("the host has no update by {}", rule),
                     "optimizer=adamw");
    Json moved = Json::object().set("device", "cpu").set("pin_memory", true);
    if (params_of(plan_, "offload").text("tier") == "nvme") moved = on_nvme();
    if (Json* zero = member("zero_optimization")) zero->set("offload_optimizer", std::move(moved));
  }

  // The program swaps optimizer state beside updates, both ways, through buffers that it registers.
  Json on_nvme() {
    if (stage_ < 3)
      limits_.refuse(kOffload,
                     fmt::format("optimizer state goes to NVMe under ZeRO 3, found {}", stage_),
                     has_pipeline() || plan_.mesh.tp > 1 ? "offload-tier=host" : "zero=3");
    limits_.warn(kOffload,
                 "nvme_path is the folder where each node's drives are mounted: put your own");
    config_.set("aio", Json::object()
                           .set("block_size", 1 << 20)
                           .set("queue_depth", 8)
                           .set("thread_count", 1)
                           .set("single_submit", false)
                           .set("overlap_events", true));
    return Json::object()
        .set("device", "nvme")
        .set("nvme_path", "/local_nvme")
        .set("pin_memory", true)
        .set("buffer_count", 4)
        .set("pipeline_read", true)
        .set("pipeline_write", true);
  }

  Json* member(std::string_view key) {
    for (JsonMember& m : *config_.as_object())
      if (m.key == key) return &m.value;
    return nullptr;
  }

  void recomputation() {
    const Params params = params_of(plan_, "recompute");
    const std::string& text = params.text("policy");
    if (text == "none") return;
    if (text != "full") {
      limits_.refuse(kRecomputePlace,
                     fmt::format("it recomputes whole layers, all of them or none, and the plan "
                                 "says {}",
                                 text),
                     "recompute=full");
    } else if (has_pipeline()) {
      config_.set("pipeline", Json::object().set("activation_checkpoint_interval", 1));
      limits_.warn(kRecomputePlace,
                   "the program gives PipelineModule(activation_checkpoint_interval=1) too");
    } else {
      limits_.warn(kRecomputePlace,
                   "the program recomputes: model.gradient_checkpointing_enable(), or "
                   "deepspeed.checkpointing.checkpoint around every layer");
    }
  }

  void precision() {
    const Choice* chosen = chosen_on(plan_, MethodAxis::Precision);
    const std::string name = chosen == nullptr ? "fp32" : chosen->method;
    const std::string place = fmt::format("plan#/choices/{}", name);
    const Params params = params_of(plan_, name);
    const bool narrow = name == "fp8" || name == "mxfp8" || name == "nvfp4";
    if (name == "fp32" || name == "tf32") {
      if (name == "tf32")
        limits_.warn(place, "the program sets torch.backends.cuda.matmul.allow_tf32 = True");
      const DType message = gradient_message_format(plan_, {});
      if (message != DType::F32) config_.set("communication_data_type", to_string(message));
      return;
    }
    if (name != "fp16" && name != "bf16" && !narrow) {
      limits_.refuse(place, fmt::format("it trains in fp32, fp16 and bf16, found {}", name),
                     "precision=bf16");
      return;
    }
    if (narrow)
      limits_.warn(place, fmt::format("the configuration has no word for {}: the program uses "
                                      "Transformer Engine's layers, and the rest is bf16",
                                      name));
    const std::string& gradient = params.text("gradient-dtype");
    if (name == "fp16") {
      half(params);
    } else {
      config_.set("bf16", Json::object().set("enabled", true));
    }
    const Precision sums{.gradient = gradient_format(gradient)};
    config_.set("communication_data_type", to_string(gradient_message_format(plan_, sums)));
    config_.set("data_types", Json::object().set("grad_accum_dtype", gradient));
    if (stage_ > 0 || gradient != "fp32") return;
    if (name == "fp16")
      limits_.refuse(place, "without ZeRO gradients add up in the format of the weights",
                     "gradient-dtype=fp16");
    else
      limits_.warn(kZeroPlace,
                   "its optimizer of bf16 divides its state over the replicas even without ZeRO: "
                   "less memory than the plan has",
                   "zero=1");
  }

  void half(const Params& params) {
    const std::int64_t scale = params.integer("loss-scale");
    Json half = Json::object();
    half.set("enabled", true);
    if (params.flag("dynamic"))
      half.set("loss_scale", 0)
          .set("initial_scale_power", std::bit_width(static_cast<std::uint64_t>(scale)) - 1)
          .set("loss_scale_window", params.integer("window"));
    else
      half.set("loss_scale", scale);
    config_.set("fp16", std::move(half));
  }

  void optimizer() {
    const std::string& rule = plan_.optimizer;
    Json params = Json::object();
    params.set("lr", 1e-4);
    const bool adam = rule == "adam" || rule == "adamw";
    if (adam || rule == "lamb" || rule == "lion")
      params.set("betas", Json(Json::List{0.9, rule == "lion" ? 0.99 : 0.95}));
    if (adam || rule == "lamb") params.set("eps", 1e-8);
    if (rule == "momentum") params.set("momentum", 0.9);
    params.set("weight_decay", rule == "adamw" || rule == "lamb" || rule == "lion" ? 0.1 : 0.0);
    const std::string_view type = rule == "adam"                        ? "Adam"
                                  : rule == "adamw"                     ? "AdamW"
                                  : rule == "sgd" || rule == "momentum" ? "SGD"
                                  : rule == "adagrad"                   ? "Adagrad"
                                  : rule == "lamb"                      ? "Lamb"
                                  : rule == "lion"                      ? "Lion"
                                                                        : "";
    if (type.empty())
      limits_.refuse("plan#/optimizer", fmt::format("it has no update by {}", rule),
                     "optimizer=adamw");
    if (stage_ > 0 && (type == "SGD" || type == "Lamb"))
      config_.set("zero_allow_untested_optimizer", true);
    config_.set("optimizer", Json::object().set("type", type).set("params", std::move(params)));
    config_.set("gradient_clipping", 1.0);
    limits_.warn("plan#/optimizer",
                 "a plan says nothing of the learning rate and its course: lr 0.0001 is a stand-in "
                 "and there is no scheduler");
  }

  const Scenario& s_;
  const Plan& plan_;
  Params zero_;
  std::int64_t stage_;
  Limits limits_{"DeepSpeed"};
  Json config_ = Json::object();
};

}  // namespace

Exported deepspeed(const Scenario& s) { return DeepSpeedWriter(s).write(); }

Diagnostics deepspeed_refusals(const Scenario& s) { return DeepSpeedWriter(s).refusals(); }

}  // namespace trainyard
