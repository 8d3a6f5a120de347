// Tests what tensor trains do to a model: which tables become cores, what these hold, what a
// look-up computes with and without a cache, and the way back to the tables.
#include "core/model/tensor_train.h"

#include <gtest/gtest.h>

#include "core/io/documents/model_json.h"
#include "core/model/hot_rows.h"
#include "core/model/trained_parts.h"
#include "core/model/trained_tables.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::layer;
using testing::scenario;
using testing::Settings;

const Place kTablesPlace{"here"};

Model million() { return build_recommender({"million", {1000000, 100}, 64, 13, {64}, {32, 1}}); }

Workload with_tables(const Model& model, const Settings& settings, std::int64_t devices = 1) {
  return prepare(scenario(model, devices, settings));
}

// Adam in 4-byte floats holds 16 bytes a number: 1 M x 64 come to 1,024 MB, and their cores of rank
// 32 to 435,200 numbers of 6.96 MB. The table of 100 rows stays.
TEST(TensorTrainTables, StateIsThatOfTheCores) {
  const Settings plain = {"precision=fp32", "global-batch=2048", "micro-batch=2048"};
  Settings trains = plain;
  trains.emplace_back("tt-rank=32");
  const Workload whole = with_tables(million(), plain), cores = with_tables(million(), trains);
  EXPECT_EQ(layer(whole).parameters.dense - layer(cores).parameters.dense,
            std::int64_t{64} * 1000000 - 435200);
  const auto sum = [](const Workload& w) {
    const StateBytes state = state_bytes(layer(w), w.layout);
    return (state.weights + state.gradients + state.optimizer).value;
  };
  EXPECT_EQ(sum(whole) - sum(cores), 16 * (std::int64_t{64} * 1000000 - 435200));
  const std::vector<TrainedTable> tables = trained_tables(cores.scenario.model);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].name, "tables.0");
  EXPECT_EQ(tables[0].train, tensor_train_of(1000000, 64, 32));
}

Work lookup_work(const Workload& w, Pass pass) {
  const Graph& graph = w.scenario.model.blocks[0].graph;
  for (const Node& node : graph.nodes)
    if (is_table_train(node))
      return node.op->work({graph, node, w.layout.binding, w.layout.precision}, pass);
  throw Error(Error::Kind::Internal, "no tensor train");
}

// 2 q1 r1 q2 r2 + 2 q1 q2 r2 q3 forward; backward makes the first product again and multiplies each
// of the two by both of its factors.
TEST(TensorTrainTables, ALookUpIsTwoProducts) {
  const Workload w = with_tables(million(), {"tt-rank=32", "global-batch=512", "micro-batch=512"});
  const double first = 2.0 * 4 * 32 * 4 * 32, second = 2.0 * 4 * 4 * 32 * 4;
  EXPECT_EQ(lookup_work(w, Pass::Forward).flops.value, 512 * (first + second));
  EXPECT_EQ(lookup_work(w, Pass::BackwardWeight).flops.value, 512 * (3 * first + 2 * second));
  EXPECT_EQ(lookup_work(w, Pass::BackwardInput).flops.value, 0);
}

// With a cache, look-ups of cold rows and each hot row that is reached are made once.
TEST(TensorTrainTables, ACacheIsPricedByZipfsLaw) {
  const Settings plain = {"tt-rank=16", "global-batch=65536", "micro-batch=65536"};
  Settings cached = plain;
  cached.emplace_back("tt-cache=10000"), cached.emplace_back("tt-zipf=1.05");
  const Workload without = with_tables(million(), plain), with = with_tables(million(), cached);
  const double rows =
      65536 * (1 - zipf_share(10000, 1000000, 1.05)) + zipf_reached(10000, 1000000, 1.05, 65536);
  const double share = lookup_work(with, Pass::Forward).flops.value /
                       lookup_work(without, Pass::Forward).flops.value;
  EXPECT_NEAR(share, rows / 65536, 1e-4);
  EXPECT_LT(share, 0.5);
  EXPECT_NEAR(trained_tables(with.scenario.model)[0].hit_share, 0.74, 0.005);
  // The rows lie in a tensor of the layer while it runs.
  const Graph& graph = with.scenario.model.blocks[0].graph;
  std::int64_t held = 0;
  for (const Tensor& tensor : graph.tensors)
    if (tensor.name == "tables.0.hot_rows") held = local_elements(tensor.shape, Binding{});
  EXPECT_EQ(held, 10000 * 64);
}

