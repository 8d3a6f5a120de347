// Sizes read back from graphs: what builds them again.
#include "core/exporters/decoder_spec.h"

#include <gtest/gtest.h>

#include <set>

#include "core/model/edit.h"
#include "core/model/fields.h"
#include "core/model/zoo.h"

namespace trainyard {
namespace {

const std::set<std::string_view> kNoDecoders = {"bert",   "vit",         "t5",   "transformer",
                                                "resnet", "wide_resnet", "vgg",  "mlp",
                                                "cnn",    "lstm",        "dlrm", "convnet"};

TEST(DecoderSpec, EveryDecoderOfTheZooIsBuiltAgain) {
  int decoders = 0;
  for (const ZooEntry& entry : zoo()) {
    const Model model = zoo_model(entry.name);
    const std::optional<TransformerSpec> spec = decoder_spec(model);
    if (!spec) {
      EXPECT_EQ(kNoDecoders.count(entry.family), 1u) << entry.name << " of " << entry.family;
      continue;
    }
    ++decoders;
    EXPECT_EQ(parameters(build_decoder(*spec)), parameters(model)) << entry.name;
    EXPECT_EQ(active_parameters(build_decoder(*spec)), active_parameters(model)) << entry.name;
  }
  EXPECT_GE(decoders, 25);
}

TEST(DecoderSpec, ReadsTheNumbersOfAConfig) {
  const TransformerSpec spec = *decoder_spec(zoo_model("llama-3-70b"));
  EXPECT_EQ(spec.layers, 80);
  EXPECT_EQ(spec.hidden, 8192);
  EXPECT_EQ(spec.heads, 64);
  EXPECT_EQ(spec.kv_heads, 8);
  EXPECT_EQ(spec.head_dim, 128);
  EXPECT_EQ(spec.ffn, 28672);
  EXPECT_EQ(spec.vocab, 128256);
  EXPECT_EQ(spec.positions, Positions::Rotary);
  EXPECT_EQ(spec.norm, NormKind::Rms);
  EXPECT_EQ(spec.activation, Activation::GatedSilu);
  EXPECT_FALSE(spec.tied);
}

TEST(DecoderSpec, ReadsExpertsAndLatentAttention) {
  const TransformerSpec spec = *decoder_spec(zoo_model("deepseek-v3"));
  EXPECT_EQ(spec.experts.count, 256);
  EXPECT_EQ(spec.experts.top_k, 8);
  EXPECT_EQ(spec.experts.ffn, 2048);
  EXPECT_EQ(spec.experts.shared, 1);
  EXPECT_EQ(spec.experts.dense_layers, 3);
  EXPECT_TRUE(spec.experts.router_bias);
  EXPECT_EQ(spec.latent.q_rank, 1536);
  EXPECT_EQ(spec.latent.kv_rank, 512);
  EXPECT_EQ(spec.latent.nope, 128);
  EXPECT_EQ(spec.latent.rope, 64);
  EXPECT_EQ(spec.latent.value, 128);
}

TEST(DecoderSpec, HalvesOfABlockAreOneWhileTheyAreEqual) {
  const Model whole = zoo_model("gpt2"), halves = split_block(whole, 1, 5);
  ASSERT_EQ(halves.blocks.size(), whole.blocks.size() + 1);
  EXPECT_EQ(decoder_spec(halves)->layers, decoder_spec(whole)->layers);
  const Model edited = with_model_field(halves, {1, -1}, "ffn", "1536");
  EXPECT_FALSE(decoder_spec(edited));
}

}  // namespace
}  // namespace trainyard
