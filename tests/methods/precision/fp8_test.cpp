#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::mixture;
using testing::scenario;

constexpr std::int64_t kTokens = 512, kHidden = 1024;

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

// 2 of bf16 and two casts beside them, or the casts alone; 4 of gradients, 12 of the optimizer.
TEST(Fp8, BytesOfAParameter) {
  const auto bytes = [](testing::Settings settings, std::int64_t devices) {
    const Workload w = prepared(std::move(settings), gpt(), devices);
    const Body& body = layer(w);
    const StateBytes state = state_bytes(body, w.layout);
    return static_cast<double>((state.weights + state.gradients + state.optimizer).value) /
           static_cast<double>(body.parameters.dense);
  };
  EXPECT_NEAR(bytes({"precision=bf16"}, 1), 18, 1e-9);
  EXPECT_NEAR(bytes({"precision=fp8"}, 1), 20, 1e-9);
  EXPECT_NEAR(bytes({"precision=fp8", "fp8.weights=fp8"}, 1), 18, 1e-9);
  EXPECT_NEAR(bytes({"precision=fp8", "zero=3"}, 8), 18.0 / 8, 1e-3);
  EXPECT_NEAR(bytes({"precision=fp8", "zero=3", "fp8.weights=fp8"}, 8), 17.0 / 8, 1e-3);
  EXPECT_NEAR(bytes({"precision=fp8", "gradient-dtype=bf16"}, 1), 18, 1e-9);
}

TEST(Fp8, FullyShardedWeightsAreGatheredInEightBitsOnRequest) {
  const auto gathered = [](testing::Settings settings) {
    const Workload w = prepared(std::move(settings), gpt(), 8);
    return layer(w).forward.front().bytes;
  };
  const Bytes bf16 = gathered({"precision=bf16", "zero=3"});
  EXPECT_EQ(gathered({"precision=fp8", "zero=3"}), bf16);
  EXPECT_EQ(gathered({"precision=fp8", "zero=3", "fp8.gather-fp8=true"}) * 2, bf16);
  EXPECT_EQ(gathered({"precision=fp8", "zero=3", "fp8.weights=fp8"}) * 2, bf16);
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
  EXPECT_EQ(written(layer(fp8).update) - written(layer(plain).update),
            2 * layer(plain).parameters.dense);
  const Workload sharded = prepared({"precision=fp8", "zero=3"}, gpt(), 8),
                 narrow = prepared({"precision=fp8", "zero=3", "fp8.gather-fp8=true"}, gpt(), 8);
  constexpr std::int64_t kMatrices = 12 * kHidden * kHidden;
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
