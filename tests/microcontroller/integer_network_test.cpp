// Tests networks in whole numbers: their arena, their distance from the real maths, what they
// refuse.
#include "core/microcontroller/integer_network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/microcontroller/interpreter.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/micro_networks.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

testing::MicroNetwork& every_op() {
  static testing::MicroNetwork network = [] {
    return testing::MicroNetwork{testing::model_of_every_op(), {}, {}, {}, {}};
  }();
  if (network.samples.empty()) testing::make_micro_network(network, 11, 24);
  return network;
}

Model residual(std::int64_t blocks) {
  return build_convnet({.name = "cnn",
                        .image = 16,
                        .channels = 1,
                        .classes = 10,
                        .width = 8,
                        .stages = 3,
                        .blocks = blocks});
}

void expect_apart(const IntegerNetwork& network) {
  const std::vector<Lifetime> lives = tensor_lives(network);
  for (std::size_t a = 0; a < lives.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      if (!ever_there(lives[a]) || !ever_there(lives[b]) || !meet(lives[a], lives[b])) continue;
      const std::int64_t one = network.tensors[a].offset, other = network.tensors[b].offset;
      EXPECT_TRUE(one + lives[a].bytes.value <= other || other + lives[b].bytes.value <= one)
          << a << " and " << b;
    }
}

TEST(Arena, NoTwoTensorsThatAreHeldTogetherOverlap) {
  expect_apart(every_op().whole);
  for (const std::int64_t blocks : {1, 2, 4}) {
    testing::MicroNetwork network{residual(blocks), {}, {}, {}, {}};
    testing::make_micro_network(network, 3, 1);
    expect_apart(network.whole);
    // Residual networks have a placement that reaches the bound.
    EXPECT_EQ(network.whole.arena, network.whole.arena_bound);
  }
}

// The plan of a chain of products is that of its two widest neighbours.
TEST(Arena, OfAChainIsItsLargestPair) {
  testing::MicroNetwork network{build_mlp({"mlp", 20, 16, 3, 5}), {}, {}, {}, {}};
  testing::make_micro_network(network, 3, 1);
  EXPECT_EQ(network.whole.arena.value, 16 + 16);
}

// Every byte of the arena is used, and none beyond it is touched.
TEST(Arena, IsUsedToItsLastByte) {
  const testing::MicroNetwork& network = every_op();
  const IntegerTensor& input = network.whole.tensor(network.whole.input);
  const std::vector<std::int8_t> sample =
      quantised(channels_last(network.samples[0], input.size), input.scale);
  const auto size = static_cast<std::size_t>(network.whole.arena.value);
  constexpr std::size_t kGuard = 64;
  std::vector<bool> changed(size + kGuard);
  std::vector<std::int8_t> first;
  for (const std::int8_t poison : {std::int8_t{0x5a}, std::int8_t{-0x5b}}) {
    std::vector<std::int8_t> memory(size + kGuard, poison), output(5);
    ASSERT_TRUE(run_network(network.whole, sample, output, std::span(memory).first(size)));
    for (std::size_t i = 0; i < memory.size(); ++i) changed[i] = changed[i] || memory[i] != poison;
    if (first.empty()) first = output;
    EXPECT_EQ(first, output);  // it reads nothing that it has not written
  }
  EXPECT_TRUE(changed[size - 1]);
  EXPECT_EQ(std::find(changed.begin() + static_cast<std::ptrdiff_t>(size), changed.end(), true),
            changed.end());
  std::vector<std::int8_t> small(size - 1), output(5);
  EXPECT_FALSE(run_network(network.whole, sample, output, small));
}

// Layers add up the rounding of those before them; it stays near the step of the output.
TEST(IntegerNetwork, OutputsAreNearTheRealOnes) {
  const testing::MicroNetwork& network = every_op();
  const testing::ReferenceForward forward(network.model, network.trained);
  const IntegerTensor &input = network.whole.tensor(network.whole.input),
                      &output = network.whole.tensor(network.whole.output);
  const FloatTensor& real = network.real.tensors[static_cast<std::size_t>(network.real.output)];
  double square = 0, error_square = 0;
  for (const std::vector<float>& sample : testing::non_empty(network.samples)) {
    std::vector<std::int8_t> numbers(5), arena(static_cast<std::size_t>(network.whole.arena.value));
    run_network(network.whole, quantised(channels_last(sample, input.size), input.scale), numbers,
                arena);
    const std::vector<float> found = dequantised(numbers, output.scale);
    const std::vector<double> exact = forward(sample).at({real.layer, real.tensor}).values;
    for (std::size_t c = 0; c < found.size(); ++c) {
      square += exact[c] * exact[c];
      error_square += (found[c] - exact[c]) * (found[c] - exact[c]);
    }
  }
  EXPECT_LE(std::sqrt(error_square / square), 0.05);
}

