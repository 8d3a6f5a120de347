// Tests what optimizers keep by tensor, as memory is predicted with it, and the table of bytes per
// parameter of MEM-04.
#include "core/methods/precision/tensor_state.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::Settings;

StateBytes state_of(const Workload& w) {
  StateBytes sum;
  for (const std::vector<Workload::Run>& runs : w.runs)
    for (const Workload::Run& run : runs) {
      const StateBytes one = state_bytes(w.scenario.plan, w.scenario.model,
                                         w.bodies[static_cast<std::size_t>(run.body)], w.layout);
      sum.weights += one.weights * run.count;
      sum.gradients += one.gradients * run.count;
      sum.optimizer += one.optimizer * run.count;
    }
  return sum;
}

std::int64_t parameters_of(const Workload& w) {
  std::int64_t sum = 0;
  for (const std::vector<Workload::Run>& runs : w.runs)
    for (const Workload::Run& run : runs)
      sum += w.bodies[static_cast<std::size_t>(run.body)].parameters.dense * run.count;
  return sum;
}

double bytes_per_parameter(std::string_view optimizer, const Settings& precision) {
  const std::string rule = "optimizer=" + std::string(optimizer);
  Settings settings = precision;
  settings.push_back(rule);
  const Workload w = prepare(testing::scenario(testing::gpt(), 1, settings));
  const StateBytes state = state_of(w);
  return static_cast<double>((state.weights + state.gradients + state.optimizer).value) /
         static_cast<double>(parameters_of(w));
}

// Weights, gradients and state; pure bf16 rounds to the nearest, and with Kahan's compensation.
TEST(TensorState, BytesPerParameterAreThoseOfTheTable) {
  struct Row {
    const char* optimizer;
    std::array<double, 4> bytes;  // fp32, mixed with a master copy, pure bf16, bf16-kahan
    double above = 0;             // at most so much of one byte for scales, rows and columns
  };
  // Muon has no row: it keeps two moments of tables, vectors and the head, and one of all others.
  const Row rows[] = {{"sgd", {8, 8, 4, 6}},
                      {"momentum", {12, 12, 6, 8}},
                      {"lars", {12, 12, 6, 8}},
                      {"adam", {16, 16, 8, 10}},
                      {"lamb", {16, 16, 8, 10}},
                      {"adafactor", {8, 8, 4, 6}, 0.02},
                      {"adamw-8bit", {10, 10, 6, 8}, 8.0 / 256 + 0.001}};
  const std::array<Settings, 4> precisions = {{{"precision=fp32"},
                                               {"precision=bf16", "gradient-dtype=bf16"},
                                               {"precision=bf16-nearest"},
                                               {"precision=bf16-kahan"}}};
  for (const Row& row : testing::non_empty(rows))
    for (std::size_t p = 0; p < row.bytes.size(); ++p) {
      const double found = bytes_per_parameter(row.optimizer, precisions[p]);
      EXPECT_GE(found, row.bytes[p]) << row.optimizer << " " << precisions[p].front();
      EXPECT_LE(found, row.bytes[p] + row.above) << row.optimizer << " " << precisions[p].front();
      // Something comes above the table's bytes exactly where the row says so.
      EXPECT_EQ(found > row.bytes[p], row.above > 0)
          << row.optimizer << " " << precisions[p].front();
    }
}

// Blocks are counted from the start of the tensor.
TEST(TensorState, ScalesAreOneForEachBlockThatAPartTouches) {
  const auto bytes = [](std::int64_t first, std::int64_t elements) {
    return tensor_state_bytes(kAdamw8bit, {}, first, elements, 4).value;
  };
  EXPECT_EQ(bytes(0, 256), 2 * 256 + 8);
  EXPECT_EQ(bytes(0, 257), 2 * 257 + 16);
  EXPECT_EQ(bytes(255, 2), 2 * 2 + 16);
  EXPECT_EQ(bytes(512, 1), 2 + 8);
  EXPECT_EQ(bytes(7, 0), 0);
}

// However ranks cut a tensor, they hold its state, and a scale more for each block that is cut.
TEST(TensorState, CutsCostAScaleForEachBlockThatTheyCut) {
  EXPECT_TRUE(rc::check([] {
    const auto elements = *rc::gen::inRange<std::int64_t>(1, 5000);
    const std::set<std::int64_t> cuts =
        *rc::gen::container<std::set<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, elements));
    std::int64_t held = 0, from = 0, within = 0;
    const auto hold_until = [&](std::int64_t end) {
      held += tensor_state_bytes(kAdamw8bit, {}, from, end - from, 4).value;
      from = end;
    };
    for (const std::int64_t cut : cuts) {
      hold_until(cut);
      within += cut % kStateBlock != 0;
    }
    hold_until(elements);
    RC_ASSERT(held == tensor_state_bytes(kAdamw8bit, {}, 0, elements, 4).value + 8 * within);
  }));
}

