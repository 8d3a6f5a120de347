// Tests that an exported C program compiles without a warning and gives the interpreter's bytes.
#include "core/microcontroller/c_source.h"

#include <gtest/gtest.h>

#include "core/microcontroller/interpreter.h"
#include "core/model/zoo/builders.h"
#include "tests/support/c_program.h"
#include "tests/support/micro_networks.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

std::vector<std::vector<std::int8_t>> whole_samples(const testing::MicroNetwork& network) {
  std::vector<std::vector<std::int8_t>> samples;
  const IntegerTensor& input = network.whole.tensor(network.whole.input);
  for (const std::vector<float>& sample : network.samples)
    samples.push_back(quantised(channels_last(sample, input.size), input.scale));
  return samples;
}

std::vector<std::int8_t> interpreted(const IntegerNetwork& network,
                                     const std::vector<std::vector<std::int8_t>>& samples) {
  std::vector<std::int8_t> all;
  const auto size = static_cast<std::size_t>(network.tensor(network.output).size.elements());
  for (const std::vector<std::int8_t>& sample : samples) {
    std::vector<std::int8_t> output(size), arena(static_cast<std::size_t>(network.arena.value), 77);
    EXPECT_TRUE(run_network(network, sample, output, arena));
    all.insert(all.end(), output.begin(), output.end());
  }
  return all;
}

void expect_same_bytes(const testing::MicroNetwork& network) {
  const TemporaryFolder folder;
  testing::compile_c(c_source(network.whole, "net", {"A network of a test."}), "net",
                     folder.path());
  const auto samples = whole_samples(network);
  const std::vector<std::int8_t> here = interpreted(network.whole, samples);
  EXPECT_EQ(testing::run_c(samples, folder.path()), here);
  // Different samples have different outputs, so that equal bytes say something.
  EXPECT_NE(std::vector(here.begin(), here.begin() + 5), std::vector(here.end() - 5, here.end()));
}

TEST(CSource, EveryOpGivesTheInterpretersBytes) {
  testing::MicroNetwork network{testing::model_of_every_op(), {}, {}, {}, {}};
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    network.samples.clear();
    testing::make_micro_network(network, seed);
    expect_same_bytes(network);
  }
}

TEST(CSource, PerceptronsNeedOnlyWhatProductsNeed) {
  testing::MicroNetwork network{build_mlp({"mlp", 20, 16, 2, 5}), {}, {}, {}, {}};
  testing::make_micro_network(network, 4);
  expect_same_bytes(network);
  const CSource source = c_source(network.whole, "net", {});
  EXPECT_EQ(source.source.find("run_convolution"), std::string::npos);
  EXPECT_EQ(source.source.find("inside_of"), std::string::npos);
}

// B-MOD-11: a network of 20 ops or more fits the predicted arena to the byte.
TEST(CSource, AResidualNetworkFitsItsArena) {
  testing::MicroNetwork network{build_convnet({.name = "cnn",
                                               .image = 16,
                                               .channels = 3,
                                               .classes = 10,
                                               .width = 8,
                                               .stages = 3,
                                               .blocks = 2}),
                                {},
                                {},
                                {},
                                {}};
  testing::make_micro_network(network, 5, 4);
  EXPECT_GE(network.whole.layers.size(), 20U);
  expect_same_bytes(network);
}

// One layer works in the memory of its caller.
TEST(CSource, ANetworkWithoutTensorsInBetweenNeedsNoArena) {
  GraphBuilder b;
  const TensorId in = b.graph.input = b.activation("input", {kBatch, whole(7)});
  testing::MicroNetwork network{{}, {}, {}, {}, {}};
  network.model.name = "one", network.model.family = "mlp";
  network.model.blocks.push_back(
      b.block("head", 1, true, b.loss(b.linear("fc", in, whole(5), true))));
  testing::make_micro_network(network, 6);
  EXPECT_EQ(network.whole.arena.value, 0);
  expect_same_bytes(network);
}

TEST(CSource, NamesAreIdentifiers) {
  EXPECT_EQ(c_name("mlp-small"), "mlp_small");
  EXPECT_EQ(c_name("ResNet 20"), "resnet_20");
  EXPECT_EQ(c_name("20/*x*/"), "model_20__x__");
  EXPECT_EQ(c_name(""), "model_");
}

TEST(CSource, NoNameEndsAComment) {
  testing::MicroNetwork network{build_mlp({"mlp", 6, 5, 1, 5}), {}, {}, {}, {}};
  testing::make_micro_network(network, 7);
  const CSource source = c_source(network.whole, "net", {"of */ int x; /*"});
  EXPECT_EQ(source.source.find("*/ int x;"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
