// Tests the arguments of pretrain_gpt.py: what they say, and refusals.
#include "core/exporters/megatron_lm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/io/plans/megatron_layout.h"
#include "core/methods/catalogue.h"
#include "tests/support/exported_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::arguments_of;
using testing::number;
using testing::planned;
using testing::sentences;

using Settings = std::vector<std::string>;

std::map<std::string, std::string> flags_of(const std::string& model, const std::string& cluster,
                                            const Settings& settings) {
  return arguments_of(megatron_lm(planned(model, cluster, settings)).text);
}

std::string refusal(const std::string& model, const std::string& cluster,
                    const Settings& settings) {
  return testing::refusal(megatron_lm, planned(model, cluster, settings));
}

std::string line_with(const std::string& text, const std::string& word) {
  const std::size_t at = text.find("  " + word + " ");
  return at == std::string::npos ? "" : text.substr(at + 2, text.find('\n', at) - at - 2);
}

// 8, 8, 16 and 17 times 32 samples: a run whose batch grows is measured in samples throughout.
TEST(MegatronLm, ABatchThatGrowsIsARampOfSamples) {
  const std::string text =
      megatron_lm(planned("llama-3-8b", "h100-sxm:8",
                          {"tp=8", "zero=1", "global-batch=32", "batch-ramp=8:8:48"}))
          .text;
  EXPECT_EQ(line_with(text, "--rampup-batch-size"), "--rampup-batch-size 8 8 48");
  EXPECT_EQ(line_with(text, "--global-batch-size"), "--global-batch-size 32");
  EXPECT_EQ(line_with(text, "--train-samples"),
            "--train-samples " + std::to_string(8 + 8 + 16 + 24 + 16 * 32));
  EXPECT_EQ(line_with(text, "--lr-warmup-samples"), "--lr-warmup-samples 16");
  EXPECT_EQ(text.find("-iters 20"), std::string::npos);
  EXPECT_EQ(text.find("--lr-warmup-iters"), std::string::npos);
  const std::string listed =
      megatron_lm(planned("llama-3-8b", "h100-sxm:8",
                          {"tp=8", "zero=1", "global-batch=32", "batch-ramp=steps:8@0,32@100"}))
          .text;
  EXPECT_EQ(line_with(listed, "--step-batch-size-schedule"),
            "--step-batch-size-schedule \"0:8 819200:32\"");
  EXPECT_EQ(listed.find("--global-batch-size"), std::string::npos);
}

TEST(MegatronLm, WritesTheWholeScript) {
  EXPECT_EQ(megatron_lm(planned("llama-3-70b", "h100-sxm:64",
                                {"tp=8", "pp=4", "zero=1", "global-batch=64"}))
                .text,
            R"(#!/usr/bin/env bash
# llama-3-70b on 64 x H100 SXM5
# For Megatron-LM with Megatron Core 0.20 (pretrain_gpt.py).
# Written by Trainyard from this plan:
#   tp=8 pp=4 dp=2 cp=1 ep=1 etp=tp virtual-stages=1 micro-batch=1 global-batch=64 evaluation=none
#   input=none seq=8192 packing=none split=even schedule=1f1b zero=1 hybrid=0
#   reshard-after-forward=framework zero-reduce=framework reduce=mean compression=none
#   optimizer-norms=replicated batch-norm=replica sync=bsp sequence-parallel=on recompute=none
#   offload=none precision=bf16 gradient-dtype=fp32 reduce-dtype=gradients
#   boundary-dtype=activations gather-dtype=weights first-moment-dtype=fp32
#   second-moment-dtype=fp32 main-weights-dtype=fp32 flash-attention=on overlap=on
#   tensor-overlap=framework operator-stages=off optimizer=adam rank-order=tp-cp-ep-dp-pp lora=off
#   frozen=none sparsity=off tt-rank=off
# Start it on each of the 8 nodes, in Megatron-LM's folder, with MASTER_ADDR and NODE_RANK set.
set -euo pipefail

export CUDA_DEVICE_MAX_CONNECTIONS=1
LAUNCH=(
  --nnodes 8
  --nproc-per-node 8
  --node-rank "${NODE_RANK:?expected the number of this node, 0 to 7}"
  --master-addr "${MASTER_ADDR:?expected the name of node 0}"
  --master-port "${MASTER_PORT:-29500}"
)
MODEL=(
  --use-mcore-models
  --num-layers 80
  --hidden-size 8192
  --num-attention-heads 64
  --kv-channels 128
  --group-query-attention
  --num-query-groups 8
  --ffn-hidden-size 28672
  --swiglu
  --normalization RMSNorm
  --disable-bias-linear
  --max-position-embeddings 8192
  --position-embedding-type rope
  --untie-embeddings-and-output-weights
  --make-vocab-size-divisible-by 128
  --hidden-dropout 0.0
  --attention-dropout 0.0
)
PARALLELISM=(
  --tensor-model-parallel-size 8
  --pipeline-model-parallel-size 4
  --sequence-parallel
  --attention-backend flash
)
BATCH=(
  --micro-batch-size 1
  --global-batch-size 64
  --seq-length 8192
  --train-iters 20
  --eval-iters 0
  --log-interval 1
)
SHARDING=(
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
)
PRECISION=(
  --bf16
  --accumulate-allreduce-grads-in-fp32
)
OPTIMIZER=(
  --optimizer adam
  --adam-beta1 0.9
  --adam-beta2 0.95
  --weight-decay 0.0
  --lr 1.0e-4
  --min-lr 1.0e-5
  --lr-decay-style cosine
  --lr-warmup-iters 2
  --clip-grad 1.0
)
DATA=(
  --mock-data
  --tokenizer-type NullTokenizer
  --vocab-size 128256
  --split '99,1,0'
)

torchrun "${LAUNCH[@]}" pretrain_gpt.py \
  "${MODEL[@]}" \
  "${PARALLELISM[@]}" \
  "${BATCH[@]}" \
  "${SHARDING[@]}" \
  "${PRECISION[@]}" \
  "${OPTIMIZER[@]}" \
  "${DATA[@]}"
)");
}

