// Tests the keys of --set: what each writes, reads back and refuses; and the completion of plans.
#include "core/methods/settings/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <sstream>

#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::scenario;

struct Values {
  std::string_view key;
  std::vector<std::string_view> values;  // as they read back
};

// Values that do not depend on the rest of the plan.
const std::vector<Values> kFree = {
    {"tp", {"1", "2"}},
    {"pp", {"1", "2"}},
    {"cp", {"1", "2"}},
    {"micro-batch", {"1", "4", "100000000"}},
    {"global-batch", {"64", "10000000000"}},
    {"seq", {"512", "1000000000"}},
    {"packing", {"none", "pad", "longest", "packed"}},
    {"widths", {"any", "multiple:64", "128,256,512"}},
    {"packing-order", {"drawn", "by-length"}},
    {"lengths", {"fixed:512", "uniform:64-1024", "lognormal:600,1.1", "histogram:128*3,512*1"}},
    {"batch-ramp", {"16:16:3000", "steps:256@0,512@63000"}},
    {"schedule", {"gpipe", "1f1b", "interleaved"}},
    {"zero", {"0", "1", "2", "3"}},
    {"hybrid", {"0", "2", "8"}},
    {"reduce-dtype", {"gradients", "fp32", "bf16"}},
    {"boundary-dtype", {"activations", "bf16"}},
    {"gather-dtype", {"weights", "bf16", "fp8", "int8"}},
    {"first-moment-dtype", {"fp32", "bf16", "fp16", "fp8"}},
    {"second-moment-dtype", {"fp32", "bf16", "fp16"}},
    {"main-weights-dtype", {"fp32", "remainder", "fp16"}},
    {"offload", {"none", "optimizer", "activations", "both"}},
    {"reshard-after-forward", {"framework", "on", "off"}},
    {"zero-reduce", {"framework", "microbatch", "step"}},
    {"reduce", {"mean", "sum", "adasum", "adasum-tree", "adasum-hierarchical"}},
    {"compression", {"none", "dgc", "topk", "mstopk", "hitopk"}},
    {"operator-stages", {"off", "concurrent", "0.forward:0;1-3|4"}},
    {"optimizer-norms", {"replicated", "shared"}},
    {"evaluation", {"none", "one", "distributed"}},
    {"input", {"none", "storage", "cached"}},
    {"sync", {"bsp", "local-sgd", "easgd", "downpour", "hogwild"}},
    {"batch-norm", {"replica", "replicas"}},
    {"sequence-parallel", {"on", "off"}},
    {"lora", {"off", "1", "16", "65536"}},
    {"frozen", {"none", "embedding", "embedding,layers", "all-but-head"}},
    {"sparsity", {"off", "0", "0.5", "0.9"}},
    {"tt-rank", {"off", "1", "32", "4096"}},
    {"recompute",
     {"none", "selective", "op", "full", "blocks=1", "keep=act", "full*4,none", "full*4,none/op"}},
    {"precision",
     {"fp32", "tf32", "fp16", "bf16", "bf16-nearest", "bf16-sr", "bf16-kahan", "flex16", "fp8",
      "mxfp8", "nvfp4", "vs-quant"}},
    {"flash-attention", {"on", "off"}},
    {"overlap", {"on", "off"}},
    {"tensor-overlap", {"framework", "off", "backward", "on"}},
    {"optimizer",
     {"adam", "adamw", "sgd", "momentum", "adagrad", "lars", "lamb", "lion", "adamw-8bit",
      "adafactor", "muon", "halp"}},
    {"rank-order", {"tp-cp-ep-dp-pp", "tp-pp-dp-cp-ep"}},
    {"framework",
     {"typical", "megatron", "megatron-deepspeed", "megatron-core", "deepspeed", "fsdp",
      "torchtitan", "nanotron", "maxtext", "pytorch"}},
    {"kernels", {"eager", "compiled", "fused"}},
    {"cuda-graphs", {"on", "off"}},
    {"release", {"2024-12", "2026-02"}},
};
const std::vector<Values> kBound = {
    {"offload-tier", {"host", "nvme"}},
    {"offload-layers",
     {"together", "all", "convolutions", "dynamic", "made=act", "all*4,none", "all*4,none/none"}},
    {"offload-in-flight", {"2", "16"}},
    {"lora-alpha", {"0", "32"}},
    {"sparse-block", {"1", "4", "16"}},
    {"sparse-every", {"0", "100"}},
    {"sparse-drop", {"0", "0.3"}},
    {"sparse-regrowth", {"within", "across"}},
    {"sparse-capacity", {"1", "1.5"}},
    {"lora-targets", {"all-linear", "attention", "mlp", "q_proj,v_proj"}},
    {"tt-tables", {"1", "1000", "1000000"}},
    {"tt-cache", {"0", "10000"}},
    {"tt-zipf", {"1", "1.05"}},
    {"tt-start", {"normalised", "published"}},
    {"attention", {"triton", "flash-2", "cudnn"}},
    {"dp", {"1", "8", "rest"}},
    {"ep", {"1", "2"}},
    {"etp", {"tp", "1", "4"}},
    {"virtual-stages", {"1", "2", "1000"}},
    {"split", {"even", "4", "1,3", "0,4,0", "balanced"}},
    {"order", {"own", "d0/compute  0F0 0B0\nd1/compute  1F0 1B0\n"}},
};

