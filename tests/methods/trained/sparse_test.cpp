// Tests sparse weights in plans: what becomes sparse, what it takes, and what is refused.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/cost/physical.h"
#include "core/io/documents/model_json.h"
#include "core/lowering/phases.h"
#include "core/model/ops.h"
#include "core/model/sparse_pattern.h"
#include "core/model/sparse_weights.h"
#include "core/model/trained_parts.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::refusal;
using testing::scenario;

Workload prepared(const Model& model, testing::Settings settings) {
  settings.insert(settings.begin(), "precision=fp32");  // unless the test says otherwise
  return prepare(scenario(model, 1, settings));
}

StateBytes state_of(const Workload& w) {
  StateBytes sum;
  for (const auto& runs : w.runs)
    for (const Workload::Run& run : runs) {
      const StateBytes one = state_bytes(w.bodies[static_cast<std::size_t>(run.body)], w.layout);
      sum.weights += Bytes{one.weights.value * run.count};
      sum.gradients += Bytes{one.gradients.value * run.count};
      sum.optimizer += Bytes{one.optimizer.value * run.count};
    }
  return sum;
}

// The stored weights of all products, their patterns' numbers, and what stays dense.
struct Counted {
  std::int64_t stored = 0, numbers = 0, dense = 0;
};
Counted counted(const Model& model) {
  Counted sum;
  for (const Block& block : model.blocks)
    for (std::uint32_t t = 0; t < block.graph.tensors.size(); ++t) {
      const Tensor& tensor = block.graph.tensors[t];
      if (tensor.kind != TensorKind::Parameter || !tensor.tied_to.empty()) continue;
      const std::int64_t elements = block.count * local_elements(tensor.shape, Binding{});
      const auto sparse = sparse_weight_of(block.graph, TensorId{t});
      (!sparse ? sum.dense : sparse->values == TensorId{t} ? sum.stored : sum.numbers) += elements;
    }
  return sum;
}

TEST(Sparse, WeightsGradientsAndStateAreThoseThatAreStored) {
  for (const char* block : {"sparse-block=1", "sparse-block=4"})
    for (const auto& [format, weight, gradient, optimizer] : {std::tuple{"precision=fp32", 4, 4, 8},
                                                              {"precision=bf16", 2, 4, 12},
                                                              {"precision=bf16-sr", 2, 2, 4}}) {
      const Workload w = prepared(zoo_model("mlp-small"), {format, "optimizer=adam", "sparsity=0.9",
                                                           block, "micro-batch=4"});
      const Counted c = counted(w.scenario.model);
      EXPECT_GT(c.stored, 0);
      const StateBytes state = state_of(w);
      EXPECT_EQ(state.weights.value, weight * (c.stored + c.dense + c.numbers)) << format;
      EXPECT_EQ(state.gradients.value, gradient * (c.stored + c.dense)) << format;
      EXPECT_EQ(state.optimizer.value, optimizer * (c.stored + c.dense)) << format;
      EXPECT_EQ(trained_parameters(w.scenario.model), c.stored + c.dense);
    }
}

// The formula of the sheet, and 4 bytes a row beside it.
TEST(Sparse, StorageIsThatOfTheFormula) {
  const Workload w = prepared(testing::tiny_mlp(2), {"sparsity=0.5", "sparse-block=2"});
  std::int64_t bytes = 0;
  for (const Block& block : w.scenario.model.blocks)
    for (const Node& node : block.graph.nodes)
      if (const auto weight = sparse_weight_of(block.graph, node)) {
        const SparseShape& s = weight->shape;
        EXPECT_EQ(s.stored(), s.rows * s.columns / 2);
        EXPECT_EQ(sparse_bytes(s, 4).value, s.stored() * 4 + s.stored() / 2 * 4 + s.rows * 4);
        bytes += block.count * sparse_bytes(s, 4).value;
      }
  const Counted c = counted(w.scenario.model);
  EXPECT_EQ(state_of(w).weights.value, bytes + 4 * c.dense);
}

