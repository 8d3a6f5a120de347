// Compares what a layer keeps for backward with Korthikanti et al. 2022 (table 2) and other
// published figures, to the byte.
#include <gtest/gtest.h>

#include <set>

#include "core/model/op.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "tests/model/half.h"

namespace trainyard {
namespace {

struct Kept {
  std::int64_t bytes = 0, core = 0, statistics = 0;
};

using testing::kHalf;

// Tensors that two ops keep count once; statistics are apart, because the paper leaves them out.
Kept kept(const Graph& graph, const Binding& binding, bool flash,
          const Precision& precision = kHalf) {
  Kept sum;
  std::set<TensorId> seen;
  for (const Node& node : graph.nodes) {
    for (const Saved& saved : node.op->saved({graph, node, binding, precision, flash})) {
      if (saved.tensor.valid() && !seen.insert(saved.tensor).second) continue;
      const Bytes bytes =
          saved.tensor.valid() ? local_bytes(graph[saved.tensor], binding, precision) : saved.bytes;
      (saved.what == "statistics" ? sum.statistics : sum.bytes) += bytes.value;
      if (saved.attention_core) sum.core += bytes.value;
    }
  }
  return sum;
}

const Block& layer_of(const Model& model) { return model.blocks[1]; }

struct Sizes {
  std::int64_t s, b, h, a, t;
};

class Korthikanti : public ::testing::TestWithParam<Sizes> {
 protected:
  Model model() const {
    const Sizes& z = GetParam();
    TransformerSpec spec = family_spec("gpt2");
    spec.name = "layer";
    spec.layers = 1;
    spec.hidden = z.h;
    spec.heads = z.a;
    spec.ffn = 4 * z.h;
    spec.vocab = 51200;
    spec.sequence = z.s;
    return build_decoder(spec);
  }
  Binding binding(bool tensor, bool sequence) const {
    const Sizes& z = GetParam();
    return {z.b, z.s, tensor ? static_cast<int>(z.t) : 1, 1, 1, sequence};
  }
  Kept unfused(bool tensor, bool sequence) const {
    const Model m = model();
    return kept(layer_of(m).graph, binding(tensor, sequence), false);
  }
};

TEST_P(Korthikanti, WholeLayer) {
  const auto [s, b, h, a, t] = GetParam();
  const Kept k = unfused(false, false);
  EXPECT_EQ(k.bytes, 34 * s * b * h + 5 * a * s * s * b);
  EXPECT_EQ(k.core, 5 * a * s * s * b);
  EXPECT_EQ(k.statistics, 2 * 8 * s * b);
}

TEST_P(Korthikanti, TensorParallel) {
  const auto [s, b, h, a, t] = GetParam();
  const Kept k = unfused(true, false);
  EXPECT_EQ(k.bytes, 10 * s * b * h + 24 * s * b * h / t + 5 * a * s * s * b / t);
  EXPECT_EQ(k.bytes - k.core, 10 * s * b * h + 24 * s * b * h / t);  // selective
}

TEST_P(Korthikanti, TensorAndSequenceParallel) {
  const auto [s, b, h, a, t] = GetParam();
  const Kept k = unfused(true, true);
  EXPECT_EQ(k.bytes, (34 * s * b * h + 5 * a * s * s * b) / t);
  EXPECT_EQ(k.bytes - k.core, 34 * s * b * h / t);  // selective
}

TEST_P(Korthikanti, FusedAttentionKeepsItsOutputAndARowOfStatistics) {
  const auto [s, b, h, a, t] = GetParam();
  const Model m = model();
  const Kept k = kept(layer_of(m).graph, binding(true, true), true);
  EXPECT_EQ(k.bytes, 34 * s * b * h / t);
  EXPECT_EQ(k.core, 0);
  EXPECT_EQ(k.statistics, (2 * 8 * s * b + 4 * a * s * b) / t);
}

TEST_P(Korthikanti, ContextParallelDividesTokensAndKeepsWholeRows) {
  const auto [s, b, h, a, t] = GetParam();
  const Model m = model();
  Binding split = binding(false, false);
  split.cp = 4;
  EXPECT_EQ(kept(layer_of(m).graph, split, false).bytes, (34 * s * b * h + 5 * a * s * s * b) / 4);
}

// GPT 22B, 175B (GPT-3), 530B and 1T of the paper.
INSTANTIATE_TEST_SUITE_P(Paper, Korthikanti,
                         ::testing::Values(Sizes{2048, 4, 6144, 64, 8},
                                           Sizes{2048, 1, 12288, 96, 8},
                                           Sizes{2048, 1, 20480, 128, 8},
                                           Sizes{2048, 1, 25600, 160, 8}));

TEST(Activations, AttentionIsSeventyPercentOfAGpt3Layer) {
  const Model gpt3 = zoo_model("gpt3-175b");
  const Kept k = kept(layer_of(gpt3).graph, Binding{1, 2048, 1, 1, 1, false}, false);
  // 5as/h = 80 against 34: the paper's "70 %" is the share of the core.
  EXPECT_EQ(k.core * 114, k.bytes * 80);
  EXPECT_NEAR(static_cast<double>(k.core) / static_cast<double>(k.bytes), 0.70, 0.005);
}

TEST(Activations, LlamaLayerByHand) {
  const Model llama = zoo_model("llama-3-8b");
  const std::int64_t s = 8192, h = 4096, kv = 1024, f = 14336;
  const Kept k = kept(llama.blocks[1].graph, Binding{1, s, 1, 1, 1, false}, true);
  // Two norms' inputs and outputs, q, k, v, attention's output, gate, up and their product.
  EXPECT_EQ(k.bytes, 2 * s * (4 * h + 2 * h + 2 * kv + 3 * f));
  EXPECT_EQ(k.statistics, s * (2 * 4 + 32 * 4));
}

TEST(Activations, KeyValueHeadsAreDividedIntoNoMorePartsThanThereAre) {
  const Dim kv{1024, Axis::KvHeads, 8};
  EXPECT_EQ(local_size(kv, Binding{1, 1, 8, 1, 1, false}), 128);
  EXPECT_EQ(local_size(kv, Binding{1, 1, 32, 1, 1, false}), 128);
  EXPECT_EQ(local_size(kv, Binding{1, 1, 3, 1, 1, false}), 3 * 128);
}

// Low-memory training report: inputs of batch norms and outputs of ReLUs, one sample. Its count is
// of the residual blocks; the last norm and ReLU keep another 2 x 8192.
TEST(Activations, WideResidualNetworkAsCountedInTheLowMemoryReport) {
  const Model wrn = zoo_model("wideresnet-28-2");
  const Precision single{};
  std::int64_t elements = 0;
  for (const Block& block : wrn.blocks)
    if (block.layer)
      elements += block.count * kept(block.graph, Binding{}, false, single).bytes / 4;
  EXPECT_EQ(elements, 933'888);
  EXPECT_EQ(parameters(wrn), 1'467'610);
}

TEST(Activations, LogitsAreFourBytesWhateverThePrecision) {
  const Model gpt = zoo_model("gpt2");
  const std::int64_t s = 1024, h = 768, v = 50257;
  const Kept k = kept(gpt.blocks.back().graph, Binding{1, s, 1, 1, 1, false}, false);
  EXPECT_EQ(k.bytes, 4 * s * h + 4 * s * v + 8 * s);  // norm's input and output, softmax, labels
}

}  // namespace
}  // namespace trainyard