TEST(Settings, ReadBackWhatWasApplied) {
  for (const auto* list : {&kFree, &kBound})
    for (const auto& [key, values] : testing::non_empty(*list))
      for (std::string_view value : testing::non_empty(values)) {
        Plan plan;
        apply_setting(plan, key, value);
        EXPECT_EQ(setting(plan, key), value) << key;
      }
}

TEST(Settings, AnAttentionKernelIsFusedAttention) {
  Plan plan;
  apply_setting(plan, "attention=cudnn");
  EXPECT_TRUE(plan.flash_attention);
  apply_setting(plan, "attention=unfused");
  EXPECT_FALSE(plan.flash_attention);
  EXPECT_EQ(setting(plan, "attention"), "");
  apply_setting(plan, "attention-backend", "flash-2");
  EXPECT_TRUE(plan.flash_attention);
  EXPECT_EQ(plan.software, (Software{"", "", "flash-2", "", ""}));
}

TEST(Settings, ReadBackWhatBelongsToAPrecision) {
  Plan plan;
  EXPECT_EQ(setting(plan, "gradient-dtype"), "");
  EXPECT_EQ(setting(plan, "loss-scale"), "");
  apply_setting(plan, "precision=fp16");
  for (const char* value : {"fp16", "fp32"}) {
    apply_setting(plan, "gradient-dtype", value);
    EXPECT_EQ(setting(plan, "gradient-dtype"), value);
  }
  for (const char* value : {"1024", "dynamic"}) {
    apply_setting(plan, "loss-scale", value);
    EXPECT_EQ(setting(plan, "loss-scale"), value);
  }
}

TEST(Settings, EveryKeyIsCoveredAndSaysWhatItIs) {
  std::set<std::string_view> covered = {"gradient-dtype", "loss-scale"};
  for (const auto* list : {&kFree, &kBound})
    for (const Values& v : *list) covered.insert(v.key);
  std::set<std::string_view> keys;
  for (const Setting& s : testing::non_empty(settings())) {
    EXPECT_TRUE(keys.insert(s.key).second) << s.key;
    EXPECT_FALSE(s.doc.empty()) << s.key;
    for (std::string_view alias : s.aliases) EXPECT_TRUE(keys.insert(alias).second) << alias;
    EXPECT_EQ(covered.count(s.key), 1u) << s.key;
  }
}

TEST(Settings, LegalWordsOfAListAreAccepted) {
  for (const Setting& s : testing::non_empty(settings()))
    for (std::string_view value : s.values) {
      Plan plan;
      if (s.key == "gradient-dtype")
        apply_setting(plan, value == "bf16" ? "precision=bf16" : "precision=fp16");
      s.apply(plan, value, {"test"});
      EXPECT_EQ(s.read(plan), value) << s.key;
    }
}

