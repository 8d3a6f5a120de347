#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/layers.h"

#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::layer;
using testing::mixture;
using testing::scenario;
using testing::Words;

constexpr std::int64_t kExpertTokens = 2 * 512;  // of a microbatch
constexpr std::int64_t kWidth = 512, kInner = 1024, kExperts = 8, kTopK = 2;

Words exchanges(const std::vector<BodyOp>& ops) {
  Words found;
  for (const BodyOp& op : ops)
    if (op.group == Group::Expert)
      found.push_back(testing::words(op.collective, op.group, op.bytes.value));
  return found;
}

std::string all_to_all(std::int64_t tokens) {
  return testing::words(CollectiveKind::AllToAll, Group::Expert, tokens * kTopK * kWidth * 2);
}

TEST(ExpertParallel, EveryRoutedTokenTravelsThereAndBack) {
  const Workload w = prepare(scenario(mixture(), 8, {"ep=4", "micro-batch=2"}));
  const Words two = {all_to_all(kExpertTokens), all_to_all(kExpertTokens)};
  EXPECT_EQ(exchanges(layer(w).forward), two);
  EXPECT_EQ(exchanges(layer(w).backward), two);
}

// Two experts of eight, taken at random: of 4 ranks 4 (1 - (3/4)^2) = 1.75 hold one of them, of 2
// nodes 2 (1 - (1/2)^2) = 1.5.
TEST(ExpertParallel, TokensMayTravelOnceARankOrOnceANode) {
  const auto bytes = [](std::int64_t devices, const testing::Settings& settings) {
    Scenario one = scenario(mixture(), devices, settings);
    choice(one.plan, "expert-parallel").params.set("copies", std::string("rank"));
    const Workload w = prepare(one);
    for (const BodyOp& op : layer(w).forward)
      if (op.group == Group::Expert) return op.bytes.value;
    return std::int64_t{0};
  };
  constexpr std::int64_t token = kWidth * 2;
  EXPECT_EQ(bytes(8, {"ep=4", "micro-batch=2"}), kExpertTokens * token * 7 / 4);
  EXPECT_EQ(bytes(16, {"ep=8", "tp=2", "micro-batch=2", "sp=off"}), kExpertTokens * token * 3 / 2);
}

// The bytes that a rank dispatches are divided like its tokens.
TEST(ExpertParallel, TensorAndContextRanksSendTheirOwnTokens) {
  const auto first = [](const testing::Settings& settings) {
    return exchanges(layer(prepare(scenario(mixture(), 16, settings))).forward).at(0);
  };
  EXPECT_EQ(first({"ep=4", "micro-batch=2", "cp=2"}), all_to_all(kExpertTokens / 2));
  EXPECT_EQ(first({"ep=4", "micro-batch=2", "tp=2"}), all_to_all(kExpertTokens / 2));
  EXPECT_EQ(first({"ep=4", "micro-batch=2", "tp=2", "sp=off"}), all_to_all(kExpertTokens));
}

TEST(ExpertParallel, ExchangesStandAtDispatchAndCombine) {
  const Workload w = prepare(scenario(mixture(), 8, {"ep=4", "tp=2"}));
  Words routed = testing::names(layer(w).forward);
  routed.erase(routed.begin(), std::find(routed.begin(), routed.end(), "router"));
  EXPECT_EQ(routed,
            (Words{"router", "dispatch", "[send tokens to experts]", "[gather dispatch]",
                   "experts.gate_proj", "experts.up_proj", "experts.act", "experts.down_proj",
                   "[reduce experts.down_proj]", "[return tokens]", "combine", "mlp_add"}));
}

TEST(ExpertParallel, BackwardIsTheSameRoadReversed) {
  const Workload w = prepare(scenario(mixture(), 8, {"ep=4"}));
  Words routed;
  for (const BodyOp& op : layer(w).backward)
    if (op.group == Group::Expert || op.name == "combine" || op.name == "dispatch")
      routed.push_back(op.name);
  EXPECT_EQ(routed,
            (Words{"combine", "send gradients to experts", "return gradients", "dispatch"}));
}

TEST(ExpertParallel, DividesExpertsAndNothingElse) {
  const LocalParameters whole = layer(prepare(scenario(mixture(), 8, {}))).parameters,
                        cut = layer(prepare(scenario(mixture(), 8, {"ep=4"}))).parameters,
                        both = layer(prepare(scenario(mixture(), 8, {"ep=4", "tp=2"}))).parameters;
  EXPECT_EQ(whole.expert, kExperts * 3 * kWidth * kInner);
  EXPECT_EQ(cut.expert, kExperts / 4 * 3 * kWidth * kInner);
  EXPECT_EQ(both.expert, kExperts / 4 * 3 * kWidth * kInner / 2);
  EXPECT_EQ(cut.dense, whole.dense);
}