TEST(TensorState, MatricesAreSeenByTheirRowsAndColumns) {
  const Model gpt = testing::tiny_transformer({.tied = true});
  std::size_t hidden = 0, tables = 0, vectors = 0;
  for (const Block& block : gpt.blocks)
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t) {
      const Tensor& tensor = block.graph.tensors[t];
      if (tensor.kind != TensorKind::Parameter) continue;
      const MatrixShape shape = matrix_shape(block.graph, {t}, {});
      if (tensor.shape.size() < 2) {
        EXPECT_EQ(shape, MatrixShape{});
        ++vectors;
        continue;
      }
      EXPECT_EQ(shape.rows, tensor.shape[0].size) << tensor.name;
      EXPECT_EQ(shape.hidden, block.layer) << block.name << " " << tensor.name;
      shape.hidden ? ++hidden : ++tables;
    }
  EXPECT_GT(hidden, 0u);
  EXPECT_GT(tables, 1u);
  EXPECT_GT(vectors, 0u);
  // A kernel is one matrix, and so is each expert.
  const Model convnet = testing::tiny_convnet(1);
  for (const Tensor& t : convnet.blocks[0].graph.tensors)
    if (t.shape.size() == 4 && t.kind == TensorKind::Parameter) {
      const auto id = static_cast<std::uint32_t>(&t - convnet.blocks[0].graph.tensors.data());
      EXPECT_EQ(matrix_shape(convnet.blocks[0].graph, {id}, {}), (MatrixShape{1, 2, 9, true}));
    }
  const Model routed = testing::tiny_transformer({.family = "mixtral", .experts = 4});
  std::size_t experts = 0;
  for (const Block& block : routed.blocks)
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t)
      if (block.graph.tensors[t].kind == TensorKind::Parameter)
        experts += matrix_shape(block.graph, {t}, {}).matrices == 4;
  EXPECT_GT(experts, 0u);
}

// The rank with the most counts: its share of the elements, and a scale more where it cuts blocks.
TEST(TensorState, OfDividedStateTheFullestRankCounts) {
  for (const int replicas : {2, 4, 8}) {
    const std::string dp = "dp=" + std::to_string(replicas);
    const Workload w = prepare(testing::scenario(
        testing::gpt(), replicas, {"optimizer=adamw-8bit", "precision=fp32", "zero=1", dp}));
    const StateBytes state = state_of(w);
    const double elements = static_cast<double>(parameters_of(w)) / replicas,
                 found = static_cast<double>(state.optimizer.value);
    EXPECT_GE(found, elements * (2 + 8.0 / 256));
    EXPECT_LE(found, elements * (2 + 8.0 / 256) * 1.001);
  }
}

// X X', A A and B X of [r, c] take 2 r r c, 2 r r r and 2 r r c floating-point operations.
TEST(TensorState, MuonsProductsArePricedInTheUpdate) {
  const Workload w = prepare(
      testing::scenario(testing::tiny_mlp(3), 1, {"optimizer=muon", "precision=fp32"}, "cpu"));
  const Workload plain = prepare(
      testing::scenario(testing::tiny_mlp(3), 1, {"optimizer=momentum", "precision=fp32"}, "cpu"));
  double expected = 0, found = 0;
  for (const Body& body : w.bodies) {
    const Block& block = w.scenario.model.blocks[static_cast<std::size_t>(body.block)];
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t) {
      if (block.graph.tensors[t].kind != TensorKind::Parameter) continue;
      const MatrixShape shape = matrix_shape(block.graph, {t}, body.binding);
      if (!shape.hidden) continue;
      const auto r = static_cast<double>(std::min(shape.rows, shape.columns)),
                 c = static_cast<double>(std::max(shape.rows, shape.columns));
      expected += 5 * (4 * r * r * c + 2 * r * r * r);
    }
    for (const BodyOp& op : body.update) found += op.work.flops.value;
  }
  EXPECT_GT(expected, 0);
  EXPECT_EQ(found, expected);
  for (const Body& body : plain.bodies)
    for (const BodyOp& op : body.update) EXPECT_EQ(op.work.flops.value, 0);
}

TEST(TensorState, WhatDividesATensorIsRefusedInASentence) {
  const auto refused = [](const Settings& settings, std::int64_t devices) {
    Settings all = {"precision=fp32", "global-batch=8"};
    all.insert(all.end(), settings.begin(), settings.end());
    std::string text;
    for (const Diagnostic& d : check(testing::scenario(testing::gpt(), devices, all)))
      if (d.severity == Diagnostic::Severity::Error) text += d.message + " | " + d.fix + "\n";
    return text;
  };
  for (const char* rule : {"adafactor", "muon"}) {
    const std::string optimizer = "optimizer=" + std::string(rule);
    const std::string does = std::string(rule) == "muon"
                                 ? "muon makes the rows of whole matrices orthogonal"
                                 : "adafactor takes the means of whole rows and columns";
    EXPECT_EQ(refused({optimizer, "tp=2"}, 2),
              does +
                  ", and tensor ranks have parts of them, found tp=2; tp=1 goes with it, or "
                  "optimizer=adamw | tp=1\n");
    EXPECT_EQ(refused({optimizer, "zero=1", "dp=2"}, 2),
              does +
                  ", and zero=1 leaves each replica a range of elements; zero=0 goes with it, "
                  "or optimizer=adamw | zero=0\n");
    EXPECT_EQ(refused({optimizer, "dp=2"}, 2), "");
  }
  EXPECT_EQ(refused({"optimizer=adamw-8bit", "tp=2", "dp=2", "zero=3"}, 4), "");
  for (const char* rule : {"adamw-8bit", "adafactor", "muon"}) {
    const std::string optimizer = "optimizer=" + std::string(rule);
    EXPECT_EQ(refused({optimizer, "offload=optimizer"}, 1),
              "the host keeps as many bytes of every parameter, and " + std::string(rule) +
                  " keeps its state by tensor on the device, found offload=optimizer | "
                  "offload=none\n");
    EXPECT_EQ(refused({optimizer, "dp=2", "compression=topk"}, 2),
              std::string(rule) +
                  " keeps its state by tensor, beside which what a replica has not "
                  "sent has no place | compression=none\n");
    EXPECT_EQ(refused({optimizer, "dp=2", "sync=local-sgd"}, 2),
              "replicas that meet once in several steps share as much of every parameter, and " +
                  std::string(rule) + " keeps its state by tensor | sync=bsp\n");
  }
}

}  // namespace
}  // namespace trainyard
