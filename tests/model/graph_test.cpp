// Tests shapes: how they are divided, and the sentences with which inconsistent ones are refused.
#include "core/model/graph.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/model/graph_builder.h"
#include "core/model/ops.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

template <class Build>
std::string refusal(Build build) {
  try {
    build();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
    return error.what();
  }
  return "accepted";
}

TEST(Graph, ProductsThatDoNotFitAreRefused) {
  GraphBuilder b;
  const TensorId x = b.hidden_input(512);
  const TensorId w = b.parameter("w", {whole(256), whole(512)});
  EXPECT_EQ(refusal([&] { b.node("q_proj", matmul(), {x, w}); }),
            "q_proj (matmul): expected an input whose last dimension is 256 (weight [256, 512]), "
            "found [sequence, batch, "
            "512]");
  EXPECT_EQ(refusal([&] { b.node("q_proj", matmul(), {x}); }),
            "q_proj (matmul): expected 2 to 3 inputs, found 1");
  EXPECT_EQ(
      refusal([&] { b.node("q_proj", matmul(), {x, TensorId{}}); }),
      "q_proj (matmul): expected inputs that are tensors of the block, found one that is not");
}

TEST(Graph, EveryOpRefusesWhatItCannotTake) {
  GraphBuilder b;
  const TensorId x = b.hidden_input(512), y = b.activation("y", {kSequence, kBatch, whole(500)});
  const TensorId vector = b.parameter("v", {whole(7)}),
                 image = b.activation("image", {kBatch, whole(3), whole(8), whole(8)});
  const TensorId kernel = b.parameter("k", {whole(4), whole(2), whole(3), whole(3)});
  const TensorId router_weight = b.parameter("r", {whole(512), whole(4)});
  EXPECT_NE(refusal([&] { b.node("n", add(), {x, y}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", rms_norm(), {x, vector}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", batch_norm(), {image, vector, vector}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", attention(), {x, x, y}, {{"heads", 8}}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", attention(), {x, x, x}, {{"heads", 8}, {"kv_heads", 3}}); }),
            "accepted");
  EXPECT_NE(refusal([&] { b.node("n", attention(), {x, x, x}, {{"heads", 0}}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", embedding(), {x, router_weight}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", convolution(), {image, kernel}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", pooling(), {image}, {{"kernel", 9}}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", router(), {x, router_weight}, {{"top_k", 5}}); }),
            "accepted");
  EXPECT_NE(refusal([&] { b.node("n", softmax_loss(), {x, x}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", gated_silu(), {x, y}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", split_qkv(), {x}, {{"heads", 8}}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", patch_tokens(), {image}, {{"images", 7}}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", patch_tokens(), {image}, {{"window", 3}}); }), "accepted");
  EXPECT_NE(refusal([&] { b.node("n", rotary(), {x}, {{"columns", 7}}); }), "accepted");
  EXPECT_EQ(refusal([&] { b.node("n", merge_patches(), {x}, {{"columns", 2}}); }),
            "n (merge_patches): expected tokens of a vision tower, which no ranks divide, found "
            "[sequence, batch, 512] of a sequence");
  EXPECT_NE(refusal([&] { b.node("n", place_images(), {x, x}); }), "accepted");
  const TensorId patches = b.activation("patches", {whole(12), kBatch, whole(16)});
  EXPECT_EQ(refusal([&] { b.node("n", merge_patches(), {patches}, {{"columns", 5}}); }),
            "n (merge_patches): expected images of whole rows of 5 patches, found 12 tokens");
  EXPECT_EQ(
      refusal([&] { b.node("n", merge_patches(), {patches}, {{"columns", 4}, {"merge", 2}}); }),
      "n (merge_patches): expected images whose sides are whole numbers of 2 patches, found "
      "3 x 4 patches");
  EXPECT_TRUE(b.graph.nodes.empty());
}

TEST(Graph, OpsAreFoundByName) {
  for (const Op* known : testing::non_empty(ops())) EXPECT_EQ(&op(known->name), known);
  EXPECT_EQ(refusal([] { op("matmull"); }),
            "expected the name of an op, found \"matmull\"; did you mean \"matmul\"?");
}

TEST(Graph, ColumnAndRowMoveTokensInAndOutOfTheTensorRegion) {
  GraphBuilder b;
  const TensorId x = b.hidden_input(512);
  const TensorId up = b.linear("up", x, Dim{2048, Axis::Ffn, 0}, false, TensorSplit::Column);
  EXPECT_EQ(b.graph[up].shape[0].axis, Axis::Sequence);
  const TensorId down = b.linear("down", up, whole(512), false, TensorSplit::Row);
  EXPECT_EQ(b.graph[down].shape[0].axis, Axis::SequenceRegion);
  EXPECT_EQ(to_text(b.graph[up].shape), "[sequence, batch, 2048]");
}

TEST(Graph, PartsNeverHoldLessThanTheWhole) {
  EXPECT_TRUE(rc::check("parts", [](std::uint16_t seed) {
    const Random random(seed);
    const auto between = [&](std::uint64_t i, int low, int high) {
      return static_cast<int>(random.between(i, low, high));
    };
    const Binding binding{between(0, 1, 8),  between(1, 1, 5000), between(2, 1, 64),
                          between(3, 1, 64), between(4, 1, 64),   between(5, 0, 1) == 1};
    const auto axis = static_cast<Axis>(between(6, 0, 8));
    const std::int64_t units = between(7, 0, 20);
    const std::int64_t size = units > 0 ? units * between(8, 1, 100) : between(9, 1, 5000);
    const Dim dim{size, axis, units};
    const std::int64_t n = parts(dim, binding), local = local_size(dim, binding);
    RC_ASSERT(n >= 1);
    RC_ASSERT(local >= 1);
    RC_ASSERT(local <= size);
    RC_ASSERT(n * local >= size);
    if (units > 0) RC_ASSERT(local % (size / units) == 0);
  }));
}

