#include "core/exporters/megatron_bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/exporters/megatron_lm.h"

namespace trainyard {
namespace {

enum class Says : std::uint8_t {
  Value,    // the argument's value
  List,     // its values as a list
  True,     // that it is there
  False,    // the opposite of its being there
  Nothing,  // what the recipe does anyway
};

struct Key {
  std::string_view argument, key;
  Says says = Says::Value;
};

// An argument and, where it has one, the key that says the same; several rows are several keys.
constexpr Key kKeys[] = {
    {"--use-mcore-models", "", Says::Nothing},
    {"--num-layers", "model.num_layers"},
    {"--hidden-size", "model.hidden_size"},
    {"--ffn-hidden-size", "model.ffn_hidden_size"},
    {"--num-attention-heads", "model.num_attention_heads"},
    {"--kv-channels", "model.kv_channels"},
    {"--group-query-attention", "", Says::Nothing},
    {"--num-query-groups", "model.num_query_groups"},
    {"--swiglu", "model.gated_linear_unit", Says::True},
    {"--normalization", "model.normalization"},
    {"--apply-layernorm-1p", "model.layernorm_zero_centered_gamma", Says::True},
    {"--disable-bias-linear", "model.add_bias_linear", Says::False},
    {"--add-qkv-bias", "model.add_qkv_bias", Says::True},
    {"--qk-layernorm", "model.qk_layernorm", Says::True},
    {"--position-embedding-type", "model.position_embedding_type"},
    {"--untie-embeddings-and-output-weights", "model.share_embeddings_and_output_weights",
     Says::False},
    {"--make-vocab-size-divisible-by", "model.make_vocab_size_divisible_by"},
    {"--max-position-embeddings", "model.max_position_embeddings"},
    {"--hidden-dropout", "model.hidden_dropout"},
    {"--attention-dropout", "model.attention_dropout"},
    {"--num-experts", "model.num_moe_experts"},
    {"--moe-ffn-hidden-size", "model.moe_ffn_hidden_size"},
    {"--moe-shared-expert-intermediate-size", "model.moe_shared_expert_intermediate_size"},
    {"--moe-router-topk", "model.moe_router_topk"},
    {"--moe-router-num-groups", "model.moe_router_num_groups"},
    {"--moe-router-group-topk", "model.moe_router_group_topk"},
    {"--moe-router-score-function", "model.moe_router_score_function"},
    {"--moe-router-enable-expert-bias", "model.moe_router_enable_expert_bias", Says::True},
    {"--moe-router-pre-softmax", "model.moe_router_pre_softmax", Says::True},
    {"--moe-grouped-gemm", "model.moe_grouped_gemm", Says::True},
    {"--moe-token-dispatcher-type", "model.moe_token_dispatcher_type"},
    {"--moe-expert-capacity-factor", "model.moe_expert_capacity_factor"},
    {"--moe-pad-expert-input-to-capacity", "model.moe_pad_expert_input_to_capacity", Says::True},
    {"--tensor-model-parallel-size", "model.tensor_model_parallel_size"},
    {"--pipeline-model-parallel-size", "model.pipeline_model_parallel_size"},
    {"--num-virtual-stages-per-pipeline-rank", "model.virtual_pipeline_model_parallel_size"},
    {"--pipeline-model-parallel-layout", "model.pipeline_model_parallel_layout"},
    {"--context-parallel-size", "model.context_parallel_size"},
    {"--cp-comm-type", "model.cp_comm_type"},
    {"--hierarchical-context-parallel-sizes", "model.hierarchical_context_parallel_sizes",
     Says::List},
    {"--expert-model-parallel-size", "model.expert_model_parallel_size"},
    {"--expert-tensor-parallel-size", "model.expert_tensor_parallel_size"},
    {"--sequence-parallel", "model.sequence_parallel", Says::True},
    {"--use-tp-pp-dp-mapping", "dist.use_tp_pp_dp_mapping", Says::True},
    {"--attention-backend", "model.attention_backend"},
    {"--micro-batch-size", "train.micro_batch_size"},
    {"--global-batch-size", "train.global_batch_size"},
    {"--rampup-batch-size", "train.rampup_batch_size", Says::List},
    {"--seq-length", "model.seq_length"},
    {"--seq-length", "dataset.sequence_length"},
    {"--train-iters", "train.train_iters"},
    {"--train-samples", "train.train_samples"},
    {"--eval-iters", "validation.eval_iters"},
    {"--log-interval", "logger.log_interval"},
    {"--use-distributed-optimizer", "ddp.use_distributed_optimizer", Says::True},
    {"--overlap-grad-reduce", "ddp.overlap_grad_reduce", Says::True},
    {"--overlap-param-gather", "ddp.overlap_param_gather", Says::True},
    {"--accumulate-allreduce-grads-in-fp32", "", Says::Nothing},
    {"--recompute-granularity", "model.recompute_granularity"},
    {"--recompute-method", "model.recompute_method"},
    {"--recompute-num-layers", "model.recompute_num_layers"},
    {"--optimizer", "optimizer.optimizer"},
    {"--adam-beta1", "optimizer.adam_beta1"},
    {"--adam-beta2", "optimizer.adam_beta2"},
    {"--sgd-momentum", "optimizer.sgd_momentum"},
    {"--weight-decay", "optimizer.weight_decay"},
    {"--weight-decay", "scheduler.start_weight_decay"},
    {"--weight-decay", "scheduler.end_weight_decay"},
    {"--lr", "optimizer.lr"},
    {"--min-lr", "optimizer.min_lr"},
    {"--clip-grad", "optimizer.clip_grad"},
    {"--lr-decay-style", "scheduler.lr_decay_style"},
    {"--lr-warmup-iters", "scheduler.lr_warmup_iters"},
    {"--lr-warmup-samples", "scheduler.lr_warmup_samples"},
    {"--mock-data", "", Says::Nothing},
    {"--tokenizer-type", "tokenizer.tokenizer_type"},
    {"--vocab-size", "tokenizer.vocab_size"},
    {"--split", "", Says::Nothing},
};

// Arguments that are said by whole overrides.
struct Override {
  std::string_view argument, says;
};
constexpr Override kOverrides[] = {
    {"--swiglu", "model.activation_func=silu"},
    {"--squared-relu", "model.activation_func=squared_relu"},
    {"--moe-enable-deepep", "model.moe_flex_dispatcher_backend=deepep"},
    {"--bf16", "mixed_precision=bf16_mixed"},
    {"--fp16", "mixed_precision=16-mixed"},
    // A run is as long as its steps or as its samples say, and the recipe says steps.
    {"--train-samples", "train.train_iters=null"},
    {"--train-samples", "scheduler.lr_decay_iters=null"},
    {"--lr-warmup-samples", "scheduler.lr_warmup_iters=0"},
};

// These are arguments of Megatron-LM for which the overrides of a recipe have nothing.
struct Missing {
  std::string_view argument, place, sentence, fix;
};
constexpr Missing kMissing[] = {
    {"--step-batch-size-schedule", "plan#/choices/batch-ramp",
     "its batch grows by equal increments (train.rampup_batch_size), and the plan lists the "
     "batches",
     "batch-ramp=off"},
    {"--multi-latent-attention", "model", "latent attention has a class of models of its own there",
     ""},
    {"--moe-layer-freq", "model",
     "which layers have experts is a list of the recipe there, not an override", ""},
    {"--window-size", "model", "a sliding window is a pair of the recipe there, not an override",
     ""},
    {"--use-megatron-fsdp", kZeroPlace,
     "a recipe that divides gradients or weights is another one there", "zero=1"},
    {"--num-distributed-optimizer-instances", "plan#/choices/zero/shard",
     "the groups of its optimizer are not an override of a recipe", "hybrid=0"},
    {"--grad-reduce-in-bf16", "plan#/choices/bf16",
     "its mixed precision of bf16 sums gradients in fp32", "gradient-dtype=fp32"},
    {"--exp-avg-dtype", "plan#/choices/tensor-formats",
     "formats of its optimizer's state are types of a recipe, not overrides",
     "first-moment-dtype=fp32"},
    {"--fp8-format", "plan#/choices",
     "8-bit products are mixed precisions of its own, which keep "
     "layers and scales that a plan does not know",
     "precision=bf16"},
    {"--fp4-format", "plan#/choices",
     "4-bit products are a mixed precision of its own, which keeps "
     "layers and scales that a plan does not know",
     "precision=bf16"},
    {"--loss-scale", "plan#/choices/fp16", "its mixed precision of fp16 has its own loss scale",
     "precision=bf16"},
    {"--initial-loss-scale", "plan#/choices/fp16",
     "its mixed precision of fp16 has its own loss scale", "precision=bf16"},
    {"--optimizer-cpu-offload", "plan#/choices/offload",
     "offload of the optimizer is not an override of its recipes", "offload=none"},
    {"--tp-comm-overlap", "plan#/choices/overlap",
     "tensor parallel traffic beside all products needs buffers of the recipe",
     "tensor-overlap=backward"},
    {"--enable-cuda-graph", "plan#/software/graphs", "graphs of CUDA are the recipe's",
     "graphs=off"},
};

// Arguments that only come with one of those above.
constexpr std::string_view kBesideMissing[] = {"--q-lora-rank",
                                               "--kv-lora-rank",
                                               "--qk-head-dim",
                                               "--qk-pos-emb-head-dim",
                                               "--v-head-dim",
                                               "--data-parallel-sharding-strategy",
                                               "--ckpt-format",
                                               "--no-gradient-accumulation-fusion",
                                               "--fp8-recipe",
                                               "--fp8-param-gather",
                                               "--first-last-layers-bf16",
                                               "--num-layers-at-start-in-bf16",
                                               "--num-layers-at-end-in-bf16",
                                               "--loss-scale-window",
                                               "--main-grads-dtype",
                                               "--main-params-dtype",
                                               "--exp-avg-sq-dtype",
                                               "--outer-dp-sharding-strategy",
                                               "--optimizer-offload-fraction",
                                               "--use-precision-aware-optimizer"};

std::string text_of(Says says, std::string_view value) {
  if (says == Says::True) return "true";
  if (says == Says::False) return "false";
  if (says == Says::Value) return std::string(value);
  std::string list(value);
  std::replace(list.begin(), list.end(), ' ', ',');
  return "[" + list + "]";
}

void add_overrides(const std::string& argument, std::vector<std::string>& to, Limits& limits) {
  const std::size_t space = std::min(argument.find(' '), argument.size());
  const std::string_view name = std::string_view(argument).substr(0, space);
  const std::string_view value =
      std::string_view(argument).substr(std::min(space + 1, argument.size()));
  bool known = std::find(std::begin(kBesideMissing), std::end(kBesideMissing), name) !=
               std::end(kBesideMissing);
  for (const Key& key : kKeys) {
    if (key.argument != name) continue;
    known = true;
    if (key.says != Says::Nothing)
      to.push_back(fmt::format("{}={}", key.key, text_of(key.says, value)));
  }
  for (const Override& one : kOverrides)
    if (one.argument == name) known = true, to.emplace_back(one.says);
  for (const Missing& one : kMissing)
    if (one.argument == name)
      known = true, limits.refuse(one.place, std::string(one.sentence), std::string(one.fix));
  if (!known) limits.refuse("plan", fmt::format("it has no key for {}", argument));
}

}  // namespace

Exported megatron_bridge(const Scenario& s) {
  Limits limits("Megatron-Bridge");
  MegatronCommand command =
      megatron_command(s, limits, "its adapters (the group peft) are not an override of a recipe");
  if (find_choice(s.plan, "fp32") != nullptr)
    limits.refuse("plan#/choices/fp32", "its recipes train in mixed precision", "precision=bf16");
  for (ArgumentGroup& group : command.groups) {
    std::vector<std::string> overrides;
    for (const std::string& argument : group.arguments) add_overrides(argument, overrides, limits);
    group.arguments = std::move(overrides);
  }
  std::erase_if(command.groups, [](const ArgumentGroup& g) { return g.arguments.empty(); });
  limits.throw_if_refused();
  std::string text =
      megatron_head(s, command, "Megatron-Bridge of August 2026 (scripts/training/run_recipe.py)",
                    "Megatron-Bridge");
  text += megatron_call(command, "",
                        "scripts/training/run_recipe.py --recipe vanilla_gpt_pretrain_config "
                        "--mode pretrain --dataset mock");
  return {std::move(text), limits.warnings()};
}

}  // namespace trainyard