struct RefusedOnCluster {
  std::string model, cluster;
  Settings settings;
  std::string sentence;
};

TEST(MegatronLm, RefusesWhatItHasNoWordFor) {
  const RefusedOnCluster cases[] = {
      {"llama-3-8b",
       "h100-sxm:8",
       {"pp=4", "schedule=zb-h1", "global-batch=16"},
       "plan#/choices: Megatron-LM cannot say it: its schedule follows from the degrees and is "
       "1f1b here, and the plan runs zb-h1; try schedule=1f1b"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"tp=2", "rank-order=dp-tp-cp-ep-pp"},
       "plan#/mesh/order: Megatron-LM cannot say it: ranks lie as tp-cp-ep-dp-pp or tp-cp-ep-pp-dp "
       "there, and the plan's as dp-tp-cp-ep-pp; try rank-order=tp-cp-ep-dp-pp"},
      {"mixtral-8x7b",
       "h100-sxm:8",
       {"tp=2", "ep=2", "sequence-parallel=off"},
       "plan#/choices/tensor-parallel: Megatron-LM cannot say it: experts (ep 2) beside tensor "
       "parallel (tp 2) need sequence parallel; try sequence-parallel=on"},
      {"mixtral-8x7b",
       "h100-sxm:8",
       {"ep=2", "precision=fp16"},
       "plan#/choices/fp16: Megatron-LM cannot say it: it has no expert parallel in fp16; try "
       "precision=bf16"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"tp=2", "tensor-overlap=on", "sequence-parallel=off"},
       "plan#/choices/overlap: Megatron-LM cannot say it: --tp-comm-overlap needs sequence "
       "parallel; try sequence-parallel=on"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"attention=triton"},
       "plan#/software/attention: Megatron-LM cannot say it: it has no attention kernel in Triton; "
       "try attention=flash-2"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"zero=3", "reshard-after-forward=off"},
       "plan#/choices/zero: Megatron-LM cannot say it: it lets go of gathered weights after "
       "forward; try reshard-after-forward=on"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"zero=2", "zero-reduce=step"},
       "plan#/choices/zero/reduce: Megatron-LM cannot say it: gradients that it divides are "
       "scattered with every microbatch; try zero-reduce=microbatch"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"recompute=op"},
       "plan#/choices/recompute: Megatron-LM cannot say it: it recomputes nothing, the attention "
       "core, all layers or the first layers of every stage, and the plan says op; try "
       "recompute=full"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"offload=optimizer"},
       "plan#/choices/offload: Megatron-LM cannot say it: the host updates weights for the "
       "distributed optimizer only; try zero=1"},
      {"llama-3-8b",
       "h100-sxm:8,nvme-read=20GB/s,nvme-write=10GB/s",
       {"offload=optimizer", "offload-tier=nvme", "zero=1"},
       "plan#/choices/offload: Megatron-LM cannot say it: it keeps offloaded optimizer state in "
       "the "
       "memory of the host; try offload-tier=host"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"pp=4", "offload=activations", "global-batch=16"},
       "plan#/choices/offload: Megatron-LM cannot say it: it moves activations of named modules or "
       "of whole layers without a pipeline, not those that wait for their backward; try "
       "offload=none"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"zero=1", "first-moment-dtype=bf16"},
       "plan#/choices/tensor-formats/main-weights: Megatron-LM cannot say it: beside bf16 weights "
       "its precision-aware optimizer stores of main weights the 16 bits that they lack; try "
       "main-weights-dtype=remainder"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"main-weights-dtype=remainder"},
       "plan#/choices/tensor-formats: Megatron-LM cannot say it: its precision-aware optimizer is "
       "the distributed one; try zero=1"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"reduce-dtype=bf16"},
       "plan#/choices/tensor-formats/reduce: Megatron-LM cannot say it: its gradients travel in "
       "the format in which they add up; try reduce-dtype=gradients"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"precision=bf16-sr"},
       "plan#/choices/bf16-sr: Megatron-LM cannot say it: it trains in fp32, fp16, bf16, fp8, "
       "mxfp8 and nvfp4, found bf16-sr; try precision=bf16"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"precision=fp8", "fp8.scaling=row"},
       "plan#/choices/fp8: Megatron-LM cannot say it: it has no scale for each row of a tensor; "
       "try fp8.scaling=tensor"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"precision=fp8", "fp8.keeps=bf16"},
       "plan#/choices/fp8: Megatron-LM cannot say it: products keep their 8-bit operand for "
       "backward there; try fp8.keeps=fp8"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"precision=fp8", "fp8.weights=fp8"},
       "plan#/choices/fp8: Megatron-LM cannot say it: weights are kept in 8 bits beside a "
       "distributed optimizer only; try zero=1"},
      {"llama-3-8b",
       "b200-hgx:8",
       {"precision=mxfp8", "mxfp8.weights=mxfp8"},
       "plan#/choices/mxfp8: Megatron-LM cannot say it: weights kept in mxfp8 share a buffer with "
       "gradients there, which a plan does not price; try mxfp8.weights=bf16"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"optimizer=lamb"},
       "plan#/optimizer: Megatron-LM cannot say it: it has adam, sgd and lion of the plan's "
       "optimizers, found lamb; try optimizer=adamw"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"optimizer=lion", "zero=1"},
       "plan#/optimizer: Megatron-LM cannot say it: its distributed optimizer divides the state of "
       "Adam only, found lion; try optimizer=adamw"},
      {"mixtral-8x7b",
       "h100-sxm:8",
       {"tp=2", "sequence-parallel=off"},
       "plan#/choices/tensor-parallel: Megatron-LM cannot say it: experts (ep 1) beside tensor "
       "parallel (tp 2) need sequence parallel; try sequence-parallel=on"},
      {"mixtral-8x7b",
       "h100-sxm:16",
       {"ep=8", "zero=1", "hybrid=4"},
       "plan#/choices/zero/shard: Megatron-LM cannot say it: data 16 / shard 4 = 4 instances of "
       "the optimizer must divide the 2 replicas of experts (ep 8); try hybrid=8"},
      {"llama-3-8b",
       "h100-sxm:16",
       {"pp=2", "cp=2", "rank-order=tp-cp-ep-pp-dp"},
       "plan#/mesh/order: Megatron-LM cannot say it: stages that lie inside data parallel "
       "(--use-tp-pp-dp-mapping) need as many replicas of experts as of other weights (dp 4), "
       "found 8; try rank-order=tp-cp-ep-dp-pp"},
      {"mistral-7b",
       "h100-sxm:8",
       {"cp=4", "context-parallel.kind=hybrid", "context-parallel.ulysses=2"},
       "plan#/mesh/cp: Megatron-LM cannot say it: its ring of context parallel (cp 4) knows no "
       "sliding window, which mistral-7b has; try cp=1"},
      {"mistral-7b",
       "h100-sxm:8",
       {"cp=2"},
       "plan#/mesh/cp: Megatron-LM cannot say it: its ring of context parallel (cp 2) knows no "
       "sliding window, which mistral-7b has; try cp=1"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"cp=2", "flash-attention=off"},
       "plan#/flash_attention: Megatron-LM cannot say it: its context parallel (cp 2) is in the "
       "fused attention kernels only; try flash-attention=on"},
      {"llama-3-8b",
       "h100-sxm:8",
       {"precision=fp32"},
       "plan#/choices/fp32: Megatron-LM cannot say it: its fused attention kernels take 16 bits "
       "and fewer; try flash-attention=off"},
      {"gemma-7b",
       "h100-sxm:8",
       {},
       "model: Megatron-LM cannot say it: pretrain_gpt.py has no argument for a gate of GELU, "
       "without which it builds other weights than gemma-7b has"},
      {"gpt-oss-20b",
       "h100-sxm:8",
       {},
       "model: Megatron-LM cannot say it: pretrain_gpt.py builds decoders of equal layers, and "
       "gpt-oss-20b is none"},
      {"olmo-2-32b",
       "h100-sxm:8",
       {},
       "model: Megatron-LM cannot say it: pretrain_gpt.py has no argument for norms behind the "
       "parts only, a norm over all heads of queries and of keys, without which it builds other "
       "weights than olmo-2-32b has"},
      {"bert-base",
       "h100-sxm:8",
       {},
       "model: Megatron-LM cannot say it: pretrain_gpt.py builds decoders of equal layers, and "
       "bert-base is none"}};
  for (const RefusedOnCluster& c : testing::non_empty(cases))
    EXPECT_EQ(refusal(c.model, c.cluster, c.settings), c.sentence);
}

