// Tests that backends train sparse weights that trade blocks with each other: how many there are,
// where they are held, and that replicas, the reference and resumed runs trade alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "backends/reference/reference_backend.h"
#include "core/model/sparse_pattern.h"
#include "core/model/zoo/builders.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::train_on_cpu;
using testing::with;

Training steps_of_trade(std::int64_t count) {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = count;
  t.epsilon = 0.01;
  return t;
}

const Settings& across() {
  static const Settings list = {"global-batch=8",  "micro-batch=2",          "sparsity=0.75",
                                "sparse-every=2",  "sparse-regrowth=across", "sparse-capacity=2",
                                "sparse-drop=0.5", "optimizer=momentum"};
  return list;
}

// Layers of different widths, so that weights of one are larger than those of others.
Model uneven() { return build_mlp({"mlp", 12, 24, 2, 8}); }

// The blocks that each sparse weight of a run stores; fails where what lies behind them is not
// zero.
std::vector<std::int64_t> stored_blocks(const CpuRun& run,
                                        const std::vector<TrainedTensor>& parameters) {
  std::vector<std::int64_t> counts;
  int layer = 0;
  for (const Block& block : run.workload.scenario.model.blocks) {
    for (int l = layer; l < layer + block.count; ++l)
      for (const Node& node : block.graph.nodes)
        if (const auto weight = sparse_weight_of(block.graph, node)) {
          const auto named = [&](TensorId id) {
            return std::find_if(parameters.begin(), parameters.end(), [&](const TrainedTensor& t) {
              return t.layer == l && t.name == block.graph[id].name;
            });
          };
          const auto places = places_of(weight->shape, named(weight->pattern)->values);
          const std::vector<float>& values = named(weight->values)->values;
          const auto used = static_cast<std::ptrdiff_t>(places.size()) * weight->shape.block;
          EXPECT_EQ(static_cast<std::int64_t>(values.size()), weight->shape.room());
          EXPECT_EQ(std::count(values.begin() + used, values.end(), 0.0F),
                    std::distance(values.begin() + used, values.end()));
          EXPECT_LE(static_cast<std::int64_t>(places.size()), weight->shape.blocks);
          counts.push_back(static_cast<std::int64_t>(places.size()));
        }
    layer += block.count;
  }
  return counts;
}

// The number of stored blocks is that of the start, and no two layers need have kept theirs.
TEST(SparseAcross, WeightsTradeBlocksAndTheirNumberStays) {
  for (const char* rule :
       {"optimizer=momentum", "optimizer=adamw", "optimizer=lion", "optimizer=lamb"})
    for (const char* format : {"precision=fp32", "precision=bf16", "precision=bf16-sr"}) {
      SCOPED_TRACE(std::string(rule) + " " + format);
      const CpuRun run =
          train_on_cpu(uneven(), 1, with(across(), {rule, format}), steps_of_trade(8));
      const std::vector<std::int64_t> before = stored_blocks(run, run.initial),
                                      after = stored_blocks(run, run.parameters);
      ASSERT_EQ(before.size(), 4u);
      EXPECT_NE(before, after);
      EXPECT_EQ(std::accumulate(before.begin(), before.end(), std::int64_t{0}),
                std::accumulate(after.begin(), after.end(), std::int64_t{0}));
    }
}

// Law: replicas trade as one device does, of convolutions too, and so does the reference.
TEST(SparseAcross, ReplicasAndTheReferenceTradeAlike) {
  for (const Model& model : {uneven(), testing::tiny_convnet(2)}) {
    const CpuRun one = train_on_cpu(model, 1, across(), steps_of_trade(7));
    for (const Settings& plan : std::vector<Settings>{{"dp=2"}, {"recompute=full"}})
      testing::expect_same_training(train_on_cpu(model, plan.front() == "dp=2" ? 2 : 1,
                                                 with(across(), plan), steps_of_trade(7)),
                                    one, 1e-5);
    const Training training = steps_of_trade(7);
    const testing::SampleNumbers source;
    const TaskPrices prices = price(one.program, one.workload.scenario.plan.mesh,
                                    one.workload.scenario.cluster, *roofline_cost_model());
    ReferenceBackend exact({one.workload, one.program, prices, &training, &source});
    exact.run();
    EXPECT_LT(testing::apart(one.parameters, exact.parameters()), 1e-5);
  }
}

// Law: capacity is room and nothing else. Weights that never trade train as those without room.
TEST(SparseAcross, RoomAloneChangesNothing) {
  const Settings still = with(across(), {"sparse-drop=0"});
  const CpuRun with_room = train_on_cpu(uneven(), 1, still, steps_of_trade(4)),
               without =
                   train_on_cpu(uneven(), 1, with(still, {"sparse-capacity=1"}), steps_of_trade(4));
  EXPECT_EQ(with_room.run.losses, without.run.losses);
  const auto held = [](const CpuRun& run) {
    return run.run.memory.front()
        .most_by_category[static_cast<std::size_t>(Category::OptimizerState)]
        .value;
  };
  EXPECT_GT(held(with_room), held(without));
}

// Predicted and measured peaks are equal while weights trade.
TEST(SparseAcross, TheArenaHoldsTheRoomThatTheProgramSays) {
  for (const char* format : {"precision=fp32", "precision=bf16"}) {
    const CpuRun run =
        train_on_cpu(uneven(), 1, with(across(), {format, "optimizer=adam"}), steps_of_trade(5));
    std::int64_t room = 0, pattern = 0, other = 0;
    for (const TrainedTensor& t : run.parameters) {
      const auto count = static_cast<std::int64_t>(t.values.size());
      const bool sparse = t.shape.size() > 1 && t.name.ends_with("weight");
      (t.name.ends_with(".pattern") ? pattern : sparse ? room : other) += count;
    }
    const auto held = [&](Category category) {
      return run.run.memory.front().most_by_category[static_cast<std::size_t>(category)].value;
    };
    const int each = std::string(format).ends_with("fp32") ? 4 : 2;
    EXPECT_EQ(held(Category::Weights), each * (room + pattern + other));
    EXPECT_EQ(held(Category::OptimizerState), (each == 4 ? 8 : 12) * (room + other));
    EXPECT_GT(room, 2 * (288 + 576 + 576 + 192) / 4 - 4);
  }
}

TEST(SparseAcross, GoesOnFromACheckpointAsIfItHadNotStopped) {
  const Training training = steps_of_trade(9);
  for (const char* format : {"precision=fp32", "precision=bf16"}) {
    SCOPED_TRACE(format);
    const CpuRun whole =
        train_on_cpu(uneven(), 1, with(across(), {format, "optimizer=adam"}), training);
    const TaskPrices prices = price(whole.program, whole.workload.scenario.plan.mesh,
                                    whole.workload.scenario.cluster, *roofline_cost_model());
    const testing::SampleNumbers source;
    const BackendJob job{whole.workload, whole.program, prices, &training, &source};
    CpuOptions first, second;
    first.until = 5;
    CpuBackend before(job, first);
    before.run();
    second.from = std::make_shared<const Checkpoint>(before.state());
    CpuBackend after(job, second);
    EXPECT_EQ(after.run().losses, whole.run.losses);
    EXPECT_EQ(testing::apart(after.parameters(), whole.parameters), 0);
  }
}

}  // namespace
}  // namespace trainyard
