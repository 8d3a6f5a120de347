// Tests DeepSpeed's configuration: strict JSON, the batch identity, and refusals.
#include "core/exporters/deepspeed.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/methods/catalogue.h"
#include "tests/support/exported_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using nlohmann::json;
using testing::planned;
using testing::Refused;
using testing::sentences;

using Settings = std::vector<std::string>;

json config_of(const std::string& model, const std::string& cluster, const Settings& settings) {
  return json::parse(deepspeed(planned(model, cluster, settings)).text);
}

TEST(DeepSpeed, WritesTheWholeConfiguration) {
  const Exported made =
      deepspeed(planned("llama-3-8b", "h100-sxm:16",
                        {"zero=2", "global-batch=64", "micro-batch=2", "offload=optimizer",
                         "optimizer=adamw", "gradient-dtype=bf16"}));
  json config = json::parse(made.text);
  EXPECT_EQ(config.at("_comment").at(0), "llama-3-8b on 16 x H100 SXM5");
  EXPECT_EQ(config.at("_comment").at(1), "For DeepSpeed 0.19.");
  EXPECT_EQ(config.at("_comment").back(),
            "Launch: deepspeed --hostfile HOSTS --num_nodes 2 --num_gpus 8 train.py --deepspeed "
            "--deepspeed_config THIS_FILE");
  config.erase("_comment");
  EXPECT_EQ(config, json::parse(R"({
    "train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2,
    "bf16": {"enabled": true}, "communication_data_type": "bf16",
    "data_types": {"grad_accum_dtype": "bf16"},
    "optimizer": {"type": "AdamW", "params": {"lr": 0.0001, "betas": [0.9, 0.95], "eps": 1e-8,
                                              "weight_decay": 0.1}},
    "gradient_clipping": 1.0, "steps_per_print": 1,
    "zero_optimization": {"stage": 2, "overlap_comm": true, "contiguous_gradients": true,
                          "reduce_scatter": true,
                          "offload_optimizer": {"device": "cpu", "pin_memory": true}}})"));
}

TEST(DeepSpeed, MessagesOfGradientsHaveAFormatOfTheirOwn) {
  const json config =
      config_of("llama-3-8b", "h100-sxm:16", {"zero=2", "global-batch=64", "reduce-dtype=bf16"});
  EXPECT_EQ(config.at("communication_data_type"), "bf16");
  EXPECT_EQ(config.at("data_types").at("grad_accum_dtype"), "fp32");
  const json wide = config_of(
      "llama-3-8b", "h100-sxm:16",
      {"zero=2", "global-batch=64", "precision=fp32", "flash-attention=off", "reduce-dtype=bf16"});
  EXPECT_EQ(wide.at("communication_data_type"), "bf16");
}

// ZeRO++'s qwZ.
TEST(DeepSpeed, GathersQuantizedWeights) {
  const auto zero_of = [](const std::vector<std::string>& settings) {
    return config_of("llama-3-8b", "h100-sxm:16", settings).at("zero_optimization");
  };
  EXPECT_EQ(
      zero_of({"zero=3", "global-batch=64", "gather-dtype=int8"}).at("zero_quantized_weights"),
      true);
  EXPECT_FALSE(zero_of({"zero=3", "global-batch=64"}).contains("zero_quantized_weights"));
}

// DeepSpeed swaps optimizer state under ZeRO 3 only, and reads how to from "aio".
TEST(DeepSpeed, PutsOptimizerStateOnNvme) {
  const json config = config_of(
      "llama-3-8b", "h100-sxm:16,nvme-read=20GB/s,nvme-write=10GB/s",
      {"zero=3", "global-batch=64", "offload=optimizer", "offload-tier=nvme", "optimizer=adamw"});
  EXPECT_EQ(config.at("zero_optimization").at("offload_optimizer"), json::parse(R"({
    "device": "nvme", "nvme_path": "/local_nvme", "pin_memory": true, "buffer_count": 4,
    "pipeline_read": true, "pipeline_write": true})"));
  EXPECT_EQ(config.at("aio"), json::parse(R"({
    "block_size": 1048576, "queue_depth": 8, "thread_count": 1, "single_submit": false,
    "overlap_events": true})"));
}

