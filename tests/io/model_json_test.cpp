#include "core/io/documents/model_json.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"
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