TEST(TensorTrainTables, TheModelComesBackAsItWasGiven) {
  int derived = 0;
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Model given = zoo_model(entry.name);
    Model made;
    try {
      made = with_table_trains(given, {4, 100, 3, 1.2, TrainStart::Published}, kTablesPlace);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
      continue;
    }
    ++derived;
    EXPECT_FALSE(is_as_given(made)) << entry.name;
    EXPECT_EQ(write_model(as_given(made)), write_model(given)) << entry.name;
    EXPECT_EQ(write_model(as_given(read_model(write_model(made), "model"))), write_model(given))
        << entry.name;
  }
  EXPECT_GE(derived, 2);
}

TEST(TensorTrainTables, BeginAsThePlanSays) {
  const auto start_of = [](const Settings& settings) {
    const Workload w = with_tables(million(), settings);
    for (const Node& node : w.scenario.model.blocks[0].graph.nodes)
      if (is_table_train(node)) return train_start_of(node);
    throw Error(Error::Kind::Internal, "no tensor train");
  };
  EXPECT_EQ(start_of({"tt-rank=4"}), TrainStart::Normalised);
  EXPECT_EQ(start_of({"tt-rank=4", "tt-start=published"}), TrainStart::Published);
}

// The largest published recommender of the zoo: five tables of 40 million rows and some smaller.
TEST(TensorTrainTables, APublishedRecommenderShrinks) {
  const Model given = zoo_model("dlrm-mlperf"),
              made = with_table_trains(given, {32, 1000000, 0, 1}, kTablesPlace);
  EXPECT_EQ(trained_tables(made).size(), 6u);
  EXPECT_GT(parameters(given) - parameters(made), std::int64_t{203000000} * 128);
  EXPECT_LT(parameters(made), std::int64_t{250000000});
}

TEST(TensorTrainTables, SaysWhatCannotBeATrain) {
  const auto sentence = [](const Model& model, const Settings& settings, std::int64_t devices = 1) {
    return testing::refusal([&] { prepare(scenario(model, devices, settings)); });
  };
  EXPECT_NE(sentence(zoo_model("dlrm-tiny"), {"tt-rank=8", "tt-tables=2000"})
                .find("expected an embedding table of at least 2000 rows that no other block "
                      "shares and that cores of rank 8 make smaller, found that the largest of "
                      "dlrm-tiny has 1000"),
            std::string::npos);
  EXPECT_NE(sentence(zoo_model("resnet-18"), {"tt-rank=8"}).find("has no table of its own"),
            std::string::npos);
  EXPECT_NE(sentence(million(), {"tt-rank=8", "frozen=bottom"})
                .find("cores begin as random numbers, and the plan freezes those of tables.0"),
            std::string::npos);
}

// A token table that no head shares may be cores too, where no ranks divide its rows.
TEST(TensorTrainTables, ATokenTableIsWholeOnEveryDevice) {
  const Model model = testing::tiny_transformer({.family = "llama"});
  const Settings trains = {"tt-rank=1", "tt-tables=1"};
  const Workload alone = with_tables(model, trains);
  EXPECT_EQ(trained_tables(alone.scenario.model).size(), 1u);
  Settings divided = trains;
  divided.emplace_back("tp=2");
  EXPECT_NE(testing::refusal([&] {
              prepare(scenario(model, 2, divided));
            }).find("cores are whole on every device, and tp=2 divides the rows"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
