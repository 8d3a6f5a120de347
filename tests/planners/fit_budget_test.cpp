// Tests what brings a plan into a budget of memory: the choice is that of an exhaustive search, and
// the waterfall ends at it.
#include "planners/budget/fit_budget.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/workspace/scenario/workspace.h"
#include "core/base/random.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Scenario plain(const std::string& model, const std::string& cluster,
               std::vector<std::string> settings) {
  settings.insert(settings.begin(), "precision=fp32");
  return open({model, cluster, "", settings});
}

Scenario wide_residual() {
  return plain("wrn-28-2", "cpu:1", {"global-batch=100", "micro-batch=100", "optimizer=momentum"});
}

FitQuestion fit_question(Scenario scenario, Bytes budget) {
  FitQuestion question;
  question.scenario = std::move(scenario);
  question.budget = budget;
  question.cost = [](const Scenario& s) { return cost_model(s); };
  return question;
}

struct Combination {
  Bytes reserved{};
  Duration step{};
  bool sparse = false;
};

// Every legal combination of the levers' values, by no search.
std::vector<Combination> every_combination(const Scenario& scenario,
                                           const std::vector<Knob>& levers) {
  std::vector<Combination> all;
  std::vector<std::size_t> digits(levers.size(), 0);
  const CostOf cost = [](const Scenario& s) {
    return std::shared_ptr<const CostModel>(cost_model(s));
  };
  for (bool more = true; more;) {
    Scenario changed = scenario;
    changed.plan.batch = complete(scenario).batch;
    try {
      for (std::size_t l = 0; l < levers.size(); ++l)
        if (digits[l] > 0) apply_setting(changed.plan, levers[l].key, levers[l].values[digits[l]]);
      const PlanFigures figures = figures_of(changed, cost);
      if (figures.fits)
        all.push_back({figures.reserved, figures.step, setting(changed.plan, "sparsity") == "0.9"});
    } catch (const Error&) {
      // Not a legal plan.
    }
    more = false;
    for (std::size_t l = 0; l < levers.size() && !more; ++l) {
      more = ++digits[l] < levers[l].values.size();
      if (!more) digits[l] = 0;
    }
  }
  return all;
}

// The values of a lever, as --lever takes them; "" where there is no such lever.
std::string lever_values(const FittedPlan& found, const std::string& key) {
  std::string values;
  for (const Knob& lever : found.levers)
    if (lever.key == key)
      for (const std::string& value : lever.values) values += (values.empty() ? "" : ",") + value;
  return values;
}

void expect_exhaustive_choices(const Scenario& scenario, const std::string& micro_batches,
                               std::uint64_t seed, bool sparsity) {
  FitQuestion question = fit_question(scenario, 1_GiB);
  question.levers = {{"precision", "fp32,bf16,bf16-sr"},
                     {"recompute", "none,op,full"},
                     {"micro-batch", micro_batches},
                     {"offload", "none,optimizer"}};
  question.kept = {"gradient-dtype", "flash-attention"};
  if (!sparsity) question.kept.emplace_back("sparsity");
  const FittedPlan whole = fit_budget(question);
  EXPECT_EQ(lever_values(whole, "sparsity"), sparsity ? "off,0.9" : "");
  EXPECT_EQ(lever_values(whole, "first-moment-dtype"), "fp32,bf16");
  EXPECT_EQ(lever_values(whole, "main-weights-dtype"), "fp32,remainder");
  const std::vector<Combination> all = every_combination(scenario, whole.levers);
  ASSERT_FALSE(all.empty());
  const auto dense = [](const Combination& plan) { return !plan.sparse; };
  EXPECT_EQ(whole.fitting, std::count_if(all.begin(), all.end(), dense));
  const Random random(seed);
  const Combination& smallest = *std::min_element(
      all.begin(), all.end(),
      [](const Combination& a, const Combination& b) { return a.reserved < b.reserved; });
  const double least = static_cast<double>(smallest.reserved.value),
               most = static_cast<double>(whole.start.figures.reserved.value);
  for (std::uint64_t i = 0; i < testing::cases(50, 5); ++i) {
    question.budget =
        Bytes{static_cast<std::int64_t>(least * 0.9 + random.uniform(i) * (most - least * 0.9))};
    const FittedPlan found = fit_budget(question);
    std::optional<Combination> best;
    for (const Combination& plan : all)
      if (plan.reserved <= question.budget &&
          (!best || std::pair(plan.sparse, plan.step) < std::pair(best->sparse, best->step)))
        best = plan;
    ASSERT_EQ(found.chosen.has_value(), best.has_value()) << question.budget.value;
    if (!best) continue;
    EXPECT_EQ(found.chosen->figures.step, best->step) << found.chosen->words;
    EXPECT_LE(found.chosen->figures.reserved, question.budget);
  }
}

