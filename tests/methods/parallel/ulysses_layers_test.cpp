// Layers of a tensor parallel plan that exchange heads for tokens instead of dividing weights, on
// GPT's layer of 512 tokens and 1,024 channels, and on Mixtral's with grouped keys.
#include <gtest/gtest.h>

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

constexpr std::int64_t kTokensTurned = 2 * 512;  // of a microbatch

Workload exchanging(const testing::Settings& more, std::int64_t devices = 4, Model model = gpt()) {
  testing::Settings all = {"tp=4", "micro-batch=2", "tensor-parallel.ulysses-layers=all"};
  all.insert(all.end(), more.begin(), more.end());
  return prepare(scenario(std::move(model), devices, all));
}

// Queries, keys, values and output of a rank's own tokens, 2sbh / tp bytes each, and nothing is
// gathered or reduced.
TEST(UlyssesLayers, TurnWhatARankHasAndGatherNothing) {
  const Workload w = exchanging({});
  const Words four(4, testing::words(CollectiveKind::AllToAll, Group::TensorHeads,
                                     2 * kTokensTurned * 1024 / 4));
  EXPECT_EQ(collectives(layer(w).forward), four);
  EXPECT_EQ(collectives(layer(w).backward), four);
}

// A layer of GPT has 12 h^2 + 13 h parameters. Every rank has all, and adds up what the tokens of
// each make of their gradients before replicas add up theirs.
TEST(UlyssesLayers, EveryRankHasAllWeightsAndAddsUpTheirGradients) {
  const std::int64_t parameters = 12 * 1024 * 1024 + 13 * 1024;
  const auto sum = [&](CollectiveKind kind, Group group) {
    return testing::words(kind, group, 4 * parameters);
  };
  const Workload one = exchanging({"zero=0"}), two = exchanging({"dp=2", "zero=0"}, 8),
                 sharded = exchanging({"dp=2", "zero=2"}, 8);
  EXPECT_EQ(layer(one).parameters.dense, parameters);
  const std::string tokens = sum(CollectiveKind::AllReduce, Group::Tensor);
  EXPECT_EQ(collectives(layer(one).reduce), (Words{tokens}));
  EXPECT_EQ(collectives(layer(two).reduce),
            (Words{tokens, sum(CollectiveKind::AllReduce, Group::Data)}));
  EXPECT_EQ(collectives(layer(sharded).reduce),
            (Words{tokens, sum(CollectiveKind::ReduceScatter, Group::Data)}));
}

// They compute as context ranks that exchange heads do, op by op, and keep as much.
TEST(UlyssesLayers, WorkAndKeepAsContextRanksThatExchangeHeads) {
  const testing::Settings context = {"cp=4", "context-parallel.kind=ulysses", "micro-batch=2"};
  for (const char* recompute : {"recompute=none", "recompute=selective", "recompute=full"}) {
    testing::Settings all = context;
    all.emplace_back(recompute);
    const Workload tensor = exchanging({recompute}), ranks = prepare(scenario(gpt(), 4, all));
    const Body &a = layer(tensor), &b = layer(ranks);
    EXPECT_EQ(testing::names(a.forward), testing::names(b.forward));
    EXPECT_EQ(testing::names(a.backward), testing::names(b.backward));
    ASSERT_EQ(a.backward.size(), b.backward.size());
    for (std::size_t i = 0; i < a.backward.size(); ++i) {
      EXPECT_EQ(a.backward[i].work, b.backward[i].work) << a.backward[i].name;
      EXPECT_EQ(a.backward[i].bytes, b.backward[i].bytes) << a.backward[i].name;
    }
    EXPECT_EQ(saved_bytes(a), saved_bytes(b));
    EXPECT_EQ(a.held.backward, b.held.backward);
    EXPECT_EQ(a.output, b.output);
  }
}

TEST(UlyssesLayers, OthersDivideTheirWeightsAsBefore) {
  const Workload w = prepare(
      scenario(gpt(), 4, {"tp=4", "micro-batch=2", "tensor-parallel.ulysses-layers=first:1"}));
  const Workload plain = prepare(scenario(gpt(), 4, {"tp=4", "micro-batch=2"}));
  std::vector<const Body*> of_layers;
  for (const Body& body : w.bodies)
    if (w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer)
      of_layers.push_back(&body);
  ASSERT_EQ(of_layers.size(), 2u);
  EXPECT_TRUE(of_layers[0]->tensor_heads);
  EXPECT_FALSE(of_layers[1]->tensor_heads);
  EXPECT_EQ(testing::names(of_layers[1]->forward), testing::names(layer(plain).forward));
  EXPECT_EQ(of_layers[0]->output, of_layers[1]->input);
}

struct RefusedLayers {
  Model model;
  testing::Settings settings;
  const char *sentence, *fix;
};

TEST(UlyssesLayers, RefuseWhatTheirRanksCannotExchange) {
  const char* const all = "tensor-parallel.ulysses-layers=all";
  const RefusedLayers cases[] = {
      {gpt(), {"tp=2", "tensor-parallel.ulysses-layers=3-4"}, "found 3-4", ""},
      {gpt(),
       {"tp=2", "sequence-parallel=off", all},
       "sequence-parallel=off",
       "sequence-parallel=on"},
      {gpt(), {"tp=2", "cp=2", all}, "cp=2 already divides", "cp=1"},
      {testing::mixture(),
       {"tp=4", all},
       "have each their own experts",
       "tensor-parallel.ulysses-layers=none"},
      {zoo_model("llama-2-70b"),
       {"tp=16", all},
       "do not divide the 8 key/value heads",
       "tensor-parallel.ulysses-layers=none"},
  };
  for (const RefusedLayers& c : cases) {
    const Diagnostics found = check(scenario(c.model, 16, c.settings));
    std::string said;
    for (const Diagnostic& d : found)
      if (d.severity == Diagnostic::Severity::Error) said += d.message + " -> " + d.fix + "\n";
    EXPECT_NE(said.find(c.sentence), std::string::npos) << said;
    EXPECT_NE(said.find(c.fix), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace trainyard