TEST(FloatNetwork, NormsAndReluBecomePartsOfLayers) {
  const FloatNetwork network = every_op().real;
  std::vector<MicroOp> ops;
  for (const FloatLayer& layer : network.layers) ops.push_back(layer.op);
  EXPECT_EQ(ops, (std::vector{MicroOp::Convolution, MicroOp::DepthwiseConvolution, MicroOp::MaxPool,
                              MicroOp::AveragePool, MicroOp::Convolution, MicroOp::Add,
                              MicroOp::DepthwiseConvolution, MicroOp::Relu, MicroOp::Add,
                              MicroOp::Convolution, MicroOp::Convolution, MicroOp::Add,
                              MicroOp::FullyConnected, MicroOp::FullyConnected}));
  EXPECT_TRUE(network.layers[0].relu);   // conv1, bn1, relu1
  EXPECT_FALSE(network.layers[5].relu);  // three read this sum
  EXPECT_TRUE(network.layers[6].relu);   // bn2, which no layer with weights comes before
  EXPECT_EQ(network.layers[0].name, "images conv1");
}

std::string unsupported(const Model& model) {
  try {
    float_network(model, testing::random_weights(model, 1));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Unsupported);
    return describe(error);
  }
  return "accepted";
}

TEST(FloatNetwork, OtherOpsAreRefusedByTheirNamesAndLayers) {
  const std::string recurrent = unsupported(zoo_model("lstm-tiny"));
  EXPECT_EQ(recurrent.find("model lstm-tiny: a microcontroller's runner has products"), 0U);
  EXPECT_NE(recurrent.find("none for embedding of embedding (op embedding), gates of layers 0"),
            std::string::npos)
      << recurrent;
  EXPECT_EQ(unsupported(zoo_model("resnet-20")), "accepted");
  EXPECT_EQ(unsupported(zoo_model("wideresnet-28-2")), "accepted");
  EXPECT_EQ(unsupported(zoo_model("inception-tiny")), "accepted");
  EXPECT_NE(unsupported(zoo_model("gpt-tiny")).find(" and "), std::string::npos);
}

TEST(FloatNetwork, GroupsOfSeveralChannelsAreRefused) {
  GraphBuilder b;
  const TensorId in = b.graph.input = b.activation("input", {kBatch, whole(4), whole(8), whole(8)});
  const TensorId weight = b.parameter("conv.weight", {whole(4), whole(2), whole(3), whole(3)});
  const TensorId out = b.node("conv", convolution(), {in, weight}, {{"groups", 2}, {"padding", 1}});
  const TensorId pooled = b.node("pool", pooling(), {out}, {{"kernel", 0}, {"average", 1}});
  Model model;
  model.name = "groups";
  model.blocks.push_back(b.block("all", 1, true, b.loss(b.node("flat", flatten(), {pooled}))));
  EXPECT_NE(unsupported(model).find(
                "conv of all (op convolution, whose 2 groups have several channels each)"),
            std::string::npos);
}

TEST(IntegerNetwork, SumsThat32BitsDoNotHoldAreRefused) {
  Model model = build_mlp({"wide", 70'000, 2, 1, 2});
  std::vector<TrainedTensor> trained = testing::random_weights(model, 1);
  for (float& weight : trained[0].values) weight = 1;
  const FloatNetwork real = float_network(model, trained);
  const std::vector<CalibratedRange> ranges(real.tensors.size(), {-1, 1});
  try {
    integer_network(real, ranges);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(describe(error).find("input fc: expected sums that 32 bits hold"), std::string::npos)
        << describe(error);
  }
}

TEST(TensorScales, HaveZeroAsANumber) {
  EXPECT_EQ(scale_of({0, 255}), (TensorScale{1, -128}));
  EXPECT_EQ(scale_of({-255, 0}), (TensorScale{1, 127}));
  EXPECT_EQ(scale_of({10, 255}), (TensorScale{1, -128}));
  EXPECT_EQ(scale_of({0, 0}), (TensorScale{1, 0}));
  EXPECT_EQ(quantised(std::vector<float>{-1000, 0, 1.4F, 1000}, {1, 3}),
            (std::vector<std::int8_t>{-128, 3, 4, 127}));
}

}  // namespace
}  // namespace trainyard