TEST(Settings, SpellingsOfOtherFrameworks) {
  struct Spelling {
    std::string_view typed, key;
  };
  for (const auto& [typed, key] : {
           Spelling{"--tensor-model-parallel-size", "tp"},  // Megatron-LM
           {"--pipeline_model_parallel_size", "pp"},
           {"context-parallel-size", "cp"},
           {"expert-model-parallel-size", "ep"},
           {"expert-tensor-parallel-size", "etp"},
           {"micro-batch-size", "micro-batch"},
           {"global-batch-size", "global-batch"},
           {"seq-length", "seq"},
           {"recompute-granularity", "recompute"},
           {"overlap-grad-reduce", "overlap"},
           {"initial-loss-scale", "loss-scale"},
           {"main-grads-dtype", "gradient-dtype"},
           {"main-params-dtype", "main-weights-dtype"},
           {"--exp-avg-dtype", "first-moment-dtype"},
           {"exp_avg_sq_dtype", "second-moment-dtype"},
           {"use-flash-attn", "flash-attention"},
           {"train_micro_batch_size_per_gpu", "micro-batch"},  // DeepSpeed
           {"communication_data_type", "reduce-dtype"},
           {"train_batch_size", "global-batch"},
           {"zero_optimization.stage", "zero"},
           {"mics_shard_size", "hybrid"},
           {"overlap_comm", "overlap"},
           {"tensor_parallel_degree", "tp"},  // torchtitan
           {"pipeline_parallel_degree", "pp"},
           {"expert_tensor_parallel_degree", "etp"},
           {"data_parallel_shard_degree", "hybrid"},
           {"pipeline_parallel_schedule", "schedule"},
           {"local_batch_size", "micro-batch"},
           {"activation_checkpoint.mode", "recompute"},
       }) {
    const Setting* found = find_setting(typed);
    ASSERT_NE(found, nullptr) << typed;
    EXPECT_EQ(found->key, key) << typed;
  }
}

// Degrees of replicas are not the whole of dp: nothing is taken for what it is not.
TEST(Settings, SpellingsThatMeanSomethingElseAreUnknown) {
  EXPECT_EQ(find_setting("data_parallel_replicate_degree"), nullptr);
  EXPECT_EQ(find_setting("zero_hpz_partition_size"), nullptr);
}

struct RefusedSetting {
  std::string_view assignment, message, place;
};

