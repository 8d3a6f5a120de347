// Tests which weights of a model a plan trains: adapters, frozen parts, and the way back to the
// model as it was given.
#include "core/model/trained_parts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/io/documents/model_json.h"
#include "core/model/ops.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/cases.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::tiny_transformer;

const Place kAdaptPlace{"here"};

std::string model_words(const Model& model) { return write_model(model); }

const Graph& adapted_layer(const Model& model) {
  for (const Block& block : model.blocks)
    if (block.layer) return block.graph;
  throw Error(Error::Kind::Internal, "the model has no layer");
}

// Counts r (in + out) over the products of layers for which `is` holds of the name.
template <class Is>
std::int64_t adapter_count(const Model& model, std::int64_t rank, Is is) {
  std::int64_t sum = 0;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (block.layer && node.op == &matmul() && is(node.name)) {
        const Shape& weight = block.graph[node.inputs[1]].shape;
        sum += block.count * rank * (weight[0].size + weight[1].size);
      }
  return sum;
}

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(TrainedParts, AnAdapterHasRTimesInAndOut) {
  const Model model = zoo_model("llama-3-8b");
  const auto attention = [](const std::string& n) {
    return is_one_of(n, {"q_proj", "k_proj", "v_proj", "o_proj"});
  };
  const auto mlp = [](const std::string& n) {
    return is_one_of(n, {"gate_proj", "up_proj", "down_proj"});
  };
  const auto count = [&](std::string_view targets) {
    return trained_parameters(with_adapters(model, {16, 32, targets}, kAdaptPlace));
  };
  // Counted by hand: each of 32 layers has 4096 in and 4096, 1024, 1024 and 4096 out.
  EXPECT_EQ(count("attention"), 32 * 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024)));
  EXPECT_EQ(count("mlp"), 32 * 16 * 3 * (4096 + 14336));
  EXPECT_EQ(count("attention"), adapter_count(model, 16, attention));
  EXPECT_EQ(count("mlp"), adapter_count(model, 16, mlp));
  EXPECT_EQ(count("all-linear"), count("attention") + count("mlp"));
  EXPECT_EQ(count("attention,mlp"), count("all-linear"));
  EXPECT_EQ(count("q_proj,v_proj"), 32 * 16 * (4096 + 4096 + 4096 + 1024));
  const Model adapted = with_adapters(model, {16, 32, "all-linear"}, kAdaptPlace);
  EXPECT_EQ(parameters(adapted), parameters(model) + trained_parameters(adapted));
  EXPECT_EQ(trained_parameters(model), parameters(model));
}

TEST(TrainedParts, EveryModelOfTheZooIsTheSameAgain) {
  int adapted = 0;
  for (const ZooEntry& entry : testing::sampled(testing::non_empty(zoo()), 4)) {
    const Model given = zoo_model(entry.name);
    Model model;
    try {
      model = with_adapters(given, {4, 8, "all-linear"}, kAdaptPlace);
    } catch (const Error& error) {  // a network of convolutions
      EXPECT_NE(std::string(error.what()).find("no layer of"), std::string::npos) << entry.name;
      continue;
    }
    ++adapted;
    EXPECT_TRUE(any_frozen(model)) << entry.name;
    EXPECT_EQ(trained_parameters(model),
              adapter_count(given, 4, [](const std::string&) { return true; }))
        << entry.name;
    EXPECT_EQ(model_words(as_given(model)), model_words(given)) << entry.name;
    const Model read = read_model(model_words(model), "model");
    EXPECT_EQ(trained_parameters(read), trained_parameters(model)) << entry.name;
    EXPECT_EQ(model_words(as_given(read)), model_words(given)) << entry.name;
  }
  EXPECT_GT(adapted, testing::sanitized() ? 4 : 20);
}

TEST(TrainedParts, AnAdapterIsCutAsItsProductIs) {
  const Model model =
      with_adapters(tiny_transformer({.family = "llama"}), {2, 4, "all-linear"}, kAdaptPlace);
  const Graph& graph = adapted_layer(model);
  const auto node = [&](std::string_view name) {
    for (const Node& n : graph.nodes)
      if (n.name == name) return n;
    throw Error(Error::Kind::Internal, std::string(name));
  };
  EXPECT_EQ(node("q_proj.lora_A").split, TensorSplit::None);
  EXPECT_EQ(node("q_proj.lora_B").split, TensorSplit::Column);
  EXPECT_EQ(graph[node("q_proj.lora_B").inputs[1]].shape[1],
            graph[node("q_proj").inputs[1]].shape[1]);
  EXPECT_EQ(node("o_proj.lora_A").split, TensorSplit::Row);
  EXPECT_EQ(graph[node("o_proj.lora_A").inputs[1]].shape[0],
            graph[node("o_proj").inputs[1]].shape[0]);
  EXPECT_EQ(node("o_proj.lora_B").split, TensorSplit::None);
  EXPECT_EQ(attribute(node("q_proj.lora_scale"), "numerator"), 4);
  EXPECT_EQ(attribute(node("q_proj.lora_scale"), "denominator"), 2);
  for (const Node& n : graph.nodes)
    for (TensorId id : n.inputs)
      EXPECT_EQ(begins_at_zero(graph, id), graph[id].name.ends_with(".lora_B.weight"))
          << graph[id].name;
}