// The workbench refuses these earlier; a scenario that was not checked is not exported either.
TEST(MegatronLm, RefusesSizesThatDoNotDivide) {
  Scenario s = planned("llama-3-8b", "h100-sxm:8", {"cp=4", "global-batch=4"});
  s.plan.batch.sequence = 4100;
  s.plan.batch.global = 3;
  EXPECT_EQ(testing::refusal(megatron_lm, s),
            "plan#/batch/sequence: Megatron-LM cannot say it: a rank holds two parts of a causal "
            "sequence, so that 2 x cp 4 divides it; found 4100 tokens; try seq=4104\n"
            "plan#/batch/global: Megatron-LM cannot say it: micro 1 x dp 2 = 2 must divide the "
            "global batch, found 3; try global-batch=4");
}

TEST(MegatronLm, RefusesAnEditedOrder) {
  Scenario s = planned("gpt2", "h100-sxm:2", {"pp=2", "global-batch=2"});
  const Workload w = prepare(s);
  s.plan.order = to_text(order(w, schedule_shape(w)));
  EXPECT_EQ(testing::refusal(megatron_lm, s),
            "plan#/order: Megatron-LM cannot say it: it runs 1F1B, and the plan has an edited "
            "order; try order=own");
}

TEST(MegatronLm, SaysAllThatItCannotSayAtOnce) {
  const std::string all = refusal("llama-3-8b", "h100-sxm:8",
                                  {"pp=2", "schedule=gpipe", "recompute=op", "optimizer=lamb"});
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2);
}