TEST(Settings, RefuseWithASentence) {
  for (const auto& [assignment, message, place] : {
           RefusedSetting{
               "tensor-paralel=2",
               "no setting is called \"tensor-paralel\"; did you mean \"tensor-parallel\"?",
               "--set"},
           {"tp", "expected key=value such as tp=8, found \"tp\"", "--set"},
           {"tp=0", "expected a whole number from 1 to 1000000, found \"0\"", "--set tp"},
           {"tp=-8", "expected a whole number from 1 to 1000000, found \"-8\"", "--set tp"},
           {"tp=99999999999999999999",
            "expected a whole number from 1 to 1000000, found \"99999999999999999999\"",
            "--set tp"},
           {"tp=", "expected a whole number such as 8, found \"\"", "--set tp"},
           {"tp=eight", "expected a whole number such as 8, found \"eight\"", "--set tp"},
           {"tp=8.0", "expected a whole number such as 8, found \"8.0\"", "--set tp"},
           {"tp= 8", "expected a whole number such as 8, found \" 8\"", "--set tp"},
           {"tensor-model-parallel-size=0",
            "expected a whole number from 1 to 1000000, found \"0\"", "--set tp"},
           {"dp=all", "expected a whole number such as 8, found \"all\"", "--set dp"},
           {"virtual-stages=1001", "expected a whole number from 1 to 1000, found \"1001\"",
            "--set virtual-stages"},
           {"micro-batch=100000001",
            "expected a whole number from 1 to 100000000, found \"100000001\"",
            "--set micro-batch"},
           {"seq=0", "expected a whole number from 1 to 1000000000, found \"0\"", "--set seq"},
           {"schedule=1f1d",
            "expected gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, v-half, v-min, dualpipe-v, "
            "dualpipe, chimera, pipedream, pipedream-2bw, pipemare, pipelined-backprop or "
            "tick-tock, found \"1f1d\"; did you mean \"1f1b\"?",
            "--set schedule"},
           {"precision=bf61",
            "expected fp32, tf32, fp16, bf16, bf16-nearest, bf16-sr, bf16-kahan, flex16, fp8, "
            "mxfp8, nvfp4 or vs-quant, found "
            "\"bf61\"; did you mean \"bf16\"?",
            "--set precision"},
           {"zero=4",
            "expected 0, 1 (weight-update sharding), 2, 3 (FSDP) or hybrid=<ranks>, found \"4\"",
            "--set zero"},
           {"zero=hybrid=x", "expected a whole number from 0 to 1000000, found \"x\"",
            "--set zero"},
           {"hybrid=-1", "expected a whole number from 0 to 1000000, found \"-1\"", "--set hybrid"},
           {"recompute=some",
            "expected none, selective, op, full, blocks=<n>, keep=<nodes>, optimal, "
            "optimal:<bytes> or runs such as "
            "full*4,none, found \"some\"; did you mean \"none\"?",
            "--set recompute"},
           {"recompute=blocks=0", "expected a whole number from 1 to 1000000, found \"0\"",
            "--set recompute"},
           {"overlap=yes", "expected on or off, found \"yes\"", "--set overlap"},
           {"split=balancd",
            "expected even, balanced or layers of each stage such as 10,10,9, found \"balancd\"",
            "--set split"},
           {"split=4,x", "expected a whole number such as 8, found \"x\"", "--set split"},
           {"split=4,", "expected a whole number such as 8, found \"\"", "--set split"},
           {"split=4,-1", "expected a whole number from 0 to 1000000, found \"-1\"", "--set split"},
           {"rank-order=tp-dp-pp",
            "expected tp, cp, ep, dp and pp once each, fastest first, as in tp-cp-ep-dp-pp, found "
            "\"tp-dp-pp\"",
            "--set rank-order"},
           {"optimizer=adman", "no optimizer is called \"adman\"; did you mean \"adam\"?",
            "--set optimizer"},
           {"framework=megatron-cor",
            "expected a framework, found \"megatron-cor\"; did you mean \"megatron-core\"?",
            "--set framework"},
           {"kernels=fussed",
            "expected eager, compiled or fused kernels, found \"fussed\"; did you mean \"fused\"?",
            "--set kernels"},
           {"attention=flash-3",
            "expected an attention kernel, found \"flash-3\"; did you mean \"flash-2\"?",
            "--set attention"},
           {"loss-scale=8", "expected precision=fp16 before loss-scale, found \"no precision\"",
            "--set loss-scale"},
       }) {
    Plan plan;
    try {
      apply_setting(plan, assignment);
      ADD_FAILURE() << assignment << " was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::InvalidInput) << assignment;
      EXPECT_EQ(e.what(), message) << assignment;
      EXPECT_EQ(e.place().text, place) << assignment;
    }
  }
}

TEST(Settings, RefuseAGradientFormatThatThePrecisionLacks) {
  Plan plan;
  apply_setting(plan, "precision=fp32");
  try {
    apply_setting(plan, "gradient-dtype=bf16");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "expected precision bf16, fp16, fp8, mxfp8, nvfp4 or vs-quant beside gradient-dtype, "
        "found "
        "\"precision=fp32\"");
  }
}

