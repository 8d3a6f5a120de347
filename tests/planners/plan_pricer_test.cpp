#include "planners/plans/plan_pricer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/cost/cost_model.h"
#include "core/exporters/framework_limits.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/plans/exact_price.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

struct Case {
  const char *model, *cluster;
  std::vector<std::string> settings, fixed;
  std::vector<Bound> bounds;
};

PlanSpace space_of(const Case& c) {
  Scenario s{zoo_model(c.model), parse_cluster(c.cluster), {}};
  for (const std::string& word : c.settings) apply_setting(s.plan, word);
  return {s, c.fixed, c.bounds};
}

// Dense, routed, long sequences, unfused attention, several formats, parts of a cluster, an
// encoder with a decoder, a network without attention, one without a pipeline.
std::vector<Case> cases() {
  return {
      {"gpt3-2.7b", "a100-sxm-80:16", {"global-batch=64"}, {}, {{"micro-batch", "1,4"}}},
      {"mixtral-8x7b",
       "h100-sxm:32",
       {"global-batch=64"},
       {},
       {{"micro-batch", "2"}, {"hybrid", "0,8"}, {"tp", "1,4"}}},
      {"llama-3-8b",
       "h100-sxm:16",
       {"global-batch=32", "seq=32768"},
       {},
       {{"overlap", "on,off"}, {"tensor-overlap", "off,backward,on"}, {"micro-batch", "1"}}},
      {"gpt3-xl",
       "a100-sxm-40:16",
       {"global-batch=32", "framework=megatron", "flash-attention=off"},
       {},
       {{"precision", "bf16,fp32"},
        {"schedule", "1f1b,interleaved,chimera,pipedream,pipedream-2bw,pipemare,tick-tock"}}},
      {"gpt3-xl",
       "h100-sxm:16",
       {"global-batch=32"},
       {},
       {{"devices", "8,16"}, {"recompute", "none,blocks=2"}}},
      {"gpt3-13b",
       "a100-sxm-80:16",
       {"global-batch=64", "tp=1"},
       {"tp"},
       {{"pp", "16"}, {"micro-batch", "1,2"}}},
      {"t5-large", "a100-sxm-80:8", {"global-batch=32"}, {}, {{"micro-batch", "2"}}},
      {"resnet-50", "a100-sxm-80:8", {"global-batch=64"}, {}, {{"micro-batch", "1,8"}}},
      {"llama-3-8b",
       "h100-sxm:16",
       {"global-batch=32", "reshard-after-forward=off"},
       {},
       {{"micro-batch", "1"}, {"zero", "3"}, {"schedule", "1f1b,zb-v"}}},
      {"llama-3-8b",
       "h100-sxm:16",
       {"global-batch=32", "framework=torchtitan"},
       {},
       {{"micro-batch", "1"}, {"zero", "2,3"}, {"schedule", "1f1b,zb-v"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:8",
       {"global-batch=32"},
       {},
       {{"framework", "megatron,nanotron,fsdp"}, {"micro-batch", "1"}, {"zero", "0,1"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:8",
       {"global-batch=32", "framework=megatron-core"},
       {},
       {{"kernels", "eager,compiled"}, {"optimizer", "adam,sgd"}, {"micro-batch", "1"}}},
      {"llama-3-8b", "h100-sxm:16", {"global-batch=32", "pp=1"}, {"pp"}, {}},
      {"gpt3-2.7b",
       "a100-sxm-80:16",
       {"global-batch=64", "reduce=adasum-hierarchical"},
       {},
       {{"micro-batch", "1"}, {"schedule", "1f1b,zb-h1,chimera,pipedream"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:16",
       {"global-batch=64", "compression=mstopk", "compression.ratio=0.01"},
       {},
       {{"micro-batch", "1"}, {"schedule", "1f1b,zb-h1,chimera,pipedream"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:16",
       {"global-batch=64", "optimizer=lamb", "optimizer-norms=shared"},
       {},
       {{"micro-batch", "1"}, {"schedule", "1f1b,zb-h1,chimera"}}},
      {"resnet-50",
       "a100-sxm-80:16",
       {"global-batch=64", "batch-norm=replicas"},
       {},
       {{"micro-batch", "1,2"}, {"pp", "1,2"}, {"zero", "0,3"}, {"overlap", "on,off"}}},
      {"resnet-50",
       "a100-sxm-80:16",
       {"global-batch=64", "input=storage", "input.decoding=20ms"},
       {},
       {{"devices", "8,16"}, {"micro-batch", "1,2"}, {"pp", "1,2"}, {"zero", "0,3"}}},
      {"mixtral-8x7b",
       "h100-sxm:32",
       {"global-batch=64", "compression=topk"},
       {},
       {{"micro-batch", "2"}, {"tp", "1,4"}, {"zero", "0,1"}, {"overlap", "on,off"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:16",
       {"global-batch=64", "sync=easgd", "sync.period=4"},
       {},
       {{"micro-batch", "1"}, {"schedule", "1f1b,zb-h1,chimera,pipedream"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:16",
       {"global-batch=64", "sync=downpour", "sync.period=2"},
       {},
       {{"micro-batch", "1"}, {"schedule", "1f1b,zb-h1,chimera,pipedream"}}},
      {"mixtral-8x7b",
       "h100-sxm:32",
       {"global-batch=64", "sync=local-sgd"},
       {},
       {{"micro-batch", "2"}, {"tp", "1,4"}, {"zero", "0,1"}, {"overlap", "on,off"}}},
      {"mixtral-8x7b",
       "h100-sxm:32",
       {"global-batch=64", "reduce=adasum-tree"},
       {},
       {{"micro-batch", "2"}, {"tp", "1,4"}, {"zero", "0,1"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:8",
       {"global-batch=32"},
       {},
       {{"offload", "activations,none,both,optimizer"},
        {"micro-batch", "1"},
        {"schedule", "1f1b,zb-h1,chimera,pipedream"}}},
      {"gpt3-2.7b",
       "a100-sxm-80:8,host-memory=48GiB",
       {"global-batch=32"},
       {},
       {{"offload", "any"}, {"micro-batch", "1"}, {"schedule", "1f1b"}}},
  };
}

std::vector<Case> looked_at() {
  std::vector<Case> some = cases();
  some.resize(testing::cases(some.size(), 2));
  return some;
}

// Takes every n-th plan of each space and prices it by tables and alone.
template <class F>
void sample(const Case& c, std::size_t step, const F& f) {
  const PlanSpace space = space_of(c);
  CostModels costs({});
  const PriceTable table = price_space(space, costs, {});
  ASSERT_FALSE(table.ids.empty());
  for (std::size_t i = 0; i < table.ids.size(); i += step) {
    const Scenario s = space.scenario(table.ids[i]);
    std::string words;
    for (const std::string& w : space.words(table.ids[i])) words += w + " ";
    f(table.plans[i], exact_price(s, costs.of(s)), s, std::string(c.model) + ": " + words);
  }
}

constexpr std::size_t kStep = 149;

TEST(PlanPricer, HasEveryPlanOfTheSpaceOnceInOrder) {
  for (const Case& c : testing::non_empty(looked_at())) {
    const PlanSpace space = space_of(c);
    CostModels costs({});
    const PriceTable table = price_space(space, costs, {});
    std::size_t next = 0;
    for (PlanId id = 0; id < space.combinations(); ++id) {
      const std::vector<std::uint32_t> digits = space.digits(id);
      const auto form = space.canonical(digits);
      if (!form || *form != digits) continue;
      ASSERT_LT(next, table.ids.size()) << c.model;
      ASSERT_EQ(table.ids[next++], id) << c.model;
    }
    EXPECT_EQ(next, table.ids.size()) << c.model;
  }
}

// A space leaves open what its methods read of a plan, here the precision of sparse weights.
TEST(PlanPricer, SparseWeightsHaveTheBytesOfEachPrecision) {
  std::size_t legal_plans = 0;
  sample({"gpt-tiny",
          "h100-sxm:4",
          {"global-batch=16", "sparsity=0.75", "sparse-block=2"},
          {},
          {{"tp", "1"},
           {"cp", "1"},
           {"zero", "0"},
           {"precision", "fp32,bf16,bf16-sr,fp8"},
           {"micro-batch", "1,2"},
           {"schedule", "1f1b"}}},
         1,
         [&](const PricedPlan& table, const ExactPrice& exact, const Scenario&,
             const std::string& words) {
           const bool legal_plan = table.fate == Fate::Untried || table.fate == Fate::Memory;
           ASSERT_EQ(legal_plan, exact.illegal == Fate::Untried) << words;
           if (!legal_plan) return;
           ++legal_plans;
           EXPECT_EQ(table.memory, exact.memory) << words;
           EXPECT_LE(table.step, exact.step) << words;
         });
  EXPECT_GT(legal_plans, 0u);
}

TEST(PlanPricer, ForbidsWhatCheckForbidsByOneOfItsReasons) {
  for (const Case& c : testing::non_empty(looked_at()))
    sample(c, kStep,
           [](const PricedPlan& table, const ExactPrice& exact, const Scenario& s,
              const std::string& words) {
             const bool legal_plan = table.fate == Fate::Untried || table.fate == Fate::Memory;
             // Tables do not know what a stated framework refuses; pricing a plan alone does.
             const bool runs = !legal_plan || framework_refusals(prepare(s).scenario).empty();
             ASSERT_EQ(legal_plan && runs, exact.illegal == Fate::Untried) << words;
             if (legal_plan) return;
             EXPECT_TRUE(
                 std::any_of(exact.errors.begin(), exact.errors.end(),
                             [&](const Diagnostic& d) { return illegal_fate({d}) == table.fate; }))
                 << words << to_string(table.fate);
           });
}

TEST(PlanPricer, NoPlanUndercutsItsBound) {
  for (const Case& c : testing::non_empty(looked_at()))
    sample(c, kStep,
           [](const PricedPlan& table, const ExactPrice& exact, const Scenario& scenario,
              const std::string& words) {
             if (exact.illegal != Fate::Untried) return;
             EXPECT_LE(table.step, exact.step) << words;
             EXPECT_LE(table.memory, exact.memory) << words;
             EXPECT_GE(exact.device_time.bubble, Duration{}) << words;
             EXPECT_EQ(exact.device_time.sum(), exact.step * scenario.plan.mesh.pp) << words;
           });
}

TEST(PlanPricer, MemoryIsTheClosedFormsOwn) {
  // The holdings of these schedules depend on the times of their passes.
  const auto by_times = [](const Scenario& s) {
    const std::string schedule = setting(s.plan, "schedule");
    return schedule == "v-half" || schedule == "v-min" || schedule == "zb-v";
  };
  for (const Case& c : testing::non_empty(looked_at()))
    sample(c, kStep,
           [&](const PricedPlan& table, const ExactPrice& exact, const Scenario& s,
               const std::string& words) {
             if (exact.illegal != Fate::Untried || by_times(s)) return;
             EXPECT_EQ(table.memory, exact.memory) << words;
             EXPECT_EQ(table.device, exact.device) << words;
           });
}

TEST(PlanPricer, BoundsOfOneForwardOneBackwardAreNear) {
  double gaps = 0, count = 0;
  sample(
      {"gpt3-2.7b",
       "a100-sxm-80:16",
       {"global-batch=512"},
       {},
       {{"schedule", "1f1b"}, {"micro-batch", "1,2,4"}, {"zero", "0,1"}}},
      3,
      [&](const PricedPlan& table, const ExactPrice& exact, const Scenario&, const std::string&) {
        if (exact.illegal != Fate::Untried) return;
        gaps += 1 - to_seconds(table.step) / to_seconds(exact.step);
        ++count;
      });
  ASSERT_GT(count, 20);
  EXPECT_LT(gaps / count, 0.03);
}

TEST(PlanPricer, PartsMakeUpTheWhole) {
  const PlanSpace space = space_of(cases().front());
  CostModels costs({});
  const PriceTable whole = price_space(space, costs, {});
  std::vector<std::pair<PlanId, PricedPlan>> parts;
  for (int part = 0; part < 3; ++part) {
    PricerOptions options;
    options.part = part, options.parts = 3;
    const PriceTable one = price_space(space, costs, options);
    for (std::size_t i = 0; i < one.ids.size(); ++i) parts.emplace_back(one.ids[i], one.plans[i]);
  }
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  ASSERT_EQ(parts.size(), whole.ids.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].first, whole.ids[i]);
    EXPECT_EQ(parts[i].second, whole.plans[i]);
  }
}

TEST(PlanPricer, PricesByAnotherCostModelToo) {
  const PlanSpace space = space_of(cases().back());
  CostModels costs([](const Scenario&) { return roofline_cost_model(); });
  const PriceTable table = price_space(space, costs, {});
  for (std::size_t i = 0; i < table.ids.size(); i += 7) {
    const Scenario s = space.scenario(table.ids[i]);
    const ExactPrice exact = exact_price(s, costs.of(s));
    if (exact.illegal != Fate::Untried) continue;
    EXPECT_LE(table.plans[i].step, exact.step);
    EXPECT_EQ(table.plans[i].memory, exact.memory);
  }
}

TEST(PlanPricer, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  CostModels costs({});
  PricerOptions options;
  options.stop = source.get_token();
  EXPECT_TRUE(price_space(space_of(cases().front()), costs, options).ids.empty());
}

}  // namespace
}  // namespace trainyard