TEST(MegatronLm, ZeroIsItsDistributedOptimizerOrFsdp) {
  const auto none = flags_of("llama-3-8b", "h100-sxm:8", {"zero=0"});
  EXPECT_EQ(none.count("--use-distributed-optimizer"), 0u);
  const auto one = flags_of("llama-3-8b", "h100-sxm:8", {"zero=1", "hybrid=4"});
  EXPECT_EQ(one.count("--use-distributed-optimizer"), 1u);
  EXPECT_EQ(one.count("--use-megatron-fsdp"), 0u);
  EXPECT_EQ(one.at("--num-distributed-optimizer-instances"), "2");
  const auto three = flags_of("llama-3-8b", "h100-sxm:8", {"zero=3"});
  EXPECT_EQ(three.at("--data-parallel-sharding-strategy"), "optim_grads_params");
  EXPECT_EQ(three.at("--ckpt-format"), "fsdp_dtensor");
  const std::string script = megatron_lm(planned("llama-3-8b", "h100-sxm:8", {"zero=2"})).text;
  EXPECT_NE(script.find("\nunset CUDA_DEVICE_MAX_CONNECTIONS\n"), std::string::npos);
}

TEST(MegatronLm, OverlapsWhatThePlanOverlaps) {
  const auto on = flags_of("llama-3-8b", "h100-sxm:8", {"zero=1"});
  EXPECT_EQ(on.count("--overlap-grad-reduce") + on.count("--overlap-param-gather"), 2u);
  const auto off = flags_of("llama-3-8b", "h100-sxm:8", {"zero=1", "overlap=off"});
  EXPECT_EQ(off.count("--overlap-grad-reduce") + off.count("--overlap-param-gather"), 0u);
}

