#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/precision/narrow_products.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::mixture;
using testing::scenario;

constexpr std::int64_t kTokens = 512, kHidden = 1024;
// Parameters of a layer: its four matrices; two norms and four biases.
constexpr std::int64_t kMatrices = 12 * kHidden * kHidden, kOthers = 13 * kHidden;

Workload prepared(testing::Settings settings, Model model = gpt(), std::int64_t devices = 1) {
  return prepare(scenario(std::move(model), devices, settings, "h100-sxm"));
}

const BodyOp& op(const std::vector<BodyOp>& ops, std::string_view name, Pass pass) {
  for (const BodyOp& one : ops)
    if (one.name == name && one.pass == pass) return one;
  throw Error(Error::Kind::Internal, "no op " + std::string(name));
}

int casts(const std::vector<BodyOp>& ops) {
  return static_cast<int>(std::count_if(
      ops.begin(), ops.end(), [](const BodyOp& o) { return o.name.starts_with("cast "); }));
}

TEST(Fp8, MultipliesInEightBitsInsideLayersOnly) {
  const Workload w = prepared({"precision=fp8"});
  EXPECT_EQ(w.layout.precision.math, DType::F8);
  EXPECT_EQ(w.layout.precision.activation, DType::BF16);
  EXPECT_TRUE(w.layout.precision.master_weights);
  int narrow_ops = 0;
  for (const Body& body : testing::non_empty(w.bodies)) {
    const bool is_layer = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer;
    for (const auto* ops : {&body.forward, &body.backward})
      for (const BodyOp& o : testing::non_empty(*ops)) {
        const bool product = o.work.kind == WorkKind::Product;
        if (!product && o.work.kind != WorkKind::Attention) continue;
        EXPECT_EQ(o.work.math, product && is_layer ? DType::F8 : DType::BF16) << o.name;
        narrow_ops += o.work.math == DType::F8 ? 1 : 0;
      }
  }
  EXPECT_EQ(narrow_ops, 4 * 3);  // qkv, out, up and down; forward and both backward products
}

TEST(Fp8, UnfusedAttentionStaysInSixteenBits) {
  const Workload w = prepared({"precision=fp8", "flash-attention=off"});
  for (const BodyOp& o : testing::non_empty(layer(w).forward))
    if (w.scenario.model.blocks[1].graph[o.node].op->name == "attention") {
      EXPECT_EQ(o.work.math, DType::BF16);
    }
}

// Two bytes read; one written for the product at hand and one for the weight gradient.
TEST(Fp8, CastsAnOperandForBothProductsThatReadIt) {
  const Workload w = prepared({"precision=fp8"});
  const Body& body = layer(w);
  const std::string product = [&] {
    for (const BodyOp& o : body.forward)
      if (o.name.starts_with("cast ")) return o.name.substr(5);
    return std::string();
  }();
  const BodyOp& cast = op(body.forward, "cast " + product, Pass::Forward);
  EXPECT_EQ(cast.work.read.value, 2 * kTokens * kHidden);
  EXPECT_EQ(cast.work.written.value, 2 * kTokens * kHidden);
  const BodyOp& forward = op(body.forward, product, Pass::Forward);
  EXPECT_EQ(forward.work.read.value, kTokens * kHidden + kHidden * 3 * kHidden);
  EXPECT_EQ(forward.work.written.value, 2 * kTokens * 3 * kHidden);
  const BodyOp& back = op(body.backward, "cast " + product, Pass::BackwardInput);
  EXPECT_EQ(back.work.read.value, 2 * kTokens * 3 * kHidden);
  EXPECT_EQ(back.work.written.value, 2 * kTokens * 3 * kHidden);
  EXPECT_EQ(casts(body.forward), 4);
  EXPECT_EQ(casts(body.backward), 4);
}

// Query, key and value projections read one tensor.
TEST(Fp8, CastsATensorOnceHoweverManyProductsReadIt) {
  const Workload w = prepared({"precision=fp8"}, mixture());
  const Body& body = layer(w);
  int products = 0;
  for (const BodyOp& o : body.forward) products += o.work.math == DType::F8 ? 1 : 0;
  EXPECT_EQ(products, 4 + 3);         // q, k, v, o; gate, up, down of the experts
  EXPECT_EQ(casts(body.forward), 4);  // attention's input, its output, the experts' input, down's
  EXPECT_EQ(casts(body.backward), 7);
}

