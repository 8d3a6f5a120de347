// Collectives and bytes of tensor parallelism on GPT's layer, against Shoeybi et al. 2019 and
// Korthikanti et al. 2022.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::Words;

// The residual stream of one microbatch, 16 bit.
constexpr std::int64_t kStream = 2 * 512 * 2 * 1024;

Workload workload(const char* sequence_parallel, const char* flash = "flash-attention=off") {
  return prepare(scenario(gpt(), 8, {"tp=8", "micro-batch=2", sequence_parallel, flash}));
}

std::string tensor(CollectiveKind kind, std::int64_t bytes = kStream) {
  return testing::words(kind, Group::Tensor, bytes);
}
const std::string kReduce = tensor(CollectiveKind::AllReduce),
                  kGather = tensor(CollectiveKind::AllGather),
                  kScatter = tensor(CollectiveKind::ReduceScatter);

TEST(TensorParallel, TwoReductionsALayerForwardAndTwoBackward) {
  const Workload w = workload("sequence-parallel=off");
  EXPECT_EQ(collectives(layer(w).forward), (Words{kReduce, kReduce}));
  EXPECT_EQ(collectives(layer(w).backward), (Words{kReduce, kReduce}));
}

// Backward a part gathers its output's gradient, gathers its input again for the weight gradient
// (only a rank's own rows were kept) and scatters its input's gradient.
TEST(TensorParallel, UnderSequenceParallelEachReductionIsAScatterAndAGather) {
  const Workload w = workload("sequence-parallel=on");
  EXPECT_EQ(collectives(layer(w).forward), (Words{kGather, kScatter, kGather, kScatter}));
  EXPECT_EQ(collectives(layer(w).backward),
            (Words{kGather, kGather, kScatter, kGather, kGather, kScatter}));
}

TEST(TensorParallel, CollectivesSurroundColumnsAndRows) {
  EXPECT_EQ(
      testing::names(layer(workload("sequence-parallel=on", "flash=on")).forward),
      (Words{"ln_1", "[gather ln_1]", "attn.c_attn", "attention", "attn.c_proj",
             "[reduce attn.c_proj]", "attention_dropout", "attention_add", "ln_2", "[gather ln_2]",
             "mlp.c_fc", "act", "mlp.c_proj", "[reduce mlp.c_proj]", "mlp_dropout", "mlp_add"}));
}

// The first column-cut product gathers for all that read the same tensor.
TEST(TensorParallel, ProductsOfOneInputShareItsGather) {
  const Workload w = prepare(scenario(testing::mixture(), 4, {"tp=4", "zero=0"}));
  int gathers = 0;
  for (const BodyOp& op : layer(w).forward)
    gathers += op.communication && op.name == "gather input_layernorm";
  EXPECT_EQ(gathers, 1);
}

TEST(TensorParallel, SavedBytesOfALayer) {
  constexpr std::int64_t s = 512, b = 2, h = 1024, a = 16, t = 8;
  constexpr std::int64_t statistics = 2 * 8 * s * b;  // of the two norms
  EXPECT_EQ(saved_bytes(layer(workload("sequence-parallel=off"))).value,
            10 * s * b * h + 24 * s * b * h / t + 5 * a * s * s * b / t + statistics);
  EXPECT_EQ(saved_bytes(layer(workload("sequence-parallel=on"))).value,
            (34 * s * b * h + 5 * a * s * s * b + statistics) / t);
}

// 12 h^2 of products, their biases but those of the two outputs; norms and output biases are whole.
TEST(TensorParallel, ParametersOfALayer) {
  constexpr std::int64_t h = 1024, t = 8;
  EXPECT_EQ(layer(workload("sequence-parallel=on")).parameters.dense,
            (12 * h * h + 3 * h + 4 * h) / t + 2 * h + 4 * h);
}