// As torchtitan's and Megatron's exports have it: rules that decouple the decay, and no other.
TEST(DeepSpeed, DecaysWeightsWhereTheRuleDecouplesTheDecay) {
  for (const auto& [rule, decay] : {std::pair{"adam", 0.0},
                                    {"adamw", 0.1},
                                    {"lion", 0.1},
                                    {"lamb", 0.1},
                                    {"sgd", 0.0},
                                    {"momentum", 0.0}}) {
    const json config = config_of("llama-3-8b", "h100-sxm:16",
                                  {"zero=1", "global-batch=64", std::string("optimizer=") + rule});
    EXPECT_EQ(config.at("optimizer").at("params").at("weight_decay"), decay) << rule;
  }
}

TEST(DeepSpeed, RanksOfASequenceExchangeHeads) {
  const json config = config_of("llama-3-8b", "h100-sxm:16",
                                {"cp=4", "context-parallel.kind=ulysses", "global-batch=64"});
  EXPECT_EQ(config.at("sequence_parallel_size"), 4);
  EXPECT_EQ(config.at("data_parallel_size"), 4);
  EXPECT_EQ(config.at("gradient_accumulation_steps"), 16);
}

TEST(DeepSpeed, RefusesWhatItHasNoWordFor) {
  const Refused cases[] = {
      {"llama-3-8b",
       {"pp=2", "zero=2"},
       "plan#/choices/zero: DeepSpeed cannot say it: its pipeline goes with ZeRO 0 and 1, found "
       "2; try zero=1"},
      {"llama-3-8b",
       {"pp=2", "schedule=gpipe"},
       "plan#/choices: DeepSpeed cannot say it: it runs 1F1B, and the plan gpipe; try "
       "schedule=1f1b"},
      {"llama-3-8b",
       {"pp=4", "split=7,9,9,7"},
       "plan#/split: DeepSpeed cannot say it: its PipelineModule takes no list of layers, only "
       "rules for a split; try split=even"},
      {"llama-3-8b",
       {"tp=2"},
       "plan#/choices/tensor-parallel: DeepSpeed cannot say it: its tensor parallel leaves norms "
       "and residuals whole; try sequence-parallel=off"},
      {"llama-3-8b",
       {"tp=2", "sequence-parallel=off", "zero=3"},
       "plan#/choices/zero: DeepSpeed cannot say it: tensor_parallel (tp 2) goes with ZeRO 0, 1 "
       "and 2; try zero=2"},
      {"llama-3-8b",
       {"cp=2"},
       "plan#/mesh/cp: DeepSpeed cannot say it: it divides a sequence by heads (Ulysses) and not "
       "round a ring, found cp 2; try context-parallel.kind=ulysses"},
      {"gemma-2b",
       {"cp=2"},
       "plan#/mesh/cp: DeepSpeed cannot say it: it divides a sequence by heads (Ulysses) and not "
       "round a ring, found cp 2; try cp=1"},
      {"llama-3-8b",
       {"cp=2", "pp=2", "context-parallel.kind=ulysses"},
       "plan#/mesh: DeepSpeed cannot say it: the ranks of a sequence (cp 2) go with data parallel "
       "alone, found tp 1 and pp 2; try tp=1 pp=1"},
      {"llama-3-8b",
       {"cp=2", "context-parallel.kind=ulysses", "rank-order=tp-dp-ep-cp-pp"},
       "plan#/mesh/order: DeepSpeed cannot say it: the ranks of a sequence lie next to each other "
       "there, and the plan has tp-dp-ep-cp-pp; try rank-order=tp-cp-ep-dp-pp"},
      {"llama-3-8b",
       {"tp=2", "sequence-parallel=off", "rank-order=cp-ep-dp-tp-pp"},
       "plan#/mesh/order: DeepSpeed cannot say it: tensor parallel ranks lie next to each other "
       "there, and the plan has cp-ep-dp-tp-pp; try rank-order=tp-cp-ep-dp-pp"},
      {"llama-3-8b",
       {"pp=2", "rank-order=tp-cp-ep-pp-dp"},
       "plan#/mesh/order: DeepSpeed cannot say it: stages lie farthest apart there, and the plan "
       "has tp-cp-ep-pp-dp; try rank-order=tp-cp-ep-dp-pp"},
      {"llama-3-8b",
       {"zero=1", "hybrid=4"},
       "plan#/choices/zero/shard: DeepSpeed cannot say it: groups of 4 ranks that divide state "
       "among them (MiCS) are of ZeRO 3, found 1; try zero=3"},
      {"llama-3-8b",
       {"zero=3", "reshard-after-forward=off"},
       "plan#/choices/zero: DeepSpeed cannot say it: it lets go of gathered weights after forward; "
       "try reshard-after-forward=on"},
      {"llama-3-8b",
       {"zero=2", "zero-reduce=step"},
       "plan#/choices/zero/reduce: DeepSpeed cannot say it: its stages 2 and 3 scatter gradients "
       "with every microbatch; try zero-reduce=microbatch"},
      {"llama-3-8b",
       {"offload=optimizer"},
       "plan#/choices/offload: DeepSpeed cannot say it: the host keeps optimizer state from ZeRO "
       "1 on, found 0; try zero=1"},
      {"llama-3-8b",
       {"offload=optimizer", "zero=1", "optimizer=lamb"},
       "plan#/choices/offload: DeepSpeed cannot say it: the host has no update by lamb; try "
       "optimizer=adamw"},
      {"llama-3-8b",
       {"offload=optimizer", "offload-tier=nvme", "zero=2"},
       "plan#/choices/offload: DeepSpeed cannot say it: optimizer state goes to NVMe under ZeRO 3, "
       "found 2; try zero=3"},
      {"llama-3-8b",
       {"recompute=selective"},
       "plan#/choices/recompute: DeepSpeed cannot say it: it recomputes whole layers, all of them "
       "or none, and the plan says selective; try recompute=full"},
      {"llama-3-8b",
       {"precision=bf16-kahan"},
       "plan#/choices/bf16-kahan: DeepSpeed cannot say it: it trains in fp32, fp16 and bf16, found "
       "bf16-kahan; try precision=bf16"},
      {"llama-3-8b",
       {"precision=fp16", "gradient-dtype=fp32"},
       "plan#/choices/fp16: DeepSpeed cannot say it: without ZeRO gradients add up in the format "
       "of the weights; try gradient-dtype=fp16"},
      {"llama-3-8b",
       {"zero=1", "first-moment-dtype=bf16"},
       "plan#/choices/tensor-formats/first-moment: DeepSpeed cannot say it: its optimizer keeps "
       "moments in fp32; try first-moment-dtype=fp32"},
      {"llama-3-8b",
       {"zero=3", "gather-dtype=fp8"},
       "plan#/choices/tensor-formats/gather: DeepSpeed cannot say it: it gathers weights in the "
       "format that they have; try gather-dtype=weights"},
      {"llama-3-8b",
       {"optimizer=lars"},
       "plan#/optimizer: DeepSpeed cannot say it: it has no update by lars; try optimizer=adamw"}};
  constexpr const char* kCluster = "h100-sxm:8,nvme-read=20GB/s,nvme-write=10GB/s";
  for (const Refused& c : testing::non_empty(cases))
    EXPECT_EQ(testing::refusal(deepspeed, planned(c.model, kCluster, c.settings)), c.sentence);
}