// Norm outputs and the activation that only products keep halve; attention's output, which fused
// attention keeps too, is kept a second time.
TEST(Fp8, KeepsTheCastOperand) {
  const Bytes bf16 = saved_bytes(layer(prepared({"precision=bf16"})));
  const Bytes fp8 = saved_bytes(layer(prepared({"precision=fp8"})));
  const Bytes torch = saved_bytes(layer(prepared({"precision=fp8", "fp8.keeps=bf16"})));
  EXPECT_EQ((bf16 - fp8).value, (1 - 1 + 1 + 4) * kTokens * kHidden);
  EXPECT_EQ(torch, bf16);
}

TEST(Fp8, WhatIsKeptInSixteenBitsIsCastAgain) {
  const Workload w = prepared({"precision=fp8", "fp8.keeps=bf16"});
  EXPECT_EQ(casts(layer(w).forward), 4);
  EXPECT_EQ(casts(layer(w).backward), 8);
  std::int64_t forward = 0, kept = 0;
  for (const BodyOp& o : layer(w).forward)
    forward += o.name.starts_with("cast ") ? o.work.written.value : 0;
  const Workload transformer_engine = prepared({"precision=fp8"});
  for (const BodyOp& o : layer(transformer_engine).forward)
    kept += o.name.starts_with("cast ") ? o.work.written.value : 0;
  EXPECT_EQ(2 * forward, kept);
}

TEST(Fp8, RecomputationCastsAgain) {
  EXPECT_EQ(casts(layer(prepared({"precision=fp8", "recompute=full"})).backward), 8);
}

// Two bytes of bf16 and two casts beside them, or the casts alone, for the four matrices of a layer
// and for nothing else. A shard has one cast.
TEST(Fp8, BytesOfWeightsAreOfMatricesAlone) {
  const auto state = [](testing::Settings settings, std::int64_t devices) {
    const Workload w = prepared(std::move(settings), gpt(), devices);
    return state_bytes(layer(w), w.layout);
  };
  const auto weights = [&](testing::Settings settings, std::int64_t devices) {
    return state(std::move(settings), devices).weights.value;
  };
  EXPECT_EQ(layer(prepared({"precision=fp8"})).parameters.dense, kMatrices + kOthers);
  EXPECT_EQ(weights({"precision=bf16"}, 1), 2 * kMatrices + 2 * kOthers);
  EXPECT_EQ(weights({"precision=fp8"}, 1), 4 * kMatrices + 2 * kOthers);
  EXPECT_EQ(weights({"precision=fp8", "fp8.weights=fp8"}, 1), 2 * kMatrices + 2 * kOthers);
  EXPECT_EQ(weights({"precision=fp8", "fp8.bf16-layers=all"}, 1), 2 * kMatrices + 2 * kOthers);
  EXPECT_EQ(weights({"precision=fp8", "zero=3"}, 8), (2 * kMatrices + 2 * kOthers) / 8);
  EXPECT_EQ(weights({"precision=fp8", "zero=3", "fp8.gather-fp8=true"}, 8),
            (2 * kMatrices + 2 * kOthers) / 8);
  EXPECT_EQ(weights({"precision=fp8", "zero=3", "fp8.weights=fp8"}, 8),
            (kMatrices + 2 * kOthers) / 8);
  // Matrices and others are each divided into equal shares, of which the last may be shorter.
  EXPECT_EQ(weights({"precision=fp8", "zero=3", "fp8.weights=fp8"}, 5),
            (kMatrices + 4) / 5 + 2 * ((kOthers + 4) / 5));
  EXPECT_EQ(state({"precision=fp8", "zero=3", "fp8.weights=fp8"}, 5).optimizer.value,
            12 * ((kMatrices + 4) / 5 + (kOthers + 4) / 5));
  EXPECT_EQ(state({"precision=fp8", "gradient-dtype=bf16"}, 1).gradients.value,
            2 * (kMatrices + kOthers));
}