// B-MEM-07: of whole models in programs, where coarse weights take as many bytes as fine ones. In
// 16 bits an index of 512 single weights is two digits, and one of 32 blocks a digit, as are
// counts.
TEST(Sparse, CoarseAndFineModelsTakeAsMuchAtTheDensityOfTheFormula) {
  for (const auto& [width, format, digits, near] :
       {std::tuple{256, "precision=fp32", 1, 0.001}, {512, "precision=bf16", 2, 0.003}}) {
    const Model model = build_mlp({"mlp", width, width, 3, width});
    const auto weights = [&, form = format](const std::string& sparsity, const char* block) {
      return state_of(prepared(model, {form, sparsity, block})).weights.value;
    };
    const double fine = 0.1, crossover = equal_bytes_density(fine, 1, 16, digits);
    const std::int64_t bytes = weights("sparsity=0.9", "sparse-block=1");
    const std::string below = "sparsity=" + std::to_string(1 - (crossover - near)),
                      above = "sparsity=" + std::to_string(1 - (crossover + near));
    EXPECT_LT(weights(below, "sparse-block=16"), bytes);
    EXPECT_GT(weights(above, "sparse-block=16"), bytes);
  }
}

TEST(Sparse, SaysWhereMatricesWouldTakeLess) {
  const Model model = build_mlp({"mlp", 256, 256, 3, 256});
  const auto said = [&](const char* sparsity, const char* block) {
    Scenario s = scenario(model, 1, {"precision=fp32", sparsity, block});
    std::string text;
    for (const Diagnostic& d : check(s))
      if (d.place.text.starts_with("plan#/choices/sparse")) text += d.message + "; " + d.fix + "\n";
    return text;
  };
  EXPECT_EQ(said("sparsity=0.9", "sparse-block=16"), "");
  EXPECT_EQ(said("sparsity=0.9", "sparse-block=1"),
            "blocks of 16 share an index, and take as many bytes at a sparsity of 0.812 as blocks "
            "of 1 at 0.900; \n");
  EXPECT_EQ(
      said("sparsity=0.4", "sparse-block=1"),
      "sparse weights take 1578 kB with their indices, and matrices 1280 KiB; sparsity=0.502\n");
}

TEST(Sparse, WarnsWhereMostWeightsStayDense) {
  const auto warned = [](const Model& model, const char* block) {
    Scenario s = scenario(model, 1, {"precision=fp32", "sparsity=0.9", block});
    for (const Diagnostic& d : check(s))
      if (d.message.find("stay dense") != std::string::npos) {
        EXPECT_EQ(d.severity, Diagnostic::Severity::Warning);
        return d.message;
      }
    return std::string();
  };
  EXPECT_EQ(warned(zoo_model("resnet-20"), "sparse-block=1"), "");
  EXPECT_EQ(warned(testing::tiny_convnet(1), "sparse-block=2"),
            "57.6 % of the weights stay dense, 28.2 % of all in head/fc.weight");
}

// An index among 256 takes a digit, and one among more of them two or three.
TEST(Sparse, PatternsIn16BitsHaveAsManyDigitsAsTheirRowsAreLong) {
  for (const auto& [width, digits] : {std::pair{256, 1}, {257, 2}, {65536, 2}, {65537, 3}}) {
    const Workload w =
        prepared(build_mlp({"mlp", 2, width, 1, 2}), {"precision=bf16", "sparsity=0.9"});
    const Graph& graph = w.scenario.model.blocks.front().graph;
    EXPECT_EQ(sparse_weight_of(graph, graph.nodes.front())->shape.digits, digits) << width;
  }
}

TEST(Sparse, WorkIsThatOfWhatIsStored) {
  const Model model = zoo_model("mlp-small");
  const Workload dense = prepared(model, {"micro-batch=8"}),
                 sparse = prepared(model, {"micro-batch=8", "sparsity=0.75", "sparse-every=0"});
  for (std::size_t b = 0; b < sparse.bodies.size(); ++b)
    for (const auto ops : {&Body::forward, &Body::backward})
      for (std::size_t i = 0; i < (sparse.bodies[b].*ops).size(); ++i) {
        const BodyOp &now = (sparse.bodies[b].*ops)[i], &before = (dense.bodies[b].*ops)[i];
        ASSERT_EQ(now.name, before.name);
        if (before.work.kind != WorkKind::Product) continue;
        EXPECT_NEAR(now.work.flops.value / before.work.flops.value, 0.25, 1e-3) << now.name;
        EXPECT_LT(now.work.read.value, before.work.read.value + before.work.written.value);
      }
}

