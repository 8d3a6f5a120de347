#include "core/model/edit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"
#include "core/io/documents/model_json.h"
#include "core/model/fields.h"
#include "core/model/refit.h"
#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

int block_named(const Model& model, const std::string& name) {
  for (std::size_t b = 0; b < model.blocks.size(); ++b)
    if (model.blocks[b].name == name) return static_cast<int>(b);
  ADD_FAILURE() << "no block " << name;
  return 0;
}

ModelPart node_named(const Model& model, const std::string& block, const std::string& node) {
  const int at = block_named(model, block);
  const Graph& graph = model.blocks[static_cast<std::size_t>(at)].graph;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (graph.nodes[n].name == node) return {at, static_cast<int>(n)};
  ADD_FAILURE() << "no node " << node;
  return {at, 0};
}

// Parts that were not changed stay as they are, axis by axis, for every model with a name here.
TEST(Refit, LeavesEveryPublishedModelAsItIs) {
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Model model = entry.build(entry);
    EXPECT_TRUE(write_model(refitted(model)) == write_model(model)) << entry.name;
  }
  for (const Preset& preset : testing::non_empty(presets())) {
    const Model model = preset_model(preset.name);
    EXPECT_TRUE(write_model(refitted(model)) == write_model(model)) << preset.name;
  }
}

// Llama 3 8B with the sizes of Llama 3 70B is as large as that.
TEST(ModelFields, AModelBecomesAnotherFieldByField) {
  Model model = zoo_model("llama-3-8b");
  const int layers = block_named(model, "layers");
  model = with_model_field(model, {}, "hidden", "8192");
  model = with_model_field(model, {layers, -1}, "heads", "64");
  model = with_model_field(model, {layers, -1}, "ffn", "28672");
  model = with_model_field(model, {layers, -1}, "count", "80");
  EXPECT_EQ(parameters(model), 70553706496);
  EXPECT_EQ(parameters(read_model(write_model(model), "again")), 70553706496);
}

TEST(ModelFields, EachNumberReadsBackAndReturns) {
  for (const char* name :
       {"llama-3-8b", "mixtral-8x7b", "gpt2", "resnet-50", "t5-small", "bert-base", "vit-b16",
        "dlrm-tiny", "lstm-tiny", "deepseek-v3", "vlm-tiny"}) {
    const Model model = zoo_model(name);
    const std::string before = write_model(model);
    for (int b = -1; b < static_cast<int>(model.blocks.size()); ++b)
      for (const ModelField& field : testing::non_empty(model_fields(model, {b, -1}))) {
        if (field.kind != FieldKind::Number) continue;
        const std::int64_t wanted = 2 * std::stoll(field.value);
        Model changed;
        try {
          changed = with_model_field(model, {b, -1}, field.key, std::to_string(wanted));
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
          continue;
        }
        for (const ModelField& now : testing::non_empty(model_fields(changed, {b, -1})))
          if (now.key == field.key) {
            EXPECT_EQ(now.value, std::to_string(wanted)) << name << " " << field.key;
          }
        EXPECT_TRUE(write_model(with_model_field(changed, {b, -1}, field.key, field.value)) ==
                    before)
            << name << " block " << b << " " << field.key;
        EXPECT_TRUE(write_model(read_model(write_model(changed), "changed")) ==
                    write_model(changed))
            << name << " " << field.key;
      }
  }
}

