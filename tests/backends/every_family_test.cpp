// Every family of transformers that has a name here trains over ranks of every kind as one device
// does, with experts and without: what one family has and no other, such as a norm whose weight
// serves all heads, is where an exchange is forgotten.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

Model tiny_of_family(const std::string& family, bool experts) {
  TransformerSpec spec = family_spec(family);
  spec.name = "tiny " + family + (experts ? " with experts" : "");
  spec.layers = spec.decoder_layers = 4;
  spec.hidden = 8, spec.heads = 4, spec.ffn = 8, spec.vocab = 8, spec.sequence = 8;
  spec.kv_heads = spec.fused_qkv ? 4 : 2;
  spec.dropout = spec.attention_dropout = false;  // ranks draw masks of their own
  spec.state_space = {.heads = 4, .width = 4, .state = 3, .groups = 2, .taps = 2, .chunk = 4};
  if (experts)
    spec.experts = {.count = 4, .top_k = 2, .ffn = 8, .shared_gate = spec.experts.shared_gate},
    spec.experts.shared = spec.experts.shared_gate ? 1 : 0;
  if (family == "vit")
    return build_vision_transformer(spec, {.image = 8, .patch = 2, .channels = 1, .classes = 3});
  if (family == "t5" || family == "transformer") {
    spec.kv_heads = 4;
    return build_encoder_decoder(spec);
  }
  return family == "bert" ? build_encoder(spec) : build_decoder(spec);
}

struct RankPlan {
  std::int64_t devices;
  Settings settings;
};

const RankPlan kRankPlans[] = {
    {2, {"tp=2", "sequence-parallel=off"}},
    {2, {"tp=2", "sequence-parallel=on"}},
    {4, {"tp=4", "sequence-parallel=on"}},
    {2, {"tp=2", "tensor-parallel.ulysses-layers=all"}},
    {2, {"cp=2"}},
    {2, {"cp=2", "context-parallel.kind=ulysses"}},
    {4, {"cp=2", "tp=2"}},
    {2, {"pp=2", "schedule=zb-h1"}},
    {2, {"dp=2", "zero=3"}},
    {2, {"ep=2", "dp=2"}},
    {4, {"tp=2", "ep=2", "dp=2"}},
};

// Two images of a sample become two to eight tokens of its eight: a class token is not merged.
Model tiny_of_tower(const std::string& family) {
  Model decoder = tiny_of_family(family == "siglip" ? "gemma" : "llama", false);
  decoder.sequence = family == "clip" ? 16 : 8;
  return testing::tiny_vision(family, family == "qwen2_5_vl" ? 1 : 2,
                              family == "qwen2_5_vl" ? 8 : 4, std::move(decoder), 4);
}

CpuRun train_family(const Model& model, const RankPlan& plan) {
  Settings all = {"global-batch=4", "micro-batch=1", "optimizer=momentum"};
  all.insert(all.end(), plan.settings.begin(), plan.settings.end());
  // One step compares every gradient; a second would magnify the rounding of the first, up to a
  // thousand times where norms of tiny rows have unit offsets (Gemma 3).
  Training t;
  t.rate = 0.02, t.momentum = 0.5, t.steps = 1;
  return testing::train_on_cpu(model, plan.devices, all, t);
}

// Returns how many of the plans were run, and adds why the others were not.
int train_over_ranks(const Model& model, std::string& refused) {
  const CpuRun alone = train_family(model, {1, {}});
  int ran = 0;
  for (const RankPlan& plan : testing::non_empty(kRankPlans)) {
    std::string words = model.name + ":";
    for (std::string_view one : plan.settings) words += " " + std::string(one);
    SCOPED_TRACE(words);
    try {
      testing::expect_same_training(train_family(model, plan), alone, 3e-5);
      ++ran;
    } catch (const Error& error) {
      refused += words + ": " + error.what() + "\n";
    }
  }
  return ran;
}

TEST(EveryFamily, TrainsOverRanksAsOnOneDevice) {
  const std::vector<std::string>& families = transformer_families();
  const std::size_t step = families.size() / testing::cases(families.size(), 6);
  for (std::size_t i = 0; i < families.size(); i += step)
    for (const bool experts : {false, true}) {
      const std::string& family = families[i];
      const bool decodes =
          family != "vit" && family != "bert" && family != "t5" && family != "transformer";
      if (experts && !decodes) continue;
      const Model model = tiny_of_family(family, experts);
      std::string refused;
      EXPECT_GE(train_over_ranks(model, refused), 3) << refused;  // of a vision transformer, whose
                                                                  // tokens are an odd number
    }
}

// All plans run but the two that divide experts.
TEST(EveryFamily, VisionTowersTrainOverRanksAsOnOneDevice) {
  for (const std::string& family : testing::non_empty(vision_families())) {
    std::string refused;
    EXPECT_EQ(train_over_ranks(tiny_of_tower(family), refused), 8) << refused;
  }
}

// InternViT-6B has norms over all heads of queries and keys, of which each tensor rank has some.
TEST(EveryFamily, ATowerWithNormsOverAllHeadsTrainsOverRanksAsOnOneDevice) {
  VisionSpec v = vision_family("internvl");
  v.layers.layers = 2, v.layers.hidden = 8, v.layers.heads = 4, v.layers.ffn = 8;
  v.layers.norm = NormKind::Rms, v.layers.wide_head_norm = true, v.layers.qkv_bias = false;
  v.images = 2, v.image = 4, v.patch = 2, v.channels = 1;
  Model decoder = tiny_of_family("qwen2", false);
  decoder.sequence = 8;
  std::string refused;
  EXPECT_EQ(train_over_ranks(with_vision(std::move(decoder), v), refused), 8) << refused;
}

}  // namespace
}  // namespace trainyard