TEST(TensorParallel, EmbeddingAndLossOverACutVocabulary) {
  constexpr std::int64_t s = 512, b = 2, h = 1024, t = 8;
  const Workload w = workload("sequence-parallel=on");
  const Body &embedding = w.bodies.front(), &head = w.bodies.back();
  EXPECT_EQ(collectives(embedding.forward), (Words{kScatter}));
  EXPECT_EQ(collectives(embedding.backward), (Words{kGather}));
  // The largest logit, the sum and the label's logit of every token, 4 bytes each.
  EXPECT_EQ(collectives(head.forward),
            (Words{kGather, tensor(CollectiveKind::AllReduce, 3 * 4 * s * b)}));
  EXPECT_EQ(collectives(head.backward), (Words{kGather, kScatter}));
  EXPECT_EQ(embedding.parameters.dense, 51200 / t * h + s * h);
  EXPECT_EQ(head.parameters.dense, 2 * h);  // the table is the embedding's
}

TEST(TensorParallel, FourByteFormatsMoveTwiceTheBytes) {
  const Workload w =
      prepare(scenario(gpt(), 8, {"tp=8", "micro-batch=2", "sp=off", "precision=fp32"}));
  const std::string reduce = tensor(CollectiveKind::AllReduce, 2 * kStream);
  EXPECT_EQ(collectives(layer(w).forward), (Words{reduce, reduce}));
}

// Four bytes a token, forward and once more for the gradient; a layer norm has a mean too.
TEST(TensorParallel, NormsOverAllHeadsAverageARow) {
  for (const NormKind kind : {NormKind::Rms, NormKind::Layer}) {
    TransformerSpec spec = family_spec("olmo2");
    spec.name = "wide norms";
    spec.norm = kind;
    spec.layers = 2, spec.hidden = 64, spec.heads = 8, spec.ffn = 64, spec.vocab = 64;
    spec.sequence = 32;
    const Workload w =
        prepare(scenario(build_decoder(spec), 4, {"tp=4", "micro-batch=2", "flash=on"}));
    const std::string row =
        tensor(CollectiveKind::AllReduce, (kind == NormKind::Layer ? 8 : 4) * 32 * 2);
    const Words forward = collectives(layer(w).forward), backward = collectives(layer(w).backward);
    EXPECT_EQ(std::count(forward.begin(), forward.end(), row), 2);  // of queries and of keys
    EXPECT_EQ(std::count(backward.begin(), backward.end(), row), 2);
    const Words names = testing::names(layer(w).forward);
    const auto at = std::find(names.begin(), names.end(), "[average rows of q_norm]");
    ASSERT_LT(at, names.end() - 1);
    EXPECT_EQ(at[1], "q_norm");
  }
}

// Every rank reads B and C whole, and their gradients are summed as those of a product's input are.
TEST(TensorParallel, AScanTakesWhatItsChannelsShareIntoTheTensorRegion) {
  TransformerSpec spec = family_spec("mamba2");
  spec.name = "first mamba";
  spec.mixer = Mixer::SelectiveScan;
  spec.layers = 2, spec.hidden = 8, spec.heads = 1, spec.head_dim = 8, spec.ffn = 8;
  spec.vocab = 16, spec.sequence = 32;
  spec.selective.inner = 16, spec.selective.state = 4, spec.selective.step_rank = 2;
  const std::int64_t shared = 2 * 32 * 4;  // of one sample, 16 bit
  const auto of = [&](const char* sequence_parallel, bool backward, CollectiveKind kind) {
    const Workload w = prepare(scenario(build_decoder(spec), 2, {"tp=2", sequence_parallel}));
    const Words all = collectives(backward ? layer(w).backward : layer(w).forward);
    return std::count(all.begin(), all.end(), tensor(kind, shared));
  };
  using enum CollectiveKind;
  // Forward, the products that make B and C leave the region; backward, their gradients leave it.
  EXPECT_EQ(of("sequence-parallel=off", false, AllReduce), 2);
  EXPECT_EQ(of("sequence-parallel=off", true, AllReduce), 2);
  EXPECT_EQ(of("sequence-parallel=on", false, ReduceScatter), 2);
  EXPECT_EQ(of("sequence-parallel=on", false, AllGather), 2);
  EXPECT_EQ(of("sequence-parallel=on", true, ReduceScatter), 2);
  // They are gathered again for the scan, and their gradients for the products that made them.
  EXPECT_EQ(of("sequence-parallel=on", true, AllGather), 4);
}