TEST(FitBudget, ChoosesAsAnExhaustiveSearchDoes) {
  expect_exhaustive_choices(wide_residual(), "1,10,50,100", 1, false);
  expect_exhaustive_choices(plain("resnet-20", "cpu:1", {"global-batch=64", "micro-batch=64"}),
                            "1,64", 2, true);
  expect_exhaustive_choices(
      plain("gpt-tiny", "cpu:2", {"global-batch=16", "micro-batch=8", "optimizer=adamw"}), "1,4,8",
      3, false);
  expect_exhaustive_choices(
      plain("mlp-small", "cpu:1", {"global-batch=16", "micro-batch=16", "optimizer=momentum"}),
      "1,4,16", 4, true);
}

TEST(FitBudget, WideResidualNetworksTrainInAThirtiethOfTheMemory) {
  FitQuestion question = fit_question(wide_residual(), 1_MiB);
  question.kept = {"sparsity"};
  const FittedPlan found = fit_budget(question);
  EXPECT_FALSE(found.chosen);
  question.kept.emplace_back("offload");  // without help of the host's memory too
  const FittedPlan alone = fit_budget(question);
  for (const FittedPlan* fitted : {&found, &alone}) {
    const double smaller = static_cast<double>(fitted->start.figures.reserved.value) /
                           static_cast<double>(fitted->front.back().figures.reserved.value);
    EXPECT_GE(smaller, 30);
  }
  EXPECT_EQ(alone.front.back().words.find("offload"), std::string::npos);
  EXPECT_NE(found.front.back().words.find("offload"), std::string::npos);
  EXPECT_EQ(fit_sentence(found).find("Nothing fits in 1.00 MiB"), 0u) << fit_sentence(found);
}

