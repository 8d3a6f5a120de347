// Tests the overrides of Megatron-Bridge's recipes: what they say, and refusals.
#include "core/exporters/megatron_bridge.h"

#include <gtest/gtest.h>

#include "core/exporters/megatron_lm.h"
#include "tests/support/exported_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::planned;

// The overrides of a script, "key" -> "value"; each may occur once, and each must have a key.
std::map<std::string, std::string> overrides_of(const std::string& script) {
  std::map<std::string, std::string> found;
  std::istringstream lines(script);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.ends_with("=(") && line != "LAUNCH=(";
    if (begins || line == ")") inside = begins;
    if (begins || !inside) continue;
    const std::size_t equals = line.find('=');
    EXPECT_EQ(line.substr(0, 2), "  ");
    EXPECT_NE(equals, std::string::npos) << line;
    EXPECT_TRUE(found.emplace(line.substr(2, equals - 2), line.substr(equals + 1)).second) << line;
  }
  return found;
}

std::map<std::string, std::string> overrides(const std::string& model, const std::string& cluster,
                                             const std::vector<std::string>& settings) {
  return overrides_of(megatron_bridge(planned(model, cluster, settings)).text);
}

std::string bridge_refusal(const std::string& model, const std::string& cluster,
                           const std::vector<std::string>& settings) {
  return testing::refusal(megatron_bridge, planned(model, cluster, settings));
}

// 8, 8, 16, 24 and 16 times 32 samples: a ramp is of a run that is measured in samples throughout.
TEST(MegatronBridge, ABatchThatGrowsIsARampOfSamples) {
  const auto ramp = overrides("llama-3-8b", "h100-sxm:8",
                              {"tp=8", "zero=1", "global-batch=32", "batch-ramp=8:8:48"});
  EXPECT_EQ(ramp.at("train.rampup_batch_size"), "[8,8,48]");
  EXPECT_EQ(ramp.at("train.global_batch_size"), "32");
  EXPECT_EQ(ramp.at("train.train_samples"), std::to_string(8 + 8 + 16 + 24 + 16 * 32));
  EXPECT_EQ(ramp.at("train.train_iters"), "null");
  EXPECT_EQ(ramp.at("scheduler.lr_decay_iters"), "null");
  EXPECT_EQ(ramp.at("scheduler.lr_warmup_samples"), "16");
  EXPECT_EQ(ramp.at("scheduler.lr_warmup_iters"), "0");
  const auto plain = overrides("llama-3-8b", "h100-sxm:8", {"tp=8", "zero=1", "global-batch=32"});
  EXPECT_EQ(plain.count("train.rampup_batch_size"), 0u);
  EXPECT_EQ(plain.at("train.train_iters"), "20");
  EXPECT_EQ(plain.count("train.train_samples"), 0u);
  EXPECT_EQ(plain.count("scheduler.lr_decay_iters"), 0u);
}

TEST(MegatronBridge, AListedRampIsRefused) {
  EXPECT_EQ(bridge_refusal("llama-3-8b", "h100-sxm:8",
                           {"tp=8", "zero=1", "global-batch=32", "batch-ramp=steps:8@0,32@100"}),
            "plan#/choices/batch-ramp: Megatron-Bridge cannot say it: its batch grows by equal "
            "increments "
            "(train.rampup_batch_size), and the plan lists the batches; try batch-ramp=off");
}

