#include "core/model/zoo/presets.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/refit.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string preset_refusal(const char* words) {
  return testing::refusal([&] { preset_model(words); });
}

std::vector<std::int64_t> usual(const Preset& preset) {
  std::vector<std::int64_t> values;
  for (const PresetSize& size : preset.sizes) values.push_back(size.usual);
  return values;
}

TEST(Presets, EachBuildsAModelWithLayersAndParameters) {
  for (const Preset& preset : testing::non_empty(presets())) {
    const Model model = preset_model(preset.name);
    EXPECT_EQ(model.name, preset.name);
    EXPECT_GT(parameters(model), 0) << preset.name;
    EXPECT_GE(layer_count(model), 1) << preset.name;
    EXPECT_NE(model.source, "") << preset.name;
  }
}

TEST(Presets, WordsAndValuesAreOne) {
  for (const Preset& preset : testing::non_empty(presets())) {
    EXPECT_EQ(preset_words(preset, usual(preset)), preset.name);
    for (const PresetSize& size : testing::non_empty(preset.sizes))
      EXPECT_TRUE(size.low <= size.usual && size.usual <= size.high) << size.name;
  }
  EXPECT_EQ(preset_model("cnn:image=32,classes=100").name, "cnn:classes=100");
}

// Counted by hand: a linear layer of 10 classes behind 256 channels.
TEST(Presets, ASizeIsWhereItSays) {
  const std::int64_t ten = parameters(preset_model("cnn")),
                     hundred = parameters(preset_model("cnn:classes=100"));
  EXPECT_EQ(hundred - ten, 90 * (256 + 1));
  EXPECT_EQ(layer_count(preset_model("transformer:layers=7")), 7);
  // Llama's own sizes are Llama's own count.
  EXPECT_EQ(parameters(preset_model("transformer:layers=32,hidden=4096,heads=32,kv-heads=32,"
                                    "ffn=11008,vocab=32000")),
            6738415616);
  // A mixture of one more expert a layer: three matrices and a column of the router.
  EXPECT_EQ(
      parameters(preset_model("moe:experts=9,layers=2")) - parameters(preset_model("moe:layers=2")),
      2 * (3 * 2048 * 7168 + 2048));
}

TEST(Presets, WrongWordsAreSentences) {
  EXPECT_EQ(
      preset_refusal("cn:classes=10"),
      "model \"cn:classes=10\": expected one of the presets cnn, rnn, seq2seq, recommender, "
      "transformer, moe, vision-language before the colon, found \"cn\"; did you mean \"cnn\"?");
  EXPECT_EQ(preset_refusal("cnn:clases=10"),
            "model \"cnn:clases=10\": no size of cnn is called \"clases\"; did you mean "
            "\"classes\"?");
  EXPECT_EQ(preset_refusal("cnn:classes=1"),
            "model \"cnn:classes=1\": classes: expected a whole number from 2 to 1048576, found 1");
  EXPECT_NE(preset_refusal("cnn:classes").find("written NAME=NUMBER"), std::string::npos);
  EXPECT_NE(preset_refusal("cnn:classes=2,classes=3").find("given twice"), std::string::npos);
  EXPECT_NE(preset_refusal("cnn:image=30,stages=4").find("a multiple of 8"), std::string::npos);
  EXPECT_NE(preset_refusal("transformer:heads=7").find("divide"), std::string::npos);
  EXPECT_NE(preset_refusal("rnn:hidden=big").find("hidden:"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