// Loads are taken as balanced: a rank computes as many copies as it has sent.
TEST(ExpertParallel, WorkOfARankStaysTheSame) {
  const auto flops = [](const Workload& w) {
    double sum = 0;
    for (const BodyOp& op : layer(w).forward)
      if (op.name.substr(0, 8) == "experts.") sum += op.work.flops.value;
    return sum;
  };
  EXPECT_EQ(flops(prepare(scenario(mixture(), 8, {"ep=8"}))),
            flops(prepare(scenario(mixture(), 8, {}))));
}

TEST(ExpertParallel, DegreeDividesExperts) {
  const Diagnostics found = check_of("expert-parallel", scenario(mixture(), 24, {"ep=3"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "ep=3 does not divide 8 experts");
  EXPECT_EQ(found[0].fix, "ep=2");
  EXPECT_EQ(found[0].place.text, "plan#/mesh/ep");
}

TEST(ExpertParallel, RanksComeFromTheReplicas) {
  const Diagnostics found = check_of("expert-parallel", scenario(mixture(), 8, {"ep=8", "tp=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "ep=8 takes its ranks from dp x cp = 4, which it does not divide; with whole experts "
            "(etp=1) it would take them from tp too");
  EXPECT_EQ(found[0].fix, "etp=1");
  const Diagnostics odd =
      check_of("expert-parallel", scenario(mixture(), 24, {"ep=8", "tp=2", "pp=2"}));
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].message, "ep=8 takes its ranks from dp x cp = 6, which it does not divide");
  EXPECT_EQ(odd[0].fix, "ep=2");
}

TEST(WholeExperts, TensorRanksSendTheirOwnTokensAndReduceNothingInside) {
  const Workload w = prepare(scenario(mixture(), 8, {"ep=8", "tp=2", "etp=1", "micro-batch=2"}));
  EXPECT_EQ(exchanges(layer(w).forward),
            (Words{all_to_all(kExpertTokens / 2), all_to_all(kExpertTokens / 2)}));
  Words routed = testing::names(layer(w).forward);
  routed.erase(routed.begin(), std::find(routed.begin(), routed.end(), "router"));
  EXPECT_EQ(routed, (Words{"router", "dispatch", "[send tokens to experts]", "experts.gate_proj",
                           "experts.up_proj", "experts.act", "experts.down_proj", "[return tokens]",
                           "combine", "mlp_add"}));
  for (const BodyOp& op : testing::non_empty(layer(w).backward)) {
    if (op.group != Group::Tensor || !op.communication) continue;
    EXPECT_EQ(op.name.find("experts"), std::string::npos) << op.name;
    EXPECT_EQ(op.name.find("dispatch"), std::string::npos) << op.name;
  }
}

// There are fewer experts by the factor by which each is larger: weights, work and kept bytes stay
// the same, without the copies that were gathered over the tensor ranks.
TEST(WholeExperts, ARankHoldsAndComputesAsMuchAsWithCutOnes) {
  const auto sums = [](const testing::Settings& settings) {
    const Workload w = prepare(scenario(mixture(), 16, settings));
    double flops = 0;
    for (const auto* ops : {&layer(w).forward, &layer(w).backward})
      for (const BodyOp& op : *ops) flops += op.work.flops.value;
    return std::tuple{layer(w).parameters.expert, layer(w).parameters.dense, flops,
                      saved_bytes(layer(w))};
  };
  for (const char* batch : {"micro-batch=1", "micro-batch=2"}) {
    EXPECT_EQ(sums({"tp=4", "ep=8", "etp=1", batch}), sums({"tp=4", "ep=2", batch}));
    EXPECT_EQ(sums({"tp=2", "cp=2", "ep=8", "etp=1", batch}),
              sums({"tp=2", "cp=2", "ep=4", batch}));
    EXPECT_EQ(sums({"tp=2", "ep=2", "etp=1", "framework=megatron-core", batch}),
              sums({"tp=2", "ep=1", "framework=megatron-core", batch}));
  }
}

// Over all ranks there are as many parameters of experts as copies of all experts.
TEST(WholeExperts, ParametersOverAllRanksAreThoseOfTheReplicas) {
  EXPECT_TRUE(rc::check([] {
    const auto power = [](int most) { return 1 << *rc::gen::inRange(0, most); };
    Scenario s = scenario(mixture(), 1, {});
    Mesh& mesh = s.plan.mesh;
    mesh.tp = power(3), mesh.cp = power(3), mesh.dp = power(3), mesh.pp = power(3);
    if (*rc::gen::arbitrary<bool>()) mesh.etp = 1;
    const std::int64_t pool = expert_pool(mesh);
    mesh.ep = static_cast<int>(std::min<std::int64_t>(pool, power(4)));
    s.cluster =
        make_cluster(device("h100-sxm"), std::int64_t{mesh.tp} * mesh.cp * *mesh.dp * mesh.pp);
    const Workload w = prepare(s);
    const std::int64_t ranks_of_stage = s.cluster.count / mesh.pp;
    RC_ASSERT(layer(w).parameters.expert * ranks_of_stage ==
              kExperts * 3 * kWidth * kInner * ranks(mesh, Group::ExpertData));
    RC_ASSERT(ranks(mesh, Group::ExpertData) * mesh.ep == pool);
  }));
}

// There is one replica of everything else, but two of the experts.
TEST(WholeExperts, StateIsDividedOverTheirOwnReplicas) {
  const auto reduces = [](const testing::Settings& settings) {
    return testing::collectives(layer(prepare(scenario(mixture(), 4, settings))).reduce);
  };
  constexpr std::int64_t parameters = kExperts / 2 * 3 * kWidth * kInner;
  EXPECT_EQ(reduces({"tp=4", "ep=2", "etp=1", "zero=0"}),
            Words{testing::words(CollectiveKind::AllReduce, Group::ExpertData, 4 * parameters)});
  EXPECT_EQ(
      reduces({"tp=4", "ep=2", "etp=1", "zero=1"}),
      Words{testing::words(CollectiveKind::ReduceScatter, Group::ExpertData, 4 * parameters)});
  EXPECT_EQ(reduces({"tp=4", "ep=1", "zero=1"}), Words{});
  const auto optimizer = [](const testing::Settings& settings) {
    const Workload w = prepare(scenario(mixture(), 4, settings));
    return state_bytes(layer(w), w.layout).optimizer.value;
  };
  EXPECT_EQ(optimizer({"tp=4", "ep=2", "etp=1", "zero=0"}) -
                optimizer({"tp=4", "ep=2", "etp=1", "zero=1"}),
            parameters / 2 * 12);
}

TEST(WholeExperts, WhatCannotBeIsSaid) {
  const auto said = [](const Scenario& s) {
    const Diagnostics found = check_of("expert-parallel", s);
    return found.size() == 1 ? found[0].place.text + ": " + found[0].message + " | " + found[0].fix
                             : std::to_string(found.size()) + " sentences";
  };
  EXPECT_EQ(said(scenario(gpt(), 8, {"tp=2", "etp=1"})),
            "plan#/mesh/etp: etp=1 is the tensor degree of experts, and gpt has none | etp=tp");
  EXPECT_EQ(said(scenario(mixture(), 8, {"tp=4", "etp=2"})),
            "plan#/mesh/etp: etp=2 cuts an expert over some of 4 tensor ranks: expected all of "
            "them (etp=4) or one (etp=1) | etp=tp");
  EXPECT_EQ(said(scenario(mixture(), 8, {"tp=2", "etp=1", "sp=off"})),
            "plan#/choices/tensor-parallel: etp=1 has every tensor rank send tokens of its own to "
            "the experts, which are divided over tp only with sequence parallel | "
            "sequence-parallel=on");
  EXPECT_EQ(said(scenario(mixture(), 24, {"tp=2", "pp=2", "ep=8", "etp=1"})),
            "plan#/mesh/ep: ep=8 takes its ranks from tp x cp x dp = 12, which it does not divide "
            "| ep=4");
  EXPECT_EQ(said(scenario(mixture(), 8, {"tp=2", "ep=8", "etp=1"})), "0 sentences");
  EXPECT_EQ(said(scenario(mixture(), 8, {"tp=4", "ep=2", "etp=4"})), "0 sentences");
}

// An expert's columns need not divide where nothing divides them.
TEST(WholeExperts, WidthsNeedNotDivide) {
  TransformerSpec spec = family_spec("mixtral");
  spec.name = "odd", spec.layers = 2, spec.hidden = 64, spec.heads = 4, spec.kv_heads = 4;
  spec.ffn = 63, spec.vocab = 100, spec.sequence = 64;
  spec.experts = {.count = 4, .top_k = 2, .ffn = 63};
  const Model odd = build_decoder(spec);
  EXPECT_TRUE(has_errors(check_of("tensor-parallel", scenario(odd, 4, {"tp=2"}))));
  EXPECT_FALSE(has_errors(check_of("tensor-parallel", scenario(odd, 4, {"tp=2", "etp=1"}))));
  EXPECT_EQ(layer(prepare(scenario(odd, 4, {"tp=2", "ep=4", "etp=1"}))).parameters.expert,
            3 * 64 * 63);
}

TEST(ExpertParallel, NeedsExperts) {
  const Diagnostics found = check_of("expert-parallel", scenario(gpt(), 8, {"ep=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "ep=2 spreads experts, and gpt has none");
  EXPECT_EQ(found[0].fix, "ep=1");
}

}  // namespace
}  // namespace trainyard