TEST(Fp8, MatricesAreGatheredInEightBitsOnRequest) {
  const auto gathered = [](testing::Settings settings) {
    const Workload w = prepared(std::move(settings), gpt(), 8);
    const Body& body = layer(w);
    return (body.gathered.value > 0 ? body.forward.front() : body.gather.back()).bytes.value;
  };
  EXPECT_EQ(gathered({"precision=fp8", "zero=3"}), 2 * (kMatrices + kOthers));
  for (const char* zero : {"zero=1", "zero=2", "zero=3"})
    EXPECT_EQ(gathered({"precision=fp8", zero, "fp8.weights=fp8"}), kMatrices + 2 * kOthers);
  EXPECT_EQ(gathered({"precision=fp8", "zero=3", "fp8.gather-fp8=true"}), kMatrices + 2 * kOthers);
  EXPECT_EQ(gathered({"precision=fp8", "zero=1", "fp8.gather-fp8=true"}),
            2 * (kMatrices + kOthers));
}

// The ranks that cast parts of a matrix agree on one number for each of the four.
TEST(Fp8, RanksAgreeOnTheLargestSizeOfEachMatrix) {
  const auto agreed = [](testing::Settings settings) {
    const Workload w = prepared(std::move(settings), gpt(), 8);
    std::int64_t bytes = 0;
    for (const BodyOp& op : layer(w).gather)
      if (op.collective == CollectiveKind::AllReduce) bytes += op.bytes.value;
    return bytes;
  };
  EXPECT_EQ(agreed({"precision=fp8", "zero=3"}), 0);
  EXPECT_EQ(agreed({"precision=fp8", "fp8.weights=fp8"}), 0);
  EXPECT_EQ(agreed({"precision=fp8", "zero=3", "fp8.gather-fp8=true"}), 4 * 4);
  EXPECT_EQ(agreed({"precision=fp8", "zero=1", "fp8.weights=fp8"}), 4 * 4);
}

// A table that another block reads too is no weight that is kept in 8 bits, even where a product of
// a layer reads it.
TEST(Fp8, WeightsThatOthersReadStayInSixteenBits) {
  Model model = gpt();
  const std::vector<bool> narrow = narrow_weights(model, 1);
  EXPECT_EQ(std::count(narrow.begin(), narrow.end(), true), 4);
  Graph& graph = model.blocks[1].graph;
  const auto first =
      static_cast<std::size_t>(std::find(narrow.begin(), narrow.end(), true) - narrow.begin());
  model.blocks[2].graph.tensors[0].tied_to = model.blocks[1].name + "/" + graph.tensors[first].name;
  const std::vector<bool> left = narrow_weights(model, 1);
  EXPECT_EQ(std::count(left.begin(), left.end(), true), 3);
  EXPECT_FALSE(left[first]);
}

// Transformer Engine scales weights by tiles where it scales blocks of other operands' rows.
TEST(Fp8, WeightsOfTilesAreKeptAndGatheredAsThoseOfATensor) {
  for (const testing::Settings& words :
       {testing::Settings{"fp8.weights=fp8", "zero=1"}, {"fp8.gather-fp8=true", "zero=3"}}) {
    testing::Settings tensor = words, tiles = words;
    tensor.insert(tensor.begin(), {"precision=fp8", "fp8.scaling=tensor"});
    tiles.insert(tiles.begin(), {"precision=fp8", "fp8.scaling=block"});
    const Workload one = prepared(tensor, gpt(), 8), many = prepared(tiles, gpt(), 8);
    EXPECT_EQ(state_bytes(layer(many), many.layout).weights,
              state_bytes(layer(one), one.layout).weights);
    EXPECT_EQ(testing::collectives(layer(many).gather), testing::collectives(layer(one).gather));
  }
}

