// Tests torchtitan's TOML: every key is one of torchtitan's own, and what it cannot express is
// refused.
#include "core/exporters/torchtitan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/exported_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::planned;
using testing::Refused;
using testing::sentences;
using testing::toml_words;

using Settings = std::vector<std::string>;
using Words = std::map<std::string, std::string>;

Words words_of(const std::string& model, const std::string& cluster, const Settings& settings) {
  return toml_words(torchtitan(planned(model, cluster, settings)).text);
}

TEST(Torchtitan, WritesTheWholeFile) {
  const std::string text =
      torchtitan(planned("llama-3-8b", "h100-sxm:8",
                         {"zero=3", "tp=2", "framework=torchtitan", "global-batch=16", "seq=4096",
                          "recompute=op", "optimizer=adamw"}))
          .text;
  EXPECT_EQ(text.substr(0, text.find('\n')), "# llama-3-8b on 8 x H100 SXM5");
  EXPECT_EQ(text.substr(text.find("\n[model]")), R"(
[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
global_batch_size = 16
seq_len = 4096
steps = 20
dataset = "c4_test"
mixed_precision_param = "bfloat16"
mixed_precision_reduce = "float32"

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = 4
fsdp_reshard_after_forward = "always"
tensor_parallel_degree = 2
enable_async_tensor_parallel = false
pipeline_parallel_degree = 1
context_parallel_degree = 1
expert_parallel_degree = 1

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"

[optimizer]
name = "AdamW"
lr = 1e-4
weight_decay = 0.1

[compile]
enable = true
)");
}

TEST(Torchtitan, APipelineNamesTheLayersOfItsStages) {
  const Words words =
      words_of("llama-3-8b", "h100-sxm:8",
               {"pp=2", "zero=3", "split=1,31", "global-batch=32", "micro-batch=2"});
  EXPECT_EQ(words.at("parallelism.pipeline_parallel_schedule"), "\"1F1B\"");
  EXPECT_EQ(words.at("parallelism.pipeline_parallel_microbatch_size"), "2");
  EXPECT_EQ(words.at("training.local_batch_size"), "8");
  const std::string& parts = words.at("parallelism.module_fqns_per_model_part");
  EXPECT_EQ(parts.substr(0, 60),
            "[  [\"tok_embeddings\", \"layers.0\"],  [\"layers.1\", \"layers.2\",");
  EXPECT_EQ(parts.substr(parts.size() - 32), "\"layers.31\", \"norm\", \"output\"],]");
}

TEST(Torchtitan, EightBitsAreConverters) {
  const Words words = words_of("llama-3-8b", "h100-sxm:8",
                               {"zero=3", "precision=fp8", "fp8.scaling=row", "fp8.keeps=bf16"});
  EXPECT_EQ(words.at("model.converters"), "[\"quantize.linear.float8\"]");
  EXPECT_EQ(words.at("quantize.linear.float8.recipe_name"), "\"rowwise\"");
}

TEST(Torchtitan, GathersInEightBitsWithoutARecipe) {
  const Words words =
      words_of("llama-3-8b", "h100-sxm:8",
               {"zero=3", "precision=fp8", "fp8.keeps=bf16", "fp8.gather-fp8=true"});
  EXPECT_EQ(words.at("quantize.linear.float8.enable_fsdp_float8_all_gather"), "true");
  EXPECT_EQ(words.count("quantize.linear.float8.recipe_name"), 0u);
}

TEST(Torchtitan, AdamHasNoDecay) {
  EXPECT_EQ(words_of("llama-3-8b", "h100-sxm:8", {"optimizer=adam"}).at("optimizer.weight_decay"),
            "0.0");
  EXPECT_EQ(words_of("llama-3-8b", "h100-sxm:8", {"optimizer=adamw"}).at("optimizer.weight_decay"),
            "0.1");
}

TEST(Torchtitan, RefusesWhatItHasNoWordFor) {
  const Refused cases[] = {
      {"llama-3-8b",
       {"zero=1"},
       "plan#/choices/zero: torchtitan cannot say it: it replicates state or divides all of it "
       "(FSDP), found ZeRO 1; try zero=3"},
      {"llama-3-8b",
       {"cp=2"},
       "plan#/choices/zero: torchtitan cannot say it: ranks of context parallel (cp 2) divide "
       "weights there; try zero=3"},
      {"llama-3-8b",
       {"tp=2", "zero=3", "sequence-parallel=off"},
       "plan#/choices/tensor-parallel: torchtitan cannot say it: its tensor parallel divides norms "
       "and residuals too; try sequence-parallel=on"},
      {"llama-3-8b",
       {"pp=2", "zero=3", "schedule=zb-h1"},
       "plan#/choices: torchtitan cannot say it: it has 1F1B, GPipe, interleaved 1F1B, ZB-V and "
       "DualPipeV, and the plan runs zb-h1; try schedule=1f1b"},
      {"llama-3-8b",
       {"pp=2", "zero=3", "zero-reduce=microbatch"},
       "plan#/choices/zero/reduce: torchtitan cannot say it: it adds gradients up and scatters "
       "them once a step under a pipeline; try zero-reduce=step"},
      {"llama-3-8b",
       {"recompute=selective"},
       "plan#/choices/recompute: torchtitan cannot say it: it recomputes nothing, by operator or "
       "all, and the plan says selective; try recompute=op"},
      {"llama-3-8b",
       {"precision=fp16"},
       "plan#/choices/fp16: torchtitan cannot say it: it trains in fp32, bf16, fp8 and mxfp8, "
       "found fp16; try precision=bf16"},
      {"llama-3-8b",
       {"optimizer=lion"},
       "plan#/optimizer: torchtitan cannot say it: it has Adam and AdamW, found lion; try "
       "optimizer=adamw"},
      {"llama-3-8b",
       {"zero=1", "offload=optimizer", "hybrid=4"},
       "plan#/choices/zero: torchtitan cannot say it: it replicates state or divides all of it "
       "(FSDP), found ZeRO 1; try zero=3\n"
       "plan#/choices/offload: torchtitan cannot say it: its host keeps weights, gradients and "
       "optimizer state together; try offload=none"},
      {"llama-3-8b",
       {"rank-order=dp-tp-cp-ep-pp"},
       "plan#/mesh/order: torchtitan cannot say it: ranks lie as tp-cp-ep-dp-pp there, and the "
       "plan's as dp-tp-cp-ep-pp; try rank-order=tp-cp-ep-dp-pp"},
      {"qwen3-8b",
       {"pp=2", "zero=3"},
       "plan#/mesh/pp: torchtitan cannot say it: its qwen3 has no pipeline, found pp 2; try pp=1"},
      {"llama-3-8b",
       {"tp=2", "zero=3", "tensor-overlap=on"},
       "plan#/choices/overlap: torchtitan cannot say it: tensor parallel traffic runs beside "
       "products only where a compiler makes the kernels; try kernels=compiled"},
      {"deepseek-v3",
       {"cp=2", "zero=3"},
       "plan#/mesh/cp: torchtitan cannot say it: its deepseek_v3 671B has no context parallel, "
       "found cp 2; try cp=1"},
      {"llama-3-8b",
       {"cp=2", "zero=3", "context-parallel.kind=ulysses"},
       "plan#/choices/context-parallel/kind: torchtitan cannot say it: its ranks pass keys and "
       "values round a ring, and 2 of the plan's exchange heads; try context-parallel.kind=ring"},
      {"deepseek-v3",
       {"ep=4", "zero=3", "hybrid=2"},
       "plan#/mesh/ep: torchtitan cannot say it: ep 4 must divide the 2 ranks that divide weights; "
       "try hybrid=0"},
      {"deepseek-v3",
       {"tp=2", "ep=8", "etp=1", "zero=3", "hybrid=2"},
       "plan#/mesh/ep: torchtitan cannot say it: ep 8 must divide the 4 ranks that divide weights, "
       "tensor ranks included; try hybrid=0"},
      {"deepseek-v3",
       {"tp=2", "etp=1", "zero=3"},
       "plan#/mesh/etp: torchtitan cannot say it: it cuts experts over all tensor ranks (tp 2) "
       "where ep is 1, and the plan has etp 1; try etp=tp"},
      {"llama-3-8b",
       {"tp=2", "zero=0"},
       "plan#/choices/zero: torchtitan cannot say it: it replicates weights (dp 4) only where "
       "nothing else divides the model, found tp 2, pp 1; try zero=3"},
      {"llama-3-8b",
       {"pp=4", "zero=3", "global-batch=4"},
       "plan#/batch/global: torchtitan cannot say it: 1F1B needs as many microbatches as its 4 "
       "stages, found 2; try global-batch=8"},
      {"llama-3-8b",
       {"zero=3", "gradient-dtype=bf16"},
       "plan#/choices/bf16: torchtitan cannot say it: it reduces gradients in fp32, found bf16; "
       "try gradient-dtype=fp32"},
      {"llama-3-8b",
       {"zero=3", "reduce-dtype=bf16"},
       "plan#/choices/tensor-formats/reduce: torchtitan cannot say it: its gradients travel in the "
       "format in which they add up; try reduce-dtype=gradients"},
      {"gpt2",
       {},
       "model: torchtitan cannot say it: it has the models it ships (llama3 8B, 70B and 405B, "
       "qwen3 8B, deepseek_v3 671B), and gpt2 has other sizes"}};
  for (const Refused& c : testing::non_empty(cases))
    EXPECT_EQ(testing::refusal(torchtitan, planned(c.model, "h100-sxm:8", c.settings)), c.sentence);
}

TEST(Torchtitan, ExpertsAreCutOrWhole) {
  const auto degree = [](const Settings& settings) {
    const std::string text = torchtitan(planned("deepseek-v3", "h100-sxm:8", settings)).text;
    const std::string key = "expert_tensor_parallel_degree = ";
    return text.substr(text.find(key) + key.size(), 1);
  };
  EXPECT_EQ(degree({"tp=2", "ep=4", "zero=3"}), "2");
  EXPECT_EQ(degree({"tp=2", "ep=8", "etp=1", "zero=3"}), "1");
}

RC_GTEST_PROP(Torchtitan, DegreesFillTheWorld, ()) {
  const auto degree = rc::gen::element(1, 2, 4);
  const Settings settings = {"tp=" + std::to_string(*degree),
                             "cp=" + std::to_string(*degree),
                             "pp=" + std::to_string(*degree),
                             "global-batch=256",
                             "zero=" + std::to_string(*rc::gen::element(0, 3)),
                             "hybrid=" + std::to_string(*rc::gen::element(0, 4, 8))};
  Scenario s{zoo_model("llama-3-8b"), parse_cluster("h100-sxm:64"), {}};
  for (const std::string& setting : settings) apply_setting(s.plan, setting);
  RC_PRE(!has_errors(check(s)));
  s = prepare(s).scenario;
  std::string text;
  try {
    text = torchtitan(s).text;
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == Error::Kind::Unsupported);
    RC_DISCARD("refused");
  }
  const Words words = toml_words(text);
  std::int64_t world = 1;
  for (const char* axis : {"data_parallel_replicate", "data_parallel_shard", "tensor_parallel",
                           "pipeline_parallel", "context_parallel"})
    world *= std::stoll(words.at(fmt::format("parallelism.{}_degree", axis)));
  RC_ASSERT(world == 64);
  const std::int64_t data = std::stoll(words.at("parallelism.data_parallel_replicate_degree")) *
                            std::stoll(words.at("parallelism.data_parallel_shard_degree"));
  RC_ASSERT(std::stoll(words.at("training.global_batch_size")) %
                (std::stoll(words.at("training.local_batch_size")) * data) ==
            0);
  RC_ASSERT(text == torchtitan(s).text);
}

}  // namespace
}  // namespace trainyard