// Convolutions are dense while they run: as many FLOPs, and more bytes, which decode the weight.
TEST(Sparse, ConvolutionsWorkAsDenseOnesAndReadWhatIsStored) {
  const Model model = zoo_model("resnet-20");
  const Workload dense = prepared(model, {"micro-batch=8"}),
                 sparse = prepared(model, {"micro-batch=8", "sparsity=0.9", "sparse-every=0"});
  int convolutions = 0;
  for (std::size_t b = 0; b < sparse.bodies.size(); ++b)
    for (const auto ops : {&Body::forward, &Body::backward})
      for (std::size_t i = 0; i < (sparse.bodies[b].*ops).size(); ++i) {
        const BodyOp &now = (sparse.bodies[b].*ops)[i], &before = (dense.bodies[b].*ops)[i];
        ASSERT_EQ(now.name, before.name);
        if (before.work.kind != WorkKind::Product || before.name.find("fc") != std::string::npos)
          continue;
        ++convolutions;
        EXPECT_EQ(now.work.flops.value, before.work.flops.value) << now.name;
        EXPECT_GT(now.work.read.value, before.work.read.value) << now.name;
        EXPECT_GT(now.work.written.value, before.work.written.value) << now.name;
      }
  EXPECT_GT(convolutions, 40);
}

// A layer of 8192 inputs, 2048 outputs and 128 rows, whose sparse form overtakes the dense one at
// 71 % on a V100 (Gale et al., SC 2020).
TEST(Sparse, ProductsOvertakeDenseOnesWherePublishedOnesDo) {
  const Model model = build_mlp({"mlp", 8192, 2048, 1, 16});
  const auto forward = [&](const testing::Settings& more) {
    testing::Settings settings = {"precision=fp32", "micro-batch=128"};
    settings.insert(settings.end(), more.begin(), more.end());
    const Workload w = prepare(scenario(model, 1, settings, "v100-sxm2-32"));
    const auto cost = physical_cost_model(w.scenario);
    return cost->compute(w.bodies.front().forward.front().work, w.scenario.cluster.device);
  };
  const Duration dense = forward({});
  EXPECT_GT(forward({"sparsity=0.6"}), dense);
  EXPECT_LT(forward({"sparsity=0.8"}), dense);
}

// A move is part of the update: it reads and writes all that it may move, once in so many steps.
TEST(Sparse, MovesArePartOfTheUpdate) {
  const Model model = testing::tiny_mlp(2);
  const auto update_bytes = [&](const char* every) {
    std::int64_t sum = 0;
    for (const Body& body : prepared(model, {"sparsity=0.5", every, "optimizer=adam"}).bodies)
      for (const BodyOp& op : body.update) sum += op.work.read.value;
    return sum;
  };
  const std::int64_t still = update_bytes("sparse-every=0"), each = update_bytes("sparse-every=1"),
                     tenth = update_bytes("sparse-every=10");
  EXPECT_GT(each, still);
  EXPECT_NEAR(static_cast<double>(tenth - still), static_cast<double>(each - still) / 10, 3);
}

// Weights that trade blocks take memory for as many as each may come to store, and no more FLOPs
// than for those that they begin with.
TEST(Sparse, WeightsThatTradeBlocksTakeRoomForMore) {
  const Model model = testing::tiny_mlp(2);
  const auto with = [&](const char* regrowth, const char* capacity) {
    return prepared(model, {"sparsity=0.75", "optimizer=adam", regrowth, capacity});
  };
  const Workload still = with("sparse-regrowth=within", "sparse-capacity=2"),
                 trades = with("sparse-regrowth=across", "sparse-capacity=2"),
                 all = with("sparse-regrowth=across", "sparse-capacity=9");
  const Counted within = counted(still.scenario.model), across = counted(trades.scenario.model);
  EXPECT_EQ(across.stored, 2 * within.stored);
  EXPECT_EQ(across.dense, within.dense);
  EXPECT_EQ(counted(all.scenario.model).stored, 4 * within.stored) << "all that there is";
  EXPECT_EQ(state_of(trades).optimizer.value, 8 * (across.stored + across.dense));
  EXPECT_EQ(state_of(trades).gradients.value, 4 * (across.stored + across.dense));
  EXPECT_EQ(trained_parameters(trades.scenario.model), within.stored + within.dense);
  const auto flops = [](const Workload& w) {
    double sum = 0;
    for (const Body& body : w.bodies)
      for (const BodyOp& op : body.forward) sum += op.work.flops.value;
    return sum;
  };
  EXPECT_EQ(flops(trades), flops(still));
}