TEST(MegatronBridge, SaysModelDegreesAndSharding) {
  const std::string script =
      megatron_bridge(planned("mixtral-8x7b", "h100-sxm:64",
                              {"tp=2", "pp=4", "ep=8", "virtual-stages=2", "zero=1",
                               "global-batch=256", "recompute=full", "seq=4096"}))
          .text;
  const auto o = overrides_of(script);
  const std::pair<const char*, const char*> expected[] = {
      {"model.num_layers", "32"},
      {"model.hidden_size", "4096"},
      {"model.num_query_groups", "8"},
      {"model.gated_linear_unit", "true"},
      {"model.activation_func", "silu"},
      {"model.add_bias_linear", "false"},
      {"model.share_embeddings_and_output_weights", "false"},
      {"model.num_moe_experts", "8"},
      {"model.moe_router_topk", "2"},
      {"model.moe_grouped_gemm", "true"},
      {"model.tensor_model_parallel_size", "2"},
      {"model.pipeline_model_parallel_size", "4"},
      {"model.virtual_pipeline_model_parallel_size", "2"},
      {"model.expert_model_parallel_size", "8"},
      {"model.sequence_parallel", "true"},
      {"model.seq_length", "4096"},
      {"dataset.sequence_length", "4096"},
      {"train.micro_batch_size", "1"},
      {"train.global_batch_size", "256"},
      {"ddp.use_distributed_optimizer", "true"},
      {"ddp.overlap_grad_reduce", "true"},
      {"mixed_precision", "bf16_mixed"},
      {"model.recompute_granularity", "full"},
      {"optimizer.optimizer", "adam"},
      {"tokenizer.vocab_size", "32000"}};
  for (const auto& [key, value] : expected) {
    ASSERT_EQ(o.count(key), 1u) << key;
    EXPECT_EQ(o.at(key), value) << key;
  }
  EXPECT_NE(script.find("torchrun \"${LAUNCH[@]}\" scripts/training/run_recipe.py --recipe "
                        "vanilla_gpt_pretrain_config --mode pretrain --dataset mock \\\n"
                        "  \"${MODEL[@]}\""),
            std::string::npos)
      << script;
}

// Megatron-LM's arguments are the export's source, so that every one must have a key here, or a
// sentence that says why it has none.
TEST(MegatronBridge, EveryArgumentHasAKeyOrASentence) {
  const std::vector<std::string> more[] = {{"tp=4", "cp=2"},
                                           {"tp=2", "cp=4", "ulysses=2", "seq=8192"},
                                           {"precision=fp8"},
                                           {"precision=mxfp8"},
                                           {"precision=nvfp4"},
                                           {"precision=fp16"},
                                           {"precision=fp32", "flash-attention=off"},
                                           {"precision=bf16", "gradient-dtype=bf16"},
                                           {"precision=bf16", "main-weights-dtype=remainder"},
                                           {"offload=optimizer"},
                                           {"zero=0"},
                                           {"zero=2"},
                                           {"zero=3"},
                                           {"pp=4", "virtual-stages=2"},
                                           {"recompute=selective"},
                                           {"tensor-overlap=on", "tp=4"},
                                           {"graphs=on"},
                                           {"optimizer=sgd", "zero=0"},
                                           {"optimizer=lion", "zero=0"},
                                           {"rank-order=tp-cp-ep-pp-dp", "pp=2"},
                                           {"global-batch=256", "batch-ramp=64:64:4096"},
                                           {"ep=8", "expert-parallel.copies=rank"},
                                           {"ep=8", "expert-parallel.capacity=1.25"}};
  int written = 0, refused = 0;
  for (const char* cluster : {"h100-sxm:64", "b200:64"})
    for (const ZooEntry& model : zoo())
      for (const std::vector<std::string>& one : more) {
        std::vector<std::string> settings = {"zero=1", "global-batch=256"};
        settings.insert(settings.end(), one.begin(), one.end());
        Scenario s;
        try {
          s = planned(std::string(model.name), cluster, settings);
        } catch (const Error&) {
          continue;  // no legal plan of this model
        }
        const std::string words = testing::refusal(megatron_bridge, s);
        EXPECT_EQ(words.find("it has no key"), std::string::npos) << words;
        words.empty() ? ++written : ++refused;
        if (!testing::refusal(megatron_lm, s).empty()) {
          EXPECT_FALSE(words.empty());
        }
      }
  EXPECT_GT(written, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace trainyard