TEST(DeepSpeed, ChunksOfADeviceAreRefused) {
  const std::string sentence = testing::refusal(
      deepspeed,
      planned("llama-3-8b", "h100-sxm:8", {"pp=2", "virtual-stages=2", "global-batch=8"}));
  EXPECT_NE(sentence.find("a device holds one stage of its pipeline, found 2 chunks; try "
                          "virtual-stages=1"),
            std::string::npos);
}

TEST(DeepSpeed, ExpertsTakeNoTensorRanks) {
  const std::string sentence =
      testing::refusal(deepspeed, planned("mixtral-8x7b", "h100-sxm:8", {"tp=2", "ep=8", "etp=1"}));
  EXPECT_NE(sentence.find("plan#/mesh/etp: DeepSpeed cannot say it: it takes the ranks of experts "
                          "from data parallel alone, and the plan from tp 2 too (etp 1); try "
                          "etp=tp ep=1"),
            std::string::npos)
      << sentence;
}

TEST(DeepSpeed, WarnsOfWhatTheProgramDoes) {
  const auto warned = [](const Settings& settings) {
    return sentences(deepspeed(planned("mixtral-8x7b", "h100-sxm:64", settings)).warnings);
  };
  EXPECT_NE(warned({"pp=4", "global-batch=64"}).find("PipelineModule(layers, num_stages=4, "),
            std::string::npos);
  EXPECT_NE(warned({"ep=8"}).find("deepspeed.moe.layer.MoE(ep_size=8)"), std::string::npos);
  EXPECT_NE(warned({"precision=fp8"}).find("no word for fp8"), std::string::npos);
  EXPECT_NE(warned({"recompute=full"}).find("gradient_checkpointing_enable()"), std::string::npos);
  EXPECT_NE(warned({"hybrid=8", "zero=3"}).find("MiCS_Init()"), std::string::npos);
  EXPECT_NE(warned({"precision=tf32"}).find("allow_tf32"), std::string::npos);
  EXPECT_NE(warned({}).find("even without ZeRO"), std::string::npos);
}