TEST(MegatronLm, RecomputesAllOrTheFirstLayersOfAStage) {
  const auto full = flags_of("llama-3-8b", "h100-sxm:8", {"recompute=full"});
  EXPECT_EQ(full.at("--recompute-method"), "uniform");
  EXPECT_EQ(full.at("--recompute-num-layers"), "1");
  for (const char* first : {"recompute=blocks=3", "recompute=full*3,none"}) {
    const auto blocks = flags_of("llama-3-8b", "h100-sxm:8", {"pp=2", first});
    EXPECT_EQ(blocks.at("--recompute-method"), "block");
    EXPECT_EQ(blocks.at("--recompute-num-layers"), "3");
  }
  const auto core =
      flags_of("llama-3-8b", "h100-sxm:8", {"recompute=selective", "flash-attention=off"});
  EXPECT_EQ(core.at("--recompute-granularity"), "selective");
  EXPECT_EQ(core.count("--recompute-method"), 0u);
  EXPECT_EQ(core.at("--attention-backend"), "unfused");
}

TEST(MegatronLm, AnUnevenSplitIsALayout) {
  const auto even = flags_of("llama-3-8b", "h100-sxm:8", {"pp=4", "global-batch=16"});
  EXPECT_EQ(even.count("--pipeline-model-parallel-layout"), 0u);
  const Scenario s =
      planned("llama-3-8b", "h100-sxm:8", {"pp=4", "split=7,9,9,7", "global-batch=16"});
  const auto uneven = arguments_of(megatron_lm(s).text);
  EXPECT_EQ(
      "'" + megatron_layout(s),
      uneven.at("--pipeline-model-parallel-layout").substr(0, megatron_layout(s).size()) + "\n");
  const auto chunks =
      flags_of("llama-3-8b", "h100-sxm:8", {"pp=4", "virtual-stages=2", "global-batch=16"});
  EXPECT_EQ(chunks.at("--num-virtual-stages-per-pipeline-rank"), "2");
}

TEST(MegatronLm, TheOtherOrderOfRanksHasAFlag) {
  const auto own = flags_of("llama-3-8b", "h100-sxm:8",
                            {"tp=2", "pp=2", "rank-order=tp-cp-ep-pp-dp", "global-batch=16"});
  EXPECT_EQ(own.count("--use-tp-pp-dp-mapping"), 1u);
  // An axis of one rank lies anywhere.
  const auto same = flags_of("llama-3-8b", "h100-sxm:8",
                             {"tp=2", "pp=2", "rank-order=cp-tp-dp-pp-ep", "global-batch=16"});
  EXPECT_EQ(same.count("--use-tp-pp-dp-mapping"), 0u);
}

TEST(MegatronLm, FormatsHaveTheirRecipes) {
  const auto eight = flags_of("llama-3-8b", "h100-sxm:8", {"precision=fp8", "fp8.scaling=block"});
  EXPECT_EQ(eight.at("--fp8-recipe"), "blockwise");
  EXPECT_EQ(eight.count("--bf16"), 1u);
  const auto half = flags_of("llama-3-8b", "h100-sxm:8", {"precision=fp16", "loss-scale=1024"});
  EXPECT_EQ(half.at("--loss-scale"), "1024");
  EXPECT_EQ(half.count("--bf16"), 0u);
  const auto narrow =
      flags_of("llama-3-8b", "h100-sxm:8", {"precision=bf16", "gradient-dtype=bf16"});
  EXPECT_EQ(narrow.count("--grad-reduce-in-bf16"), 1u);
  const auto state = flags_of("llama-3-8b", "h100-sxm:8",
                              {"zero=1", "precision=bf16", "gradient-dtype=bf16",
                               "first-moment-dtype=bf16", "main-weights-dtype=remainder"});
  EXPECT_EQ(state.count("--use-precision-aware-optimizer"), 1u);
  EXPECT_EQ(state.at("--main-grads-dtype"), "bf16");
  EXPECT_EQ(state.at("--main-params-dtype"), "fp32");
  EXPECT_EQ(state.at("--exp-avg-dtype"), "bf16");
  EXPECT_EQ(state.at("--exp-avg-sq-dtype"), "fp32");
  EXPECT_EQ(narrow.count("--use-precision-aware-optimizer"), 0u);
  const auto scaled = flags_of("llama-3-8b", "h100-sxm:8",
                               {"zero=1", "precision=bf16", "first-moment-dtype=fp8",
                                "second-moment-dtype=fp16", "main-weights-dtype=remainder"});
  EXPECT_EQ(scaled.at("--exp-avg-dtype"), "fp8");
  EXPECT_EQ(scaled.at("--exp-avg-sq-dtype"), "fp16");
  const auto four = flags_of("llama-3-8b", "b200-hgx:8", {"precision=nvfp4"});
  EXPECT_EQ(four.at("--fp4-format"), "e2m1");
}

