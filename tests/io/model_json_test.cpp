#include "core/io/documents/model_json.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/model/edit.h"
#include "core/model/fields.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

TEST(ModelJson, EveryZooModelReadsBackTheSame) {
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Model model = zoo_model(entry.name);
    const std::string text = write_model(model);
    const Model back = read_model(text, "m.json");
    EXPECT_EQ(write_model(back), text) << entry.name;
    EXPECT_EQ(parameters(back), entry.parameters) << entry.name;
    EXPECT_EQ(active_parameters(back), entry.active_parameters) << entry.name;
  }
}

// The width of an expert is written like any width, and read as an expert's width again.
TEST(ModelJson, ExpertsAreReadAsExperts) {
  const std::string text = write_model(zoo_model("mixtral-8x7b"));
  EXPECT_EQ(text.find("expert-"), std::string::npos);
  Binding whole{1, 4096, 4, 1, 8, true};
  whole.whole_experts = true;
  const auto local = [&](const Model& model) {
    std::vector<std::int64_t> elements;
    for (const Block& block : model.blocks)
      for (const Tensor& tensor : block.graph.tensors)
        elements.push_back(local_elements(tensor.shape, whole));
    return elements;
  };
  EXPECT_EQ(local(read_model(text, "m.json")), local(zoo_model("mixtral-8x7b")));
}

const Model& small() {
  static const Model model = build_mlp({"m", 8, 4, 2, 3});
  return model;
}

// The small model with one piece of its text replaced.
std::string model_refusal(const std::string& from, const std::string& to) {
  std::string text = write_model(small());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return testing::refusal([&] { read_model(text, "m.json"); });
}

TEST(ModelJson, WhatIsNotAModelIsRefused) {
  EXPECT_EQ(model_refusal("\"op\": \"matmul\"", "\"op\": \"matmull\""),
            "m.json#/blocks/0/nodes/0/op: expected the name of an op, found \"matmull\"; did you "
            "mean \"matmul\"?");
  EXPECT_EQ(model_refusal("\"inputs\": [\"input\", \"fc.weight\", \"fc.bias\"]",
                          "\"inputs\": [\"inptu\", \"fc.weight\"]"),
            "m.json#/blocks/0/nodes/0/inputs/0: expected the name of a tensor of the block, found "
            "\"inptu\"; did you mean "
            "\"input\"?");
  EXPECT_EQ(model_refusal("\"inputs\": [\"input\"", "\"inputs\": [\"fc.relu\""),
            "m.json#/blocks/0/nodes/0/inputs/0: expected a tensor that an earlier node makes");
  EXPECT_EQ(model_refusal("\"count\": 2", "\"count\": 0"),
            "m.json#/blocks/1/count: expected a whole number from 1 to 100000, found 0");
  EXPECT_EQ(model_refusal("\"layer\": true", "\"layer\": false"),
            "m.json#/blocks: expected at least one block that is a layer, found none");
  EXPECT_EQ(model_refusal("\"blocks\":", "\"bloks\":"),
            "m.json#/bloks: unknown key \"bloks\"; did you mean \"blocks\"?");
  EXPECT_EQ(
      model_refusal("\"shape\": [4]", "\"shape\": [-4]"),
      "m.json#/blocks/0/tensors/2/shape/0: expected a whole number from 1 to 2147483648, found -4");
  EXPECT_EQ(model_refusal("\"shape\": [4]", "\"shape\": [5]"),
            "m.json#/blocks/0/nodes/0: fc (matmul): expected input 2 of shape [4], found [5]");
  EXPECT_EQ(model_refusal("trainyard/model@1", "trainyard/plan@1"),
            "m.json#/schema: expected a model (\"schema\": \"trainyard/model@1\"), found "
            "\"trainyard/plan@1\"");
  EXPECT_NE(
      model_refusal("\"name\": \"head\"", "\"name\": \"layers\"").find("found \"layers\" twice"),
      std::string::npos);
}

// Gradients that a model gives itself are part of it, and wrong ones are refused at their place.
TEST(ModelJson, OwnGradientsAreReadAndRefusedAtTheirPlace) {
  ModelPart part;
  Model model = with_building_block(small(), "own-gradient", {1, 0}, &part);
  model = with_model_field(model, part, "value", "round(x)");
  model = with_model_field(model, part, "gradient 0", "dy * (abs(x) <= 1)");
  const std::string claimed = write_model(model);
  EXPECT_EQ(claimed.find("intended"), std::string::npos);
  const std::string text = write_model(with_model_field(model, part, "intended", "yes"));
  EXPECT_NE(text.find("\"intended\": true"), std::string::npos);
  EXPECT_NE(text.find("dy * (abs(x) <= 1)"), std::string::npos);
  EXPECT_EQ(write_model(read_model(text, "m.json")), text);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return testing::refusal([&] { read_model(changed, "m.json"); });
  };
  const std::string place = "m.json#/blocks/1/nodes/1";
  EXPECT_EQ(refused("dy * (abs(x)", "dy * (abs(z)"),
            place +
                "/formula/gradients/0: expected one of x0, y, dy at character 11 of \"dy * "
                "(abs(z) <= 1)\", found \"z) <= 1)\"; did you mean \"y\"?");
  EXPECT_EQ(refused("round(x)", "rund(x)"),
            place +
                "/formula/value: expected the name of a function at character 1 of "
                "\"rund(x)\", found \"rund(x)\"; did you mean \"round\"?");
  EXPECT_EQ(refused("\"intended\": true", "\"intended\": 1").substr(0, place.size() + 17),
            place + "/formula/intended");
  EXPECT_EQ(refused("\"op\": \"formula\"", "\"op\": \"relu\"").substr(0, 90),
            (place + "/formula: expected formulas of the op formula only, found those of relu")
                .substr(0, 90));
  EXPECT_EQ(refused("\"gradients\"", "\"gradient\""),
            place + "/formula/gradient: unknown key \"gradient\"; did you mean \"gradients\"?");
}

TEST(ModelJson, TiesMustLeadToAParameter) {
  std::string text = write_model(zoo_model("gpt-tiny"));
  const std::string tie = "\"embedding/wte.weight\"";
  const std::size_t at = text.find(tie);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, tie.size(), "\"embedding/wpe.weight\"");
  EXPECT_THROW(read_model(text, "m.json"), Error);
}

}  // namespace
}  // namespace trainyard