TEST(Settings, LongValuesAreCutInTheSentence) {
  Plan plan;
  for (const char* key : {"tp", "schedule", "recompute", "zero", "overlap", "optimizer", "hybrid"})
    try {
      apply_setting(plan, key, std::string(10'000, '9'));
      ADD_FAILURE() << key;
    } catch (const Error& e) {
      EXPECT_LT(std::string_view(e.what()).size(), 350u) << key;
    }
}

// A plan has one schedule and one precision.
TEST(Settings, ChoosingAnotherTakesItsPlace) {
  Plan plan;
  apply_setting(plan, "schedule=gpipe");
  apply_setting(plan, "schedule=1f1b");
  apply_setting(plan, "precision=fp16");
  apply_setting(plan, "precision=bf16");
  ASSERT_EQ(plan.choices.size(), 2u);
  EXPECT_EQ(setting(plan, "schedule"), "1f1b");
  EXPECT_EQ(setting(plan, "precision"), "bf16");
}

TEST(Settings, GradientsInFourBytesStayWhenThePrecisionChanges) {
  Plan plan;
  apply_setting(plan, "precision=bf16");
  apply_setting(plan, "gradient-dtype=fp32");
  apply_setting(plan, "precision=fp16");
  EXPECT_EQ(setting(plan, "gradient-dtype"), "fp32");
}

TEST(Settings, HybridIsStageThreeOverAGroup) {
  Plan plan;
  apply_setting(plan, "zero=hybrid=8");
  EXPECT_EQ(setting(plan, "zero"), "3");
  EXPECT_EQ(setting(plan, "hybrid"), "8");
  apply_setting(plan, "zero=fsdp");
  EXPECT_EQ(setting(plan, "zero"), "3");
  for (const char* word :
       {"zero=weight-update", "weight-update-sharding=on", "weight-update-sharding=1"}) {
    apply_setting(plan, "zero=0");
    apply_setting(plan, word);
    EXPECT_EQ(setting(plan, "zero"), "1") << word;
  }
  apply_setting(plan, "weight-update-sharding=off");
  EXPECT_EQ(setting(plan, "zero"), "0");
}

TEST(Settings, OverlapOnInPartsIsNeitherOnNorOff) {
  Plan plan;
  apply_setting(plan, "overlap=on");
  choice(plan, "overlap").params.set("weights", false);
  EXPECT_EQ(setting(plan, "overlap"), "");
}

// --- complete() ---

TEST(Complete, WritesEveryDefaultOut) {
  const Plan plan = complete(scenario(gpt(), 16, {"tp=2", "pp=2", "micro-batch=3"}));
  EXPECT_EQ(plan.mesh.dp, 4);
  EXPECT_EQ(plan.batch.sequence, 512);
  EXPECT_EQ(plan.batch.global, 3 * 4 * 2);  // a microbatch a stage in flight
  std::vector<std::string> chosen;
  for (const Choice& c : testing::non_empty(plan.choices)) {
    chosen.push_back(c.method);
    EXPECT_EQ(c.params, with_defaults({}, method(c.method).params)) << c.method;
  }
  EXPECT_EQ(chosen, (std::vector<std::string>{"1f1b", "bf16", "tensor-parallel", "recompute",
                                              "data-parallel", "gradient-accumulation", "zero",
                                              "overlap"}));
}

TEST(Complete, ChunksAreInterleaved) {
  EXPECT_EQ(setting(complete(scenario(gpt(), 8, {"virtual-stages=2"})), "schedule"), "interleaved");
}

TEST(Complete, RefusesDegreesThatDoNotDivide) {
  try {
    complete(scenario(gpt(), 8, {"tp=3"}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::InvalidInput);
    EXPECT_EQ(e.place().text, "plan#/mesh");
  }
}

TEST(Complete, RefusesAParameterThatAMethodLacks) {
  Scenario s = scenario(gpt(), 8, {});
  choice(s.plan, "zero").params.set("stages", std::int64_t{3});
  try {
    complete(s);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "no parameter is called \"stages\"; did you mean \"stage\"?");
  }
}

// A value for some of the free keys, each once.
rc::Gen<std::vector<std::pair<std::string_view, std::string_view>>> some_settings() {
  return rc::gen::exec([] {
    std::vector<std::pair<std::string_view, std::string_view>> picked;
    for (const auto& [key, values] : kFree) {
      const auto at = *rc::gen::inRange<std::size_t>(0, values.size() + 1);
      if (at < values.size()) picked.emplace_back(key, values[at]);
    }
    return picked;
  });
}

TEST(Complete, IsIdempotent) {
  const Scenario base = scenario(gpt(), 64, {});
  EXPECT_TRUE(rc::check([&] {
    Scenario s = base;
    for (const auto& [key, value] : *some_settings()) apply_setting(s.plan, key, value);
    const Plan once = complete(s);
    s.plan = once;
    RC_ASSERT(complete(s) == once);
  }));
}

TEST(Complete, KeepsEverySettingThatWasGiven) {
  const Scenario base = scenario(gpt(), 64, {});
  EXPECT_TRUE(rc::check([&] {
    Scenario s = base;
    const auto given = *some_settings();
    for (const auto& [key, value] : given) apply_setting(s.plan, key, value);
    const Plan whole = complete(s);
    for (const auto& [key, value] : testing::non_empty(given))
      RC_ASSERT(setting(whole, key) == value);
  }));
}

// Every setting read from a complete plan writes it again.
TEST(Complete, SettingsWriteThePlanAgain) {
  const Scenario base = scenario(gpt(), 64, {});
  EXPECT_TRUE(rc::check([&] {
    Scenario s = base;
    for (const auto& [key, value] : *some_settings()) apply_setting(s.plan, key, value);
    const Plan whole = complete(s);
    Scenario copy = base;
    for (const Setting& one : settings())
      if (const std::string value = one.read(whole); !value.empty())
        apply_setting(copy.plan, one.key, value);
    RC_ASSERT(complete(copy) == whole);
  }));
}

TEST(Complete, PlansAreEqualHoweverTheyWerePutTogether) {
  const Scenario base = scenario(gpt(), 64, {});
  EXPECT_TRUE(rc::check([&] {
    const auto given = *some_settings();
    auto shuffled = given;
    for (std::size_t i = shuffled.size(); i > 1; --i)
      std::swap(shuffled[i - 1], shuffled[*rc::gen::inRange<std::size_t>(0, i)]);
    Scenario a = base, b = base;
    for (const auto& [key, value] : given) apply_setting(a.plan, key, value);
    for (const auto& [key, value] : shuffled) apply_setting(b.plan, key, value);
    RC_ASSERT(complete(a) == complete(b));
  }));
}

// The values that "trainyard methods NAME" prints are accepted by --set.
TEST(Settings, EveryParameterOfEveryMethodIsTaken) {
  int taken = 0;
  for (const Method& m : testing::non_empty(methods())) {
    Plan plan;
    if (m.axis == MethodAxis::Schedule || m.axis == MethodAxis::Precision)
      apply_setting(plan, to_string(m.axis), m.name);
    for (const ParamSpec& spec : m.params) {
      const std::string key = std::string(m.name) + "." + std::string(spec.name);
      std::vector<std::string> values = {to_text(spec.fallback)};
      values.insert(values.end(), spec.values.begin(), spec.values.end());
      for (const std::string& value : values) {
        EXPECT_NO_THROW(apply_setting(plan, key, value)) << key << "=" << value;
        EXPECT_EQ(setting(plan, key), value) << key;
        ++taken;
      }
    }
  }
  EXPECT_GT(taken, 20);
}

// The fixes that a check proposes are accepted by --set, for any precision and schedule.
TEST(Settings, WhatACheckProposesIsAKnobAndAValue) {
  int proposed = 0;
  for (const std::string_view precision : testing::non_empty(find_setting("precision")->values))
    for (const std::string_view schedule : find_setting("schedule")->values) {
      const Scenario s = scenario(gpt(), 8,
                                  {"precision=" + std::string(precision), "pp=4",
                                   "schedule=" + std::string(schedule), "zero=3"},
                                  "h100-sxm");
      for (const Method& m : methods()) {
        if (m.check == nullptr || find_choice(s.plan, m.name) == nullptr) continue;
        for (const Diagnostic& d : testing::check_of(m.name, s)) {
          if (d.fix.empty()) continue;
          ++proposed;
          Plan plan = s.plan;
          std::istringstream words(d.fix);
          for (std::string word; words >> word;)
            EXPECT_NO_THROW(apply_setting(plan, word)) << d.message << "; try " << d.fix;
        }
      }
    }
  EXPECT_GT(proposed, 0);
}

}  // namespace
}  // namespace trainyard