TEST(MegatronLm, ModelsAreTheirArguments) {
  const auto gpt = flags_of("gpt2", "h100-sxm:8", {});
  EXPECT_EQ(gpt.at("--position-embedding-type"), "learned_absolute");
  EXPECT_EQ(gpt.count("--disable-bias-linear"), 0u);
  EXPECT_EQ(gpt.at("--hidden-dropout"), "0.1");
  EXPECT_EQ(gpt.count("--untie-embeddings-and-output-weights"), 0u);
  const auto qwen = flags_of("qwen2-7b", "h100-sxm:8", {});
  EXPECT_EQ(qwen.count("--disable-bias-linear") + qwen.count("--add-qkv-bias"), 2u);
  const auto moe = flags_of("deepseek-v3", "h100-sxm:512", {"ep=64", "tp=8"});
  EXPECT_EQ(moe.at("--moe-layer-freq"), "'([0]*3+[1]*58)'");
  EXPECT_EQ(moe.at("--moe-router-num-groups"), "8");
  EXPECT_EQ(moe.at("--moe-router-group-topk"), "4");
  EXPECT_EQ(moe.at("--kv-lora-rank"), "512");
  EXPECT_EQ(moe.at("--moe-shared-expert-intermediate-size"), "2048");
  EXPECT_EQ(moe.count("--group-query-attention"), 0u);
  EXPECT_EQ(moe.at("--expert-tensor-parallel-size"), "8");
  EXPECT_EQ(flags_of("mistral-7b", "h100-sxm:8", {}).at("--window-size"), "'4095,0'");
}

TEST(MegatronLm, WholeExpertsHaveATensorSizeOfOne) {
  const auto wide = flags_of("deepseek-v3", "h100-sxm:512", {"ep=256", "tp=8", "etp=1"});
  EXPECT_EQ(wide.at("--expert-tensor-parallel-size"), "1");
  EXPECT_EQ(wide.at("--expert-model-parallel-size"), "256");
  const auto one = flags_of("mixtral-8x7b", "h100-sxm:8", {"tp=2", "etp=1"});
  EXPECT_EQ(one.at("--expert-tensor-parallel-size"), "1");
  EXPECT_EQ(one.at("--expert-model-parallel-size"), "1");
  EXPECT_EQ(one.at("--moe-token-dispatcher-type"), "alltoall");
  // There are four replicas of experts beside four of the other weights, so stages may lie in
  // between.
  const auto inside =
      flags_of("mixtral-8x7b", "h100-sxm:16",
               {"tp=2", "pp=2", "ep=2", "etp=1", "rank-order=tp-cp-ep-pp-dp", "global-batch=16"});
  EXPECT_EQ(inside.count("--use-tp-pp-dp-mapping"), 1u);
}

TEST(MegatronLm, ExpertsHaveTheirPlacesAndLayersTheirGraphs) {
  const auto words = [](const Settings& settings) {
    return flags_of("mixtral-8x7b", "h100-sxm:64", settings);
  };
  const auto plain = words({"ep=8"});
  EXPECT_EQ(plain.count("--moe-expert-capacity-factor"), 0u);
  EXPECT_EQ(plain.count("--enable-cuda-graph"), 0u);
  const auto held = words({"ep=8", "expert-parallel.capacity=1.25", "cuda-graphs=on"});
  EXPECT_EQ(held.at("--moe-expert-capacity-factor"), "1.25");
  EXPECT_EQ(held.count("--moe-pad-expert-input-to-capacity"), 1u);
  EXPECT_EQ(held.count("--enable-cuda-graph"), 1u);
}