TEST(Graph, CountsSaturate) {
  const std::int64_t huge = std::int64_t{1} << 31;
  EXPECT_EQ(local_elements({whole(huge), whole(huge), whole(huge)}, Binding{}),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Builders, GatesThatDoNotFitTheirWeightAreRefused) {
  Graph graph;
  const TensorId gates = graph.add(
                     {"gates", {whole(3), whole(2), whole(12)}, TensorKind::Activation, ""}),
                 weight = graph.add({"weight", {whole(4), whole(16)}, TensorKind::Parameter, ""});
  EXPECT_EQ(refusal([&] { graph.add("cell", lstm(), {gates, weight}); }),
            "cell (lstm): expected gates [sequence, batch, 4 hidden] and a weight [hidden, 4 "
            "hidden], found [3, 2, 12] and [4, 16]");
  EXPECT_EQ(refusal([] { build_lstm({"tiny", 0, 8, 1, 16}); }),
            "tiny: expected sizes of at least 1");
}

TEST(Builders, SizesThatDoNotGoTogetherAreRefused) {
  TransformerSpec spec = family_spec("llama");
  spec.name = "m";
  spec.layers = 2;
  spec.hidden = 100;
  spec.heads = 7;
  spec.ffn = 400;
  spec.vocab = 1000;
  spec.sequence = 128;
  EXPECT_EQ(refusal([&] { build_decoder(spec); }),
            "m: expected attention heads that divide the hidden size 100, found 7");
  spec.heads = 10;
  spec.kv_heads = 3;
  EXPECT_EQ(refusal([&] { build_decoder(spec); }),
            "m: expected key/value heads that divide the 10 attention heads, found 3");
  EXPECT_EQ(refusal([] { family_spec("lama"); }),
            "expected a family of transformers, found \"lama\"; did you mean \"llama\"?");
}

TEST(Zoo, NamesAreAcceptedAsPeopleSpellThem) {
  for (const char* name : {"llama-3-70b", "llama3-70b", "Llama 3 70B", "LLAMA3_70B"})
    EXPECT_EQ(zoo_model(name).name, "llama-3-70b");
  EXPECT_EQ(zoo_model("resnet50").name, "resnet-50");
  EXPECT_EQ(zoo_model("mistral-7b-v0.1").name, "mistral-7b");
  EXPECT_EQ(refusal([] { zoo_model("llama-3-71b"); }),
            "expected the name of a model in the zoo, found \"llama-3-71b\"; did you mean "
            "\"llama-3-70b\"?");
}

TEST(Zoo, BlocksStandInOrderAndKeepTheirPromises) {
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Model model = zoo_model(entry.name);
    ASSERT_GE(model.blocks.size(), 2u) << entry.name;
    EXPECT_GE(layer_count(model), 1) << entry.name;
    std::map<std::string, int> seen;
    for (std::size_t i = 0; i < model.blocks.size(); ++i) {
      const Block& block = model.blocks[i];
      EXPECT_EQ(++seen[block.name], 1) << entry.name << " " << block.name;
      // Blocks between a vision tower and a decoder join the stage of the layer before them.
      const bool between = block.name == "projector" || block.name == "embedding";
      EXPECT_TRUE(block.layer || i == 0 || i + 1 == model.blocks.size() ||
                  (between && entry.family == "vlm"))
          << entry.name << " " << block.name;
      EXPECT_TRUE(block.graph.input.valid() && block.graph.output.valid())
          << entry.name << " " << block.name;
      std::map<std::string, int> tensors;
      for (const Tensor& tensor : testing::non_empty(block.graph.tensors))
        EXPECT_EQ(++tensors[tensor.name], 1)
            << entry.name << " " << block.name << " " << tensor.name;
      // The output of a repeated block must fit its input.
      if (block.count > 1) {
        EXPECT_EQ(block.graph[block.graph.input].shape, block.graph[block.graph.output].shape)
            << entry.name << " " << block.name;
      }
      if (i > 0) {
        const Graph& before = model.blocks[i - 1].graph;
        EXPECT_EQ(before[before.output].shape, block.graph[block.graph.input].shape)
            << entry.name << " " << block.name;
      }
    }
  }
}

// Whole experts leave their width to nobody and spread their tokens over the tensor ranks as well.
TEST(Parts, OfExpertsDependOnWhetherEachRankHasWholeOnes) {
  Binding binding;
  binding.cp = 2, binding.tp = 4, binding.ep = 8;
  Dim width, tokens;
  width.size = tokens.size = 1024;
  width.axis = Axis::ExpertFfn, tokens.axis = Axis::ExpertSequence;
  EXPECT_EQ(parts(width, binding), 4);
  EXPECT_EQ(parts(tokens, binding), 2);
  binding.whole_experts = true;
  EXPECT_EQ(parts(width, binding), 1);
  EXPECT_EQ(parts(tokens, binding), 2 * 4);
}

}  // namespace
}  // namespace trainyard