TEST(TensorParallel, OneRankCommunicatesNothing) {
  const Workload w = prepare(scenario(gpt(), 8, {"sequence-parallel=on"}));
  EXPECT_TRUE(collectives(layer(w).forward).empty());
  EXPECT_FALSE(w.layout.binding.sequence_parallel);
}

// Fewer key/value heads than ranks: the rest hold copies.
TEST(TensorParallel, KeyValueHeadsAreCopiedBeyondTheirNumber) {
  const Workload four = prepare(scenario(testing::mixture(), 8, {"tp=4"})),
                 eight = prepare(scenario(testing::mixture(), 8, {"tp=8"}));
  const std::int64_t hidden = 512, head = 32, kv = 2 * hidden * head;  // keys and values of a head
  const auto attention = [&](const Workload& w, std::int64_t tp) {
    return layer(w).parameters.dense - 2 * hidden * hidden / tp - 2 * hidden - hidden * 8;
  };
  EXPECT_EQ(attention(four, 4), kv);
  EXPECT_EQ(attention(eight, 8), kv);
}

TEST(TensorParallel, DegreeDividesHeads) {
  const Diagnostics found = check_of("tensor-parallel", scenario(gpt(), 96, {"tp=12"}));
  ASSERT_EQ(found.size(), 2u);  // and a warning: nodes have 8 devices
  EXPECT_EQ(found[0].message,
            "tp=12 does not divide the 16 attention heads of layers/attn.c_attn.weight");
  EXPECT_EQ(found[0].place.text, "plan#/mesh/tp");
  EXPECT_EQ(found[0].fix, "tp=8");
}

TEST(TensorParallel, DegreeDividesKeyValueHeads) {
  const Diagnostics found = check_of(
      "tensor-parallel", scenario(testing::mixture(), 24, {"tp=3", "sequence-parallel=off"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "tp=3 does not divide the 16 attention heads of layers/q_proj.weight");
  EXPECT_EQ(found[0].fix, "tp=2");
}

TEST(TensorParallel, SequenceDividesIntoItsRegions) {
  const Diagnostics found =
      check_of("tensor-parallel", scenario(gpt(), 16, {"tp=8", "cp=2", "seq=500"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "sequence parallel divides 500 tokens over 16 ranks (tp x cp), which leaves a "
            "remainder of 4");
  EXPECT_EQ(found[0].place.text, "plan#/batch/sequence");
}

// An image's tokens follow from its patches: another seq would change nothing.
TEST(TensorParallel, TokensOfAnImageCannotBeChanged) {
  const Diagnostics found =
      check_of("tensor-parallel", scenario(zoo_model("vit-b16"), 8, {"tp=2", "seq=512"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "sequence parallel divides 197 tokens over 2 ranks (tp x cp), which leaves a remainder "
            "of 1");
  EXPECT_EQ(found[0].place.text, "plan#/choices/tensor-parallel");
  EXPECT_EQ(found[0].fix, "sequence-parallel=off");
}

TEST(TensorParallel, LeavesASequenceWholeThatIsReadStepByStep) {
  const Diagnostics found = check_of(
      "tensor-parallel", scenario(zoo_model("lstm-tiny"), 8, {"tp=2", "sequence-parallel=on"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "sequence parallel divides a sequence, and lstm-tiny reads its own step by step");
  EXPECT_EQ(found[0].fix, "sequence-parallel=off");
  EXPECT_TRUE(check_of("tensor-parallel",
                       scenario(zoo_model("lstm-tiny"), 8, {"tp=2", "sequence-parallel=off"}))
                  .empty());
}

TEST(TensorParallel, WarnsBeyondANode) {
  const Diagnostics found = check_of("tensor-parallel", scenario(gpt(), 16, {"tp=16"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Diagnostic::Severity::Warning);
  EXPECT_EQ(found[0].message,
            "tp=16 spans nodes of 8 devices: every layer's reductions cross the network");
  EXPECT_EQ(found[0].fix, "tp=8");
}

}  // namespace
}  // namespace trainyard