TEST(ModelFields, WrongValuesAreSentences) {
  const Model model = zoo_model("llama-3-8b");
  const int layers = block_named(model, "layers");
  EXPECT_NE(testing::refusal([&] {
              with_model_field(zoo_model("resnet-50"), {1, -1}, "count", "2");
            }).find("makes what it reads"),
            std::string::npos);
  const auto say = [&](ModelPart part, const char* key, const char* value) {
    return testing::refusal([&] { with_model_field(model, part, key, value); });
  };
  EXPECT_EQ(say({layers, -1}, "count", "0"),
            "layers: expected a whole number from 1 to 100000, found 0");
  EXPECT_EQ(say({layers, -1}, "count", "many"),
            "layers: expected a whole number from 1 to 100000, found \"many\"");
  EXPECT_EQ(say({layers, -1}, "hesds", "8"),
            "layers: expected a field that can be set, found \"hesds\"; did you mean \"heads\"?");
  EXPECT_NE(say({layers, -1}, "kv_heads", "7").find("kv_heads"), std::string::npos);
  EXPECT_NE(say({layers, -1}, "name", "head").find("no other block has"), std::string::npos);
  // The output that a residual adds keeps the stream's width.
  EXPECT_EQ(say(node_named(model, "layers", "o_proj"), "outputs", "100"),
            "layers/attention_add: expected o_proj to be 4096 wide, as what it meets, found 100");
}

TEST(ModelEdit, ABlockIsCopiedMovedSplitAndRemoved) {
  const Model model = zoo_model("llama-3-8b");
  const int layers = block_named(model, "layers");
  ModelPart made;
  const Model twice = duplicated(model, {layers, -1}, &made);
  EXPECT_EQ(made, (ModelPart{layers + 1, -1}));
  EXPECT_EQ(layer_count(twice), 64);
  EXPECT_TRUE(write_model(without(twice, made)) == write_model(model));
  const Model parts = split_block(model, layers, 1);
  EXPECT_EQ(parameters(parts), parameters(model));
  EXPECT_EQ(layer_count(parts), 32);
  EXPECT_EQ(testing::refusal([&] { split_block(model, layers, 32); }),
            "layers: expected a first part of 1 to 31 of its 32 layers, found 32");
  EXPECT_NE(testing::refusal([&] { without(model, {layers, -1}); }).find("at least one block"),
            std::string::npos);
}

TEST(ModelEdit, AHeadKeepsATableOfItsOwnWhenTheSharedOneGoes) {
  const Model model = zoo_model("gpt2");
  const std::string name = model.blocks[0].name;
  const Model renamed = renamed_block(model, 0, "words");
  EXPECT_EQ(parameters(renamed), parameters(model));
  EXPECT_TRUE(write_model(renamed_block(renamed, 0, name)) == write_model(model));
}

TEST(ModelEdit, ANodeIsRemovedAndPutBack) {
  const Model model = zoo_model("llama-3-8b");
  const ModelPart norm = node_named(model, "layers", "post_attention_layernorm");
  const Model bare = without(model, norm);
  EXPECT_EQ(parameters(model) - parameters(bare), 32 * 4096);
  ModelPart made;
  const Model again = with_building_block(bare, "rms-norm", {norm.block, norm.node - 1}, &made);
  EXPECT_EQ(parameters(again), parameters(model));
  EXPECT_EQ(made.node, norm.node);
  EXPECT_NE(testing::refusal([&] {
              without(model, node_named(model, "layers", "attention"));
            }).find("remove its block instead"),
            std::string::npos);
}

TEST(ModelEdit, BuildingBlocksAreAsWideAsWhatFlows) {
  const Model model = zoo_model("llama-3-8b");
  const int layers = block_named(model, "layers");
  for (const char* kind : {"decoder", "encoder", "attention", "mlp", "moe", "lstm"}) {
    ModelPart made;
    const Model more = with_building_block(model, kind, {layers, -1}, &made);
    EXPECT_GT(parameters(more), parameters(model)) << kind;
    EXPECT_TRUE(write_model(without(more, made)) == write_model(model)) << kind;
    EXPECT_TRUE(write_model(read_model(write_model(more), kind)) == write_model(more));
  }
  EXPECT_NE(testing::refusal([&] {
              with_building_block(model, "convolution", {layers, -1});
            }).find("expected images"),
            std::string::npos);
  EXPECT_NE(testing::refusal([&] {
              with_building_block(model, "decodr", {layers, -1});
            }).find("did you mean \"decoder\""),
            std::string::npos);
}