TEST(DeepSpeed, FormatsAndUpdatesHaveTheirWords) {
  const json half = config_of("gpt2", "h100-sxm:8", {"precision=fp16"});
  EXPECT_EQ(half.at("fp16").at("initial_scale_power"), 16);
  EXPECT_EQ(half.count("bf16"), 0u);
  const json fixed = config_of("gpt2", "h100-sxm:8", {"precision=fp16", "loss-scale=512"});
  EXPECT_EQ(fixed.at("fp16").at("loss_scale"), 512);
  EXPECT_EQ(config_of("gpt2", "h100-sxm:8", {"precision=fp32"}).count("bf16"), 0u);
  const json momentum = config_of("resnet-50", "h100-sxm:8", {"optimizer=momentum", "zero=1"});
  EXPECT_EQ(momentum.at("optimizer").at("type"), "SGD");
  EXPECT_EQ(momentum.at("zero_allow_untested_optimizer"), true);
  const json mics = config_of("llama-3-8b", "h100-sxm:64", {"zero=3", "hybrid=8", "overlap=off"});
  EXPECT_EQ(mics.at("zero_optimization").at("mics_shard_size"), 8);
  EXPECT_EQ(mics.at("zero_optimization").at("stage3_prefetch_bucket_size"), 0);
  EXPECT_EQ(mics.at("zero_optimization").at("overlap_comm"), false);
  const json cut = config_of("llama-3-8b", "h100-sxm:8", {"tp=4", "sequence-parallel=off"});
  EXPECT_EQ(cut.at("tensor_parallel"), json({{"autotp_size", 4}}));
}

// It asserts the identity of the batch, and ignores what it does not know.
RC_GTEST_PROP(DeepSpeed, TheBatchIsWholeAndEveryWordIsKnown, ()) {
  const std::set<std::string> known = {"_comment",
                                       "train_batch_size",
                                       "train_micro_batch_size_per_gpu",
                                       "gradient_accumulation_steps",
                                       "bf16",
                                       "fp16",
                                       "communication_data_type",
                                       "data_types",
                                       "optimizer",
                                       "gradient_clipping",
                                       "steps_per_print",
                                       "zero_optimization",
                                       "pipeline",
                                       "tensor_parallel",
                                       "zero_allow_untested_optimizer"};
  const auto degree = rc::gen::element(1, 2, 4);
  const Settings settings = {
      "tp=" + std::to_string(*degree),
      "pp=" + std::to_string(*degree),
      "sequence-parallel=off",
      "zero=" + std::to_string(*rc::gen::inRange(0, 4)),
      "precision=" + *rc::gen::element<std::string>("fp32", "fp16", "bf16", "fp8"),
      "optimizer=" + *rc::gen::element<std::string>("adam", "adamw", "sgd", "lion", "lamb"),
      "recompute=" + *rc::gen::element<std::string>("none", "full"),
      "micro-batch=" + std::to_string(*rc::gen::element(1, 2)),
      "global-batch=128"};
  Scenario s{zoo_model("llama-3-8b"), parse_cluster("h100-sxm:32"), {}};
  for (const std::string& setting : settings) apply_setting(s.plan, setting);
  RC_PRE(!has_errors(check(s)));
  s = prepare(s).scenario;
  std::string text;
  try {
    text = deepspeed(s).text;
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == Error::Kind::Unsupported);
    RC_DISCARD("refused");
  }
  const json config = json::parse(text);
  for (const auto& [key, value] : config.items()) RC_ASSERT(known.count(key) == 1u);
  const std::int64_t data = 32 / (s.plan.mesh.tp * s.plan.mesh.pp);
  RC_ASSERT(config.at("train_batch_size").get<std::int64_t>() ==
            config.at("train_micro_batch_size_per_gpu").get<std::int64_t>() *
                config.at("gradient_accumulation_steps").get<std::int64_t>() * data);
  RC_ASSERT(text == deepspeed(s).text);
}

}  // namespace
}  // namespace trainyard