TEST(TrainedParts, PartsAreFrozenByWordAndByName) {
  const Model model = tiny_transformer();
  const auto frozen_blocks = [&](std::string_view parts) {
    std::string names;
    for (const Block& block : with_frozen(model, parts, kAdaptPlace).blocks)
      names += trains(block) ? "" : block.name + " ";
    return names;
  };
  const std::string first = model.blocks.front().name, last = model.blocks.back().name;
  EXPECT_EQ(frozen_blocks("embedding"), first + " ");
  EXPECT_EQ(frozen_blocks("head"), last + " ");
  EXPECT_EQ(frozen_blocks(last), last + " ");
  EXPECT_EQ(frozen_blocks("embedding,layers"), frozen_blocks("all-but-head"));
  EXPECT_EQ(frozen_blocks("embedding,layers,head").size(), first.size() + last.size() + 9);
  EXPECT_EQ(model_words(as_given(with_frozen(model, "all-but-head", kAdaptPlace))),
            model_words(model));
}

// A frozen tower is below all that is trained, and nothing goes back through it.
TEST(TrainedParts, ATowerIsFrozenWithoutItsProjector) {
  const Model model =
      testing::tiny_vision("qwen2_5_vl", 1, 8, tiny_transformer({.family = "llama"}));
  const auto frozen_and_wanted = [&](std::string_view parts) {
    const Model made = with_frozen(model, parts, kAdaptPlace);
    std::string text;
    for (int b = 0; b < static_cast<int>(made.blocks.size()); ++b)
      text += std::string(trains(made.blocks[static_cast<std::size_t>(b)]) ? "t" : "f") +
              (wants_input_gradient(made, b) ? "1 " : "0 ");
    return text;
  };
  // The blocks are the patches, two kinds of layers and the projector, and then the decoder.
  EXPECT_EQ(frozen_and_wanted("vision"), "f0 f0 f0 t0 t1 t1 t1 ");
  EXPECT_EQ(frozen_and_wanted("vision,projector"), "f0 f0 f0 f0 t0 t1 t1 ");
  EXPECT_EQ(frozen_and_wanted("layers"), "t0 t1 t1 t1 t1 f1 t1 ");
  EXPECT_EQ(frozen_and_wanted("all-but-head"), "f0 f0 f0 f0 f0 f0 t0 ");
  try {
    with_frozen(model, "vison", kAdaptPlace);
    ADD_FAILURE() << "it was frozen";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "expected embedding, layers, head, all-but-head, vision or a block of the model, "
                 "found \"vison\"; did you mean \"vision\"?");
  }
}

TEST(TrainedParts, GradientsAreNeededAboveWhatIsTrained) {
  const auto wanted = [](const Model& model) {
    std::string text;
    for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b)
      text += wants_input_gradient(model, b) ? "1" : "0";
    return text;
  };
  const Model model = tiny_transformer();
  ASSERT_EQ(model.blocks.size(), 3u);
  EXPECT_EQ(wanted(model), "011");
  EXPECT_EQ(wanted(with_frozen(model, "embedding", kAdaptPlace)), "011");
  EXPECT_EQ(wanted(with_frozen(model, "all-but-head", kAdaptPlace)), "000");
  EXPECT_EQ(wanted(with_frozen(model, "layers", kAdaptPlace)), "011");
  EXPECT_EQ(wanted(with_adapters(model, {1, 1, "mlp"}, kAdaptPlace)), "011");
}

TEST(TrainedParts, WhatCannotBeIsRefused) {
  const Model model = tiny_transformer({.tied = true});
  const auto sentence = [](auto f) {
    try {
      f();
    } catch (const Error& error) {
      return error.place().text + ": " + error.what();
    }
    return std::string();
  };
  EXPECT_EQ(sentence([&] { with_adapters(model, {1, 1, "atention"}, kAdaptPlace); }),
            "here: expected attention, mlp, experts, all-linear or a linear layer of the model, "
            "found \"atention\"; did you mean \"attention\"?");
  EXPECT_EQ(
      sentence([&] { with_adapters(testing::tiny_convnet(2), {1, 1, "all-linear"}, kAdaptPlace); }),
      "here: expected a linear layer to adapt, found that no layer of tiny convnet has one "
      "of all-linear");
  EXPECT_EQ(sentence([&] { with_frozen(model, "embeding", kAdaptPlace); }),
            "here: expected embedding, layers, head, all-but-head or a block of the model, found "
            "\"embeding\"; did you mean \"embedding\"?");
  const std::string first = model.blocks.front().name, last = model.blocks.back().name;
  EXPECT_EQ(sentence([&] { with_frozen(model, "embedding", kAdaptPlace); }),
            "here: expected \"" + first + "\" and \"" + last +
                "\" both frozen or both trained, because they share one table, found \"" + first +
                "\" frozen alone");
}

}  // namespace
}  // namespace trainyard