RC_GTEST_PROP(Sparse, TheGivenModelComesBack, ()) {
  const Model model =
      *rc::gen::element(testing::tiny_mlp(2), testing::tiny_transformer(),
                        testing::tiny_transformer({.tied = true}), testing::tiny_convnet(2));
  const SparseSpec spec{*rc::gen::inRange(1, 100) / 100.0, *rc::gen::element<std::int64_t>(1, 2),
                        *rc::gen::arbitrary<bool>(), *rc::gen::inRange(10, 40) / 10.0};
  Model changed;
  try {
    changed = with_sparse_weights(model, spec, {});
  } catch (const Error&) {
    RC_DISCARD("rows of other blocks");
  }
  RC_ASSERT(!is_as_given(changed));
  RC_ASSERT(write_model(as_given(changed)) == write_model(model));
}

// Tables, heads that share one, convolutions in groups, norms and biases stay dense, and so do rows
// that do not divide into blocks.
TEST(Sparse, SomeWeightsStayDense) {
  const auto sparse_names = [](const Model& model, std::int64_t block) {
    testing::Words names;
    for (const Block& b : with_sparse_weights(model, {0.5, block}, {}).blocks)
      for (const Node& node : b.graph.nodes)
        if (sparse_weight_of(b.graph, node)) names.push_back(node.name);
    return names;
  };
  EXPECT_EQ(sparse_names(testing::tiny_convnet(1), 1), (testing::Words{"conv", "conv", "fc"}));
  EXPECT_EQ(sparse_names(testing::tiny_convnet(1), 2), (testing::Words{"conv"}));
  for (const bool tied : {false, true}) {
    const testing::Words names = sparse_names(testing::tiny_transformer({.tied = tied}), 1);
    EXPECT_EQ(std::find(names.begin(), names.end(), "lm_head") == names.end(), tied);
    EXPECT_EQ(std::find(names.begin(), names.end(), "embedding"), names.end());
  }
  const testing::Words coarse = sparse_names(zoo_model("mlp-small"), 16);
  EXPECT_EQ(coarse.size(), 2u);  // but for the ten outputs
  EXPECT_EQ(
      refusal([] { with_sparse_weights(zoo_model("mlp-small"), {0.5, 1024}, {}); }),
      "expected a product or convolution whose weight is its own, of whole blocks of 1024 along "
      "its rows, found none in mlp-small");
}

TEST(Sparse, RefusesWhatDividesOrDelaysStoredWeights) {
  const Model model = testing::tiny_transformer();
  const auto sentence = [&](std::int64_t devices, testing::Settings settings) {
    settings.insert(settings.begin(), {"precision=fp32", "sparsity=0.5"});
    return refusal([&] { prepare(scenario(model, devices, settings)); });
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(sentence(2, {"tp=2"}), "found tp=2; try tp=1");
  has(sentence(2, {"zero=1"}), "zero=1 leaves it a part; try zero=0");
  has(sentence(1, {"precision=fp8"}), "found precision=fp8; try precision=bf16");
  has(sentence(2, {"pp=2", "schedule=pipedream"}), "pipedream updates while microbatches");
  has(sentence(1, {"lora=2"}), "found lora beside them; try lora=off");
  has(sentence(2, {"compression=topk"}), "found compression beside them");
  has(sentence(1, {"offload=optimizer"}), "try offload=none");
  has(sentence(2, {"pp=2", "sparse-regrowth=across"}),
      "trade blocks are all in one stage, found pp=2; try sparse-regrowth=within");
}

}  // namespace
}  // namespace trainyard