TEST(Fp8, EightBitWeightsHaveNoScaleForARow) {
  const auto found = [](testing::Settings words, std::int64_t devices = 8) {
    words.insert(words.begin(), "precision=fp8");
    std::string all;
    for (const Diagnostic& d :
         testing::check_of("fp8", scenario(gpt(), devices, words, "h100-sxm")))
      all += d.message + "; try " + d.fix + "\n";
    return all;
  };
  EXPECT_EQ(found({"fp8.weights=fp8", "zero=3"}), "");
  EXPECT_EQ(found({"fp8.gather-fp8=true", "zero=3"}), "");
  EXPECT_EQ(found({"fp8.scaling=row", "fp8.gather-fp8=true"}),
            "weights are gathered in 8 bits with one scale for a tensor or a tile: a scale for a "
            "row serves the product that sums over rows, and the transposed one would need the "
            "numbers before the cast; try fp8.scaling=tensor\n");
  EXPECT_EQ(found({"fp8.scaling=block", "fp8.weights=fp8", "zero=1"}), "");
  EXPECT_EQ(found({"fp8.weights=fp8", "schedule=pipedream", "pp=2"}),
            "the scale of a weight that is kept or gathered in 8 bits is agreed at the end of a "
            "step, and pipedream updates while microbatches are under way; try schedule=1f1b\n");
  EXPECT_EQ(found({"fp8.gather-fp8=true", "zero=3", "offload=optimizer"}), "");
}

// Replicated weights are cast once a step, gathered ones with every gather, unless they come cast.
TEST(Fp8, WeightsAreCastWhereTheyAreWhole) {
  const auto written = [](const std::vector<BodyOp>& ops) {
    return std::accumulate(ops.begin(), ops.end(), std::int64_t{0},
                           [](std::int64_t sum, const BodyOp& o) {
                             return sum + (o.communication ? 0 : o.work.written.value);
                           });
  };
  const Workload plain = prepared({"precision=bf16"}), fp8 = prepared({"precision=fp8"});
  EXPECT_EQ(written(layer(fp8).update) - written(layer(plain).update), 2 * kMatrices);
  const Workload sharded = prepared({"precision=fp8", "zero=3"}, gpt(), 8),
                 narrow = prepared({"precision=fp8", "zero=3", "fp8.gather-fp8=true"}, gpt(), 8);
  EXPECT_EQ(written(layer(narrow).update) - written(layer(sharded).update), kMatrices / 8);
  EXPECT_EQ(written(layer(sharded).forward) - written(layer(narrow).forward), kMatrices);
  EXPECT_EQ(written(layer(sharded).backward) - written(layer(narrow).backward), kMatrices);
}

// Tensor parallel puts its collectives around a product with its cast, once.
TEST(Fp8, TensorParallelTrafficStaysAsItWas) {
  const testing::Settings split = {"tp=2", "sequence-parallel=on"};
  auto with = [&](std::string_view precision) {
    testing::Settings settings = split;
    settings.push_back(precision);
    return prepared(std::move(settings), gpt(), 2);
  };
  const Workload bf16 = with("precision=bf16"), fp8 = with("precision=fp8");
  EXPECT_EQ(testing::collectives(layer(fp8).forward), testing::collectives(layer(bf16).forward));
  EXPECT_EQ(testing::collectives(layer(fp8).backward), testing::collectives(layer(bf16).backward));
}

TEST(Fp8, ScalingIsAFormat) {
  EXPECT_EQ(prepared({"precision=fp8", "fp8.scaling=row"}).layout.precision.math, DType::F8Row);
  EXPECT_EQ(prepared({"precision=fp8", "fp8.scaling=block"}).layout.precision.math, DType::F8Block);
}

TEST(Fp8, LargeProductsAreFasterThanInSixteenBits) {
  const auto step = [](testing::Settings settings) {
    const Scenario s = scenario(gpt({.layers = 4, .hidden = 8192, .heads = 64, .sequence = 4096}),
                                1, settings, "h200-sxm");
    return estimate_step(prepare(s), *physical_cost_model(s)).step.count();
  };
  EXPECT_LT(step({"precision=fp8"}), 0.8 * static_cast<double>(step({"precision=bf16"})));
}

TEST(Fp8, NeedsADeviceWithItsPeak) {
  const Diagnostics found = testing::check_of("fp8", scenario(gpt(), 8, {"precision=fp8"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "fp8 needs a device with a fp8 peak; A100 80GB has fp32, tf32, fp16, bf16");
  EXPECT_EQ(found[0].fix, "precision=bf16");
}

}  // namespace
}  // namespace trainyard