// A second embedding, narrower than the first, makes the head narrower than the table it shared.
TEST(ModelEdit, ATableOfAnotherWidthIsSharedNoLonger) {
  const Model before = zoo_model("gpt2"), after = with_building_block(before, "embedding", {0, -1});
  EXPECT_NE(write_model(before).find("tied_to"), std::string::npos);
  EXPECT_EQ(write_model(after).find("tied_to"), std::string::npos);
  EXPECT_EQ(write_model(read_model(write_model(after), "edited")), write_model(after));
}

// Copies of tokens have as many dimensions as an image, and are none.
TEST(ModelEdit, AProductOfCopiesOfTokensIsNoConvolution) {
  const Model after = with_building_block(zoo_model("mixtral-8x7b"), "linear", {1, 11});
  EXPECT_EQ(write_model(read_model(write_model(after), "edited")), write_model(after));
  EXPECT_EQ(after.blocks[1].graph.nodes[12].op->name, "matmul");
}

// After any sequence of edits, each step gives a model that can be written and read, or a sentence.
TEST(ModelEdit, EveryEditGivesAModelOrASentence) {
  const char* names[] = {"llama-3-8b", "gpt2",      "resnet-18", "mixtral-8x7b",
                         "t5-small",   "lstm-tiny", "dlrm-tiny"};
  EXPECT_TRUE(rc::check([&] {
    Model model = zoo_model(names[*rc::gen::inRange(0, 7)]);
    const int steps = *rc::gen::inRange(1, 6);
    for (int i = 0; i < steps; ++i) {
      const int block = *rc::gen::inRange(-1, static_cast<int>(model.blocks.size()));
      const auto nodes =
          block < 0
              ? 0
              : static_cast<int>(model.blocks[static_cast<std::size_t>(block)].graph.nodes.size());
      const ModelPart part{block, *rc::gen::inRange(-1, std::max(nodes, 0))};
      const auto kinds = building_blocks();
      try {
        switch (*rc::gen::inRange(0, 5)) {
          case 0:
            model = with_building_block(
                model, kinds[*rc::gen::inRange<std::size_t>(0, kinds.size())].name, part);
            break;
          case 1:
            model = without(model, part);
            break;
          case 2:
            model = duplicated(model, part);
            break;
          case 3:
            model = moved(model, part, *rc::gen::inRange(-2, 3));
            break;
          default: {
            const std::vector<ModelField> fields = model_fields(model, part);
            if (fields.empty()) break;
            const ModelField& field = fields[*rc::gen::inRange<std::size_t>(0, fields.size())];
            model = with_model_field(model, part, field.key,
                                     std::to_string(*rc::gen::inRange(0, 5000)));
          }
        }
      } catch (const Error& error) {
        RC_ASSERT(error.kind() == Error::Kind::InvalidInput);
        continue;
      }
      RC_ASSERT(write_model(read_model(write_model(model), "edited")) == write_model(model));
      RC_ASSERT(write_model(refitted(model)) == write_model(model));
    }
  }));
}

TEST(PartCost, PartsAddUpToTheModel) {
  for (const char* name : {"llama-3-8b", "gpt2", "resnet-50", "mixtral-8x7b"}) {
    const Model model = zoo_model(name);
    const Binding binding{1, model.sequence};
    const PartCost all = part_cost(model, {}, binding, Precision{});
    EXPECT_EQ(all.parameters, parameters(model)) << name;
    PartCost sum;
    for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
      const PartCost block = part_cost(model, {b, -1}, binding, Precision{});
      sum.parameters += block.parameters;
      sum.saved += block.saved;
    }
    EXPECT_EQ(sum.parameters, all.parameters);
    EXPECT_EQ(sum.saved, all.saved);
  }
}

}  // namespace
}  // namespace trainyard