TEST(MegatronLm, WarnsOfWhatIsLeftToBeDone) {
  const std::string llama =
      sentences(megatron_lm(planned("llama-3-70b", "h100-sxm:64", {"tp=8", "pp=4"})).warnings);
  EXPECT_NE(llama.find("the vocabulary of 128256 is padded to 129024, a multiple of 128 x tp 8: "
                       "768 more rows in the table and the head"),
            std::string::npos);
  EXPECT_NE(llama.find("--rotary-base"), std::string::npos);
  const std::string opt = sentences(megatron_lm(planned("opt-125m", "h100-sxm:8", {})).warnings);
  EXPECT_NE(opt.find("pretrain_gpt.py has no argument for a position table with rows before the "
                     "first position, ReLU: build opt-125m by hand"),
            std::string::npos);
}

// The number of weights that pretrain_gpt.py makes from its arguments.
std::int64_t weights_of(const std::map<std::string, std::string>& a) {
  const auto has = [&](const char* flag) { return a.count(flag) > 0; };
  const std::int64_t layers = number(a, "--num-layers"), hidden = number(a, "--hidden-size"),
                     heads = number(a, "--num-attention-heads"),
                     multiple = number(a, "--make-vocab-size-divisible-by") *
                                number(a, "--tensor-model-parallel-size"),
                     vocabulary = (number(a, "--vocab-size") + multiple - 1) / multiple * multiple,
                     bias = has("--disable-bias-linear") ? 0 : 1,
                     qkv_bias = has("--add-qkv-bias") ? 1 : bias,
                     norm = (a.at("--normalization") == "LayerNorm" ? 2 : 1) * hidden,
                     gate = has("--swiglu") ? 2 : 1;
  const auto feed_forward = [&](std::int64_t width) {
    return (gate + 1) * hidden * width + bias * (gate * width + hidden);
  };
  std::int64_t attention = 0;
  if (has("--multi-latent-attention")) {
    const std::int64_t q = number(a, "--q-lora-rank", 0), kv = number(a, "--kv-lora-rank"),
                       nope = number(a, "--qk-head-dim"), rope = number(a, "--qk-pos-emb-head-dim"),
                       value = number(a, "--v-head-dim");
    attention =
        (q > 0 ? hidden * q + q + q * heads * (nope + rope) : hidden * heads * (nope + rope)) +
        hidden * (kv + rope) + kv + kv * heads * (nope + value) + heads * value * hidden;
  } else {
    const std::int64_t head = number(a, "--kv-channels"),
                       groups = number(a, "--num-query-groups", heads),
                       wide = (heads + 2 * groups) * head;
    attention = hidden * wide + qkv_bias * wide + heads * head * hidden + bias * hidden +
                (has("--qk-layernorm") ? 2 * head : 0);
  }
  const std::int64_t dense = feed_forward(number(a, "--ffn-hidden-size")),
                     experts = number(a, "--num-experts", 0);
  std::int64_t routed = 0, plain = experts > 0 ? 0 : layers;
  if (experts > 0) {
    routed = experts * feed_forward(number(a, "--moe-ffn-hidden-size")) + hidden * experts;
    if (has("--moe-shared-expert-intermediate-size"))
      routed += feed_forward(number(a, "--moe-shared-expert-intermediate-size"));
    if (has("--moe-router-enable-expert-bias")) routed += experts;
    if (has("--moe-layer-freq"))
      plain = std::stoll(a.at("--moe-layer-freq").substr(std::string("'([0]*").size()));
  }
  const bool learned = a.at("--position-embedding-type") == "learned_absolute";
  return vocabulary * hidden * (has("--untie-embeddings-and-output-weights") ? 2 : 1) +
         (learned ? number(a, "--max-position-embeddings") * hidden : 0) + norm +
         layers * (attention + 2 * norm) + plain * dense + (layers - plain) * routed;
}