TEST(FitBudget, TheWaterfallPullsEachLeverOnceAndEndsAtTheChoice) {
  for (const int mib : {20, 40, 80, 160, 320}) {
    const FittedPlan found = fit_budget(fit_question(wide_residual(), mib * 1_MiB));
    ASSERT_TRUE(found.chosen) << mib;
    std::vector<std::string> pulled, wanted;
    const auto words_of = [](const std::string& words, std::vector<std::string>& to) {
      for (std::size_t at = 0; at < words.size();) {
        const std::size_t end = std::min(words.find(' ', at), words.size());
        to.push_back(words.substr(at, end - at));
        at = end + 1;
      }
    };
    for (const FitStep& step : found.steps) words_of(step.words, pulled);
    words_of(found.chosen->words, wanted);
    std::sort(pulled.begin(), pulled.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(pulled, wanted) << mib;
    ASSERT_FALSE(found.steps.empty());
    EXPECT_EQ(found.steps.back().after.figures.reserved, found.chosen->figures.reserved);
    EXPECT_EQ(found.steps.back().after.figures.step, found.chosen->figures.step);
  }
}

TEST(FitBudget, MoreMemoryIsNeverSlower) {
  Duration before = Duration::max();
  for (int mib = 12; mib <= 400; mib += 60) {
    FitQuestion question = fit_question(wide_residual(), mib * 1_MiB);
    question.kept = {"sparsity"};
    const FittedPlan found = fit_budget(question);
    if (!found.chosen) {
      EXPECT_EQ(before, Duration::max()) << mib;
      continue;
    }
    EXPECT_LE(found.chosen->figures.step, before) << mib;
    before = found.chosen->figures.step;
  }
}

TEST(FitBudget, AFaithfulPlanRoundsNothingElseAndKeepsTheSamplesOfBatchNorms) {
  const FittedPlan images = fit_budget(fit_question(wide_residual(), 300_MiB));
  ASSERT_TRUE(images.faithful);
  EXPECT_EQ(images.faithful->changes, "");
  EXPECT_EQ(images.faithful->words.find("precision"), std::string::npos);
  EXPECT_EQ(images.faithful->words.find("micro-batch"), std::string::npos);
  const Scenario text = plain("gpt-tiny", "cpu:1", {"global-batch=16", "micro-batch=16"});
  const Bytes whole = fit_budget(fit_question(text, 1_GiB)).start.figures.reserved;
  const FittedPlan smaller = fit_budget(fit_question(text, Bytes{whole.value / 2}));
  ASSERT_TRUE(smaller.faithful);
  EXPECT_NE(smaller.faithful->words.find("micro-batch"), std::string::npos)
      << smaller.faithful->words;
}

TEST(FitBudget, FoundPlansAreThoseOfTheirWords) {
  const FittedPlan found = fit_budget(fit_question(wide_residual(), 60_MiB));
  const CostOf cost = [](const Scenario& s) {
    return std::shared_ptr<const CostModel>(cost_model(s));
  };
  for (const FitPlan& plan : found.front) {
    Scenario scenario = wide_residual();
    for (std::size_t at = 0; at < plan.words.size();) {
      const std::size_t end = std::min(plan.words.find(' ', at), plan.words.size());
      apply_setting(scenario.plan, plan.words.substr(at, end - at));
      at = end + 1;
    }
    const PlanFigures figures = figures_of(scenario, cost);
    EXPECT_EQ(figures.reserved, plan.figures.reserved) << plan.words;
    EXPECT_EQ(figures.step, plan.figures.step) << plan.words;
  }
  // No plan is slower for a few bytes; the chosen one and the smallest are listed in any case.
  ASSERT_GE(found.front.size(), 4u);
  ASSERT_TRUE(found.chosen);
  bool listed = false;
  for (std::size_t i = 0; i < found.front.size(); ++i) {
    const bool chosen = found.front[i].words == found.chosen->words;
    listed = listed || chosen;
    if (i == 0 || i + 1 == found.front.size() || chosen) continue;
    EXPECT_LE(static_cast<double>(found.front[i].figures.reserved.value),
              0.99 * static_cast<double>(found.front[i - 1].figures.reserved.value));
    EXPECT_GT(found.front[i].figures.step, found.front[i - 1].figures.step);
  }
  EXPECT_TRUE(listed);
}

TEST(FitBudget, KeptLeversStayAndOthersAreAdded) {
  FitQuestion question = fit_question(wide_residual(), 60_MiB);
  question.kept = {"precision", "recompute"};
  question.levers = {{"optimizer", "momentum,sgd"}};
  const FittedPlan found = fit_budget(question);
  bool adds = false;
  for (const Knob& lever : found.levers) {
    EXPECT_NE(lever.key, "precision");
    EXPECT_NE(lever.key, "recompute");
    adds = adds || lever.key == "optimizer";
  }
  EXPECT_TRUE(adds);
  EXPECT_EQ(lever_values(found, "sparsity"), "off,0.9");
}

TEST(FitBudget, SparsityIsALeverWhereItIsLegal) {
  FitQuestion question = fit_question(
      open({"gpt-tiny", "cpu:2", "", {"global-batch=2", "precision=fp32", "tp=2"}}), 1_GiB);
  question.kept = {"precision", "gradient-dtype", "micro-batch",       "recompute",
                   "offload",   "zero",           "first-moment-dtype"};
  EXPECT_EQ(lever_values(fit_budget(question), "sparsity"), "");
  question.scenario = plain("gpt-tiny", "cpu:1", {"global-batch=2"});
  EXPECT_EQ(fit_budget(question).chosen->words.find("sparsity"), std::string::npos);
  question.budget = 1_MiB;  // in which nothing fits
  const FittedPlan found = fit_budget(question);
  EXPECT_EQ(lever_values(found, "sparsity"), "off,0.9");
  EXPECT_NE(found.front.back().words.find("sparsity=0.9"), std::string::npos);
  EXPECT_NE(found.front.back().changes.find("weights that stay zero"), std::string::npos);
  question.scenario = plain("gpt-tiny", "cpu:1", {"global-batch=2", "sparsity=0.5"});
  EXPECT_EQ(lever_values(fit_budget(question), "sparsity"), "");
}

struct StateLevers {
  std::vector<std::string> settings;
  const char *moment, *main, *optimizer;  // values of the levers
};

TEST(FitBudget, FormatsOfStateAreLeversWhereTheOptimizerAndThePrecisionHaveThem) {
  const char *const both = "fp32,bf16", *const halves = "fp32,remainder";
  for (const auto& [settings, moment, main, optimizer] : std::vector<StateLevers>{
           {{"optimizer=momentum"}, both, halves, ""},
           {{"optimizer=sgd"}, "", halves, ""},
           {{"optimizer=adamw"}, both, halves, "adamw,adamw-8bit"},
           {{"optimizer=adam"}, both, halves, ""},
           {{"optimizer=adamw-8bit"}, "", "", ""},
           {{"optimizer=adafactor"}, "", "", ""},
           {{"optimizer=adamw", "first-moment-dtype=bf16"}, "bf16,fp32", halves, ""},
           {{"optimizer=momentum", "sparsity=0.5"}, "", "", ""}}) {
    FitQuestion question = fit_question(plain("mlp-small", "cpu:1", settings), 1_GiB);
    question.scenario.plan.batch.global = 8;
    question.kept = {"gradient-dtype", "micro-batch", "recompute", "offload"};
    question.levers = {{"dtype", "fp32,bf16"}};
    const FittedPlan found = fit_budget(question);
    EXPECT_EQ(lever_values(found, "first-moment-dtype"), moment) << settings.front();
    EXPECT_EQ(lever_values(found, "main-weights-dtype"), main) << settings.front();
    EXPECT_EQ(lever_values(found, "optimizer"), optimizer) << settings.front();
    EXPECT_EQ(lever_values(found, "second-moment-dtype"), "") << settings.front();
    question.levers.clear();
    question.kept.emplace_back("dtype");  // a remainder is for bf16, and stays out with it
    EXPECT_EQ(lever_values(fit_budget(question), "main-weights-dtype"), "") << settings.front();
  }
}

// Moments with scales are levers for who asks, and the choice among them is that of all
// combinations. A remainder is for precision=bf16; fp8 casts bf16 weights whose main weights may be
// in fp16.
TEST(FitBudget, StateWithScalesIsChosenAsAnExhaustiveSearchDoes) {
  const Scenario scenario =
      plain("gpt-tiny", "h100-sxm:1", {"precision=fp8", "optimizer=adamw", "global-batch=8"});
  FitQuestion question = fit_question(scenario, 1_GiB);
  question.kept = {"precision", "gradient-dtype", "micro-batch",
                   "offload",   "optimizer",      "flash-attention"};
  question.levers = {{"first-moment-dtype", "fp32,bf16,fp16,fp8"},
                     {"second-moment-dtype", "fp32,fp16"},
                     {"recompute", "none,full"}};
  const FittedPlan whole = fit_budget(question);
  EXPECT_EQ(lever_values(whole, "main-weights-dtype"), "fp32,fp16");
  const std::vector<Combination> all = every_combination(scenario, whole.levers);
  EXPECT_EQ(whole.fitting, all.size());
  bool scales = false;
  for (const FitPlan& plan : testing::non_empty(whole.front)) {
    scales = scales || (plan.words.find("first-moment-dtype=fp8") != std::string::npos &&
                        plan.words.find("main-weights-dtype=fp16") != std::string::npos);
    question.budget = plan.figures.reserved;
    const FittedPlan found = fit_budget(question);
    const auto best =
        std::min_element(all.begin(), all.end(), [&](const Combination& a, const Combination& b) {
          const bool fits = a.reserved <= question.budget, other = b.reserved <= question.budget;
          return fits != other ? fits : a.step < b.step;
        });
    ASSERT_TRUE(found.chosen);
    EXPECT_EQ(found.chosen->figures.step, best->step) << plan.words;
    EXPECT_LE(found.chosen->figures.reserved, question.budget);
  }
  EXPECT_TRUE(scales);
}

// Nothing is left of these plans but their weights, gradients and optimizer's state.
TEST(FitBudget, FormatsOfStateBringAPlanFurtherThanPrecisionAlone) {
  FitQuestion question = fit_question(
      open({"gpt-tiny", "cpu:1", "", {"global-batch=1", "optimizer=adamw", "precision=bf16"}}),
      1_GiB);
  question.kept = {"precision", "gradient-dtype",     "micro-batch", "recompute",      "offload",
                   "sparsity",  "main-weights-dtype", "optimizer",   "flash-attention"};
  const FittedPlan moments = fit_budget(question);
  question.kept.erase(question.kept.end() - 3);
  const FittedPlan halves = fit_budget(question);
  question.kept.erase(question.kept.end() - 2);
  const FittedPlan bytes = fit_budget(question);
  EXPECT_EQ(moments.front.back().words, "first-moment-dtype=bf16");
  EXPECT_EQ(halves.front.back().words, "first-moment-dtype=bf16 main-weights-dtype=remainder");
  EXPECT_EQ(bytes.front.back().words, "optimizer=adamw-8bit");
  EXPECT_LT(moments.front.back().figures.reserved, moments.start.figures.reserved);
  EXPECT_LT(halves.front.back().figures.reserved, moments.front.back().figures.reserved);
  EXPECT_LT(bytes.front.back().figures.reserved, halves.front.back().figures.reserved);
  for (const FittedPlan* found : {&moments, &halves, &bytes}) {
    EXPECT_NE(found->front.back().changes, "");
    ASSERT_TRUE(found->faithful);
    EXPECT_EQ(found->faithful->words, "");
  }
}

TEST(FitBudget, RefusesWithASentence) {
  FitQuestion question = fit_question(wide_residual(), 100_GiB * 100);
  EXPECT_NE(testing::refusal([&] {
              fit_budget(question);
            }).find("expected at most the memory of a device"),
            std::string::npos);
  question.budget = 1_GiB;
  question.levers = {{"recomputee", "full"}};
  EXPECT_NE(testing::refusal([&] { fit_budget(question); }).find("did you mean \"recompute\"?"),
            std::string::npos);
  question.levers = {{"recompute", "full"}};
  question.kept = {"recompute"};
  EXPECT_NE(testing::refusal([&] { fit_budget(question); }).find("kept by --keep too"),
            std::string::npos);
}

// A stage on larger devices reserves more than one with less room on smaller ones.
TEST(FitBudget, ABudgetIsThatOfEveryKindOfDevice) {
  const Scenario mixed = open({"gpt2",
                               "h100-sxm:16,mixed=a100-sxm-40:8",
                               "",
                               {"pp=2", "global-batch=64", "micro-batch=4", "schedule=gpipe"}});
  FitQuestion question = fit_question(mixed, 41_GiB);
  question.levers = {{"micro-batch", "1,2,4"}};
  for (const std::string_view lever : usual_levers())
    if (lever != "micro-batch") question.kept.emplace_back(lever);
  EXPECT_NE(testing::refusal([&] { fit_budget(question); }).find("memory of a device"),
            std::string::npos);
  question.budget = 30_GiB;
  const FittedPlan found = fit_budget(question);
  EXPECT_EQ(found.plain.cluster, mixed.cluster);
  ASSERT_FALSE(found.front.empty());
  for (const FitPlan& plan : found.front) {
    const Workload w = prepare(fitted(found, plan));
    const std::vector<Bytes> reserved = estimate_step(w, *cost_model(w.scenario)).reserved;
    EXPECT_EQ(plan.figures.reserved, *std::max_element(reserved.begin(), reserved.end()));
  }
}

}  // namespace
}  // namespace trainyard