TEST(MegatronLm, TheModelHasItsWeights) {
  int written = 0;
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Scenario s = planned(std::string(entry.name), "h100-sxm:8", {});
    std::string script;
    try {
      script = megatron_lm(s).text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::Unsupported);
      continue;
    }
    const auto arguments = arguments_of(script);
    const std::int64_t vocabulary = number(arguments, "--vocab-size"),
                       rows = (vocabulary + 127) / 128 * 128 - vocabulary,
                       tables = arguments.count("--untie-embeddings-and-output-weights") + 1;
    EXPECT_EQ(weights_of(arguments),
              parameters(s.model) + rows * tables * number(arguments, "--hidden-size"))
        << entry.name;
    ++written;
  }
  EXPECT_GE(written, 20);
}

TEST(MegatronLm, WhatItProposesIsAKnobAndAValue) {
  int proposed = 0;
  for (const Settings& settings :
       {Settings{"ep=8", "expert-parallel.copies=rank"}, Settings{"tp=2", "pp=2", "recompute=full"},
        Settings{"cp=2", "overlap=on"}, Settings{"ep=4", "precision=fp8"}}) {
    const Scenario s = planned("mixtral-8x7b", "h100-sxm:64", settings);
    for (const Diagnostic& d : testing::non_empty(megatron_lm(s).warnings)) {
      if (d.fix.empty()) continue;
      ++proposed;
      Plan plan = s.plan;
      EXPECT_NO_THROW(apply_setting(plan, d.fix)) << d.message << "; try " << d.fix;
    }
  }
  EXPECT_GT(proposed, 0);
}

TEST(MegatronLm, NoNameEndsAComment) {
  Scenario s = planned("gpt2", "h100-sxm:2", {});
  s.model.name = "x\nrm -rf /\r# \x1b[31m";
  const std::string script = megatron_lm(s).text;
  EXPECT_NE(script.find("# x?rm -rf /?# ?[31m on 2 x H100 SXM5\n"), std::string::npos);
}

// Degrees that a program would read back are those of the plan, and fill the cluster.
RC_GTEST_PROP(MegatronLm, DegreesFillTheWorld, ()) {
  const std::string model =
      *rc::gen::element<std::string>("llama-3-8b", "gpt2", "mixtral-8x7b", "qwen3-8b");
  const auto degree = rc::gen::element(1, 2, 4);
  Settings settings = {"tp=" + std::to_string(*degree),
                       "cp=" + std::to_string(*degree),
                       "pp=" + std::to_string(*degree),
                       "virtual-stages=" + std::to_string(*rc::gen::element(1, 2)),
                       "zero=" + std::to_string(*rc::gen::inRange(0, 4)),
                       "micro-batch=" + std::to_string(*rc::gen::element(1, 2)),
                       "global-batch=128"};
  if (model == "mixtral-8x7b") {
    settings.push_back("ep=" + std::to_string(*degree));
    settings.push_back(*rc::gen::element<std::string>("etp=tp", "etp=1"));
  }
  Scenario s{zoo_model(model), parse_cluster("h100-sxm:64"), {}};
  for (const std::string& setting : settings) apply_setting(s.plan, setting);
  RC_PRE(!has_errors(check(s)));
  s = prepare(s).scenario;
  std::string script;
  try {
    script = megatron_lm(s).text;
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == Error::Kind::Unsupported);
    RC_DISCARD("refused");
  }
  const auto arguments = arguments_of(script);
  const std::int64_t tp = number(arguments, "--tensor-model-parallel-size"),
                     pp = number(arguments, "--pipeline-model-parallel-size"),
                     cp = number(arguments, "--context-parallel-size"),
                     world = number(arguments, "--nnodes") * number(arguments, "--nproc-per-node");
  RC_ASSERT(world == 64);
  RC_ASSERT(world % (tp * pp * cp) == 0);
  const std::int64_t dp = world / (tp * pp * cp);
  RC_ASSERT(dp == *s.plan.mesh.dp);
  const std::int64_t micro = number(arguments, "--micro-batch-size"),
                     global = number(arguments, "--global-batch-size");
  RC_ASSERT(global % (micro * dp) == 0);
  RC_ASSERT(number(arguments, "--seq-length", 0) <=
            number(arguments, "--max-position-embeddings", 0));
  const std::int64_t ep = number(arguments, "--expert-model-parallel-size");
  RC_ASSERT(world % (ep * number(arguments, "--expert-tensor-parallel-size") * pp) == 0);
  RC_ASSERT(number(arguments, "--num-experts", ep) % ep == 0);
  RC_ASSERT(script == megatron_lm(s).text);
}

}  // namespace
}  // namespace trainyard
