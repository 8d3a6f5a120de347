// A sweep shows for each combination what a search, or a simulation, of it alone shows.
#include "app/workspace/plans/sweep_study.h"

#include <gtest/gtest.h>

#include <random>

#include "app/workspace/plans/plan_study.h"
#include "core/cluster/price.h"
#include "core/estimate/scaling.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/documents/result_json.h"
#include "core/io/json/inline_document.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using Strings = std::vector<std::string>;

SweepQuestion small_question() {
  SweepQuestion question{.models = {"gpt-tiny", "gpt2"}, .clusters = {"h100-sxm:8", "cpu:2"}};
  question.settings = {"global-batch=16", "schedule=1f1b"};
  question.bounds = {{"recompute", "none,full"}, {"micro-batch", "1,2"}};
  question.options.simulate = 3;
  return question;
}

// A result that reads back as the same is described by the same words.
std::string said(const Result& result) { return result_document(result); }

std::string refused_sweep(const SweepQuestion& question) {
  try {
    sweep(question);
  } catch (const Error& error) {
    return error.place().text + ": " + error.what();
  }
  return "";
}

// Draws some of the values, in their order.
Strings some_of(const Strings& all, std::mt19937& random) {
  Strings some;
  for (const std::string& value : all)
    if (random() % 2 == 0) some.push_back(value);
  return some.empty() ? Strings{all[random() % all.size()]} : some;
}

SweepQuestion drawn_question(std::mt19937& random) {
  SweepQuestion question{.models = some_of({"gpt-tiny", "gpt2", "resnet-20", "llama-3-8b"}, random),
                         .clusters = some_of({"h100-sxm:8", "a100-sxm-80:6", "cpu:2"}, random)};
  if (random() % 2 == 0) question.prices = {0.5, 3};
  question.vary = {{"zero", some_of({"0", "1", "3"}, random)}};
  if (random() % 2 == 0) question.vary.push_back({"tp", some_of({"1", "2", "3", "8"}, random)});
  question.settings = {"global-batch=24"};
  question.as_given = random() % 2 == 0;
  if (!question.as_given) question.bounds = {{"micro-batch", "1,2"}, {"pp", "1,2,4"}};
  if (random() % 3 == 0) question.options.objective = PlanObjective::Memory;
  question.options.simulate = random() % 4;
  return question;
}

// The request of a row as a person would type it.
Request request_of_row(const SweepQuestion& question, const SweepStudy& study, std::size_t i,
                       Strings settings) {
  Request request{study.value(i, 0), study.value(i, 1), "", std::move(settings)};
  if (!question.prices.empty()) request.price = parse_price(study.value(i, study.axes.size() - 1));
  return request;
}

Strings settings_of_row(const SweepQuestion& question, const SweepStudy& study, std::size_t i) {
  Strings settings = question.settings;
  for (std::size_t a = 2; a < 2 + question.vary.size(); ++a)
    settings.push_back(study.axes[a].name + "=" + study.value(i, a));
  return settings;
}

void expect_as_searched_alone(const SweepQuestion& question, const SweepStudy& study,
                              std::size_t i) {
  const SweepRow& row = study.rows[i];
  std::optional<PlanSpace> space;
  const Request request = request_of_row(question, study, i, settings_of_row(question, study, i));
  try {
    space = open_space({request, question.bounds, ""});
  } catch (const Error& error) {
    EXPECT_EQ(row.reason, error.what());
    return;
  }
  PlanPrices prices("");
  SearchOptions options = question.options;
  prices.equip(options);
  const SearchResult found = search(*space, options);
  ASSERT_EQ(row.fits(), !found.best.empty()) << row.reason;
  if (row.fits()) {
    EXPECT_EQ(said(*row.result), said(prices.result(*space, found.best.front())));
  }
}

// Expects that the words of the row alone, given to simulate or estimate, make its figures again.
void expect_reproduced(const SweepQuestion& question, const SweepStudy& study, std::size_t i) {
  const SweepRow& row = study.rows[i];
  const Scenario scenario = open(request_of_row(question, study, i, row.set));
  Result again;
  if (row.result->fidelity == "estimate")
    again = estimate(scenario);
  else
    again = simulate(scenario, {.grain = natural_grain(scenario)})->result;
  EXPECT_EQ(again.digest, row.result->digest);
  EXPECT_EQ(again.fidelity, row.result->fidelity);
  EXPECT_EQ(again.step.value, row.result->step.value);
  EXPECT_EQ(again.step.low, row.result->step.low);
  EXPECT_EQ(again.mfu, row.result->mfu);
  EXPECT_EQ(again.verdict.margin, row.result->verdict.margin);
  EXPECT_EQ(again.verdict.sentence, row.result->verdict.sentence);
  EXPECT_EQ(worst_peak(again), worst_peak(*row.result));
  ASSERT_EQ(again.money.has_value(), row.result->money.has_value());
  if (again.money) {
    EXPECT_EQ(again.money->value, row.result->money->value);
  }
  ASSERT_EQ(again.energy.has_value(), row.result->energy.has_value());
  if (again.energy) {
    EXPECT_EQ(again.energy->value, row.result->energy->value);
  }
}

TEST(SweepStudy, RowsAreWhatEachCombinationAloneGives) {
  std::size_t given = 0, searched = 0, without = 0;
  for (unsigned seed = 1; seed <= testing::cases(12, 8); ++seed) {
    std::mt19937 random(seed);
    const SweepQuestion question = drawn_question(random);
    SCOPED_TRACE(seed);
    const SweepStudy study = sweep(question);
    ASSERT_EQ(study.rows.size(), combinations(study.axes));
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
      const SweepRow& row = study.rows[i];
      SCOPED_TRACE(combination_words(study, i));
      EXPECT_FALSE(row.reason.empty());
      EXPECT_EQ(row.fit.has_value(), row.result.has_value());
      if (!question.as_given) expect_as_searched_alone(question, study, i);
      if (row.result) expect_reproduced(question, study, i);
      ++(!row.result ? without : question.as_given ? given : searched);
    }
  }
  EXPECT_GT(given, 0u);
  EXPECT_GT(searched, 0u);
  EXPECT_GT(without, 0u);
}

// Simulations begin with the longest, and end in whatever order: the rows are in that of the
// question.
TEST(SweepStudy, AsGivenItIsTheSameForAnyNumberOfThreads) {
  SweepQuestion question = small_question();
  question.as_given = true;
  question.bounds = {};
  question.vary = {{"micro-batch", {"4", "1", "2"}}, {"pp", {"1", "2", "3"}}};
  std::vector<std::string> rows[3];
  for (const int threads : {1, 2, 5}) {
    question.options.threads = threads;
    std::size_t reported = 0;
    question.progress = [&](const SweepStudy& so_far, const SearchProgress*) {
      EXPECT_GE(so_far.rows.size(), reported);
      reported = so_far.rows.size();
    };
    const SweepStudy study = sweep(question);
    ASSERT_EQ(study.rows.size(), combinations(study.axes));
    EXPECT_LT(reported, study.rows.size());
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
      const SweepRow& row = study.rows[i];
      rows[threads / 2].push_back(
          row.reason + (row.result ? std::to_string(row.result->step.value.count()) : ""));
    }
  }
  EXPECT_EQ(rows[1], rows[0]);
  EXPECT_EQ(rows[2], rows[0]);
}

TEST(SweepStudy, AStoppedSweepAsGivenKeepsTheRowsBeforeTheFirstThatIsNotFinished) {
  SweepQuestion question = small_question();
  question.as_given = true;
  question.bounds = {};
  question.vary = {{"micro-batch", {"4", "2", "1"}}};
  question.options.threads = 1;
  std::stop_source stop;
  question.options.stop = stop.get_token();
  const SweepStudy whole = sweep(question);
  question.progress = [&](const SweepStudy& so_far, const SearchProgress*) {
    if (so_far.rows.size() >= 3) stop.request_stop();
  };
  const SweepStudy some = sweep(question);
  EXPECT_GE(some.rows.size(), 3u);
  EXPECT_LT(some.rows.size(), whole.rows.size());
  for (std::size_t i = 0; i < some.rows.size(); ++i)
    EXPECT_EQ(some.rows[i].reason, whole.rows[i].reason);
}

TEST(SweepStudy, ACombinationWithoutAPlanIsARowThatSaysWhy) {
  SweepQuestion question = small_question();
  question.models = {"gpt2"};
  question.clusters = {"h100-sxm:8"};
  question.vary = {{"tp", {"2", "3"}}};
  const SweepStudy searched = sweep(question);
  ASSERT_EQ(searched.rows.size(), 2u);
  EXPECT_TRUE(searched.rows[0].fits());
  EXPECT_EQ(verdict_word(searched.rows[1]), "no plan");
  EXPECT_FALSE(searched.rows[1].reason.empty());
  question.as_given = true;
  question.bounds = {};
  const SweepStudy given = sweep(question);
  EXPECT_EQ(given.rows[1].reason,
            "tp 3 x cp 1 x pp 1 = 3 does not divide the 8 devices of h100-sxm:8");
  EXPECT_EQ(given.rows[1].set, (Strings{"global-batch=16", "schedule=1f1b", "tp=3"}));
}

TEST(SweepStudy, WhereNothingFitsItIsThePlanThatNeedsLeast) {
  SweepQuestion question{.models = {"llama-3-70b"}, .clusters = {"h100-sxm:8"}};
  question.settings = {"global-batch=8", "pp=1"};
  question.bounds = {{"recompute", "none"}};
  const SweepRow row = sweep(question).rows.front();
  EXPECT_EQ(verdict_word(row), "does not fit");
  EXPECT_LT(row.result->verdict.margin, Bytes{});
  // It fits, and leaves too little.
  question.models = {"gpt2"};
  question.options.spare = 79_GiB;
  const SweepRow small = sweep(question).rows.front();
  EXPECT_EQ(verdict_word(small), "does not fit");
  EXPECT_TRUE(small.result->verdict.fits);
}

// Time and memory do not depend on a price, and money is in proportion to it.
TEST(SweepStudy, APriceChangesMoneyAlone) {
  SweepQuestion question = small_question();
  // A name that does not say all about the cluster is the same at every price.
  Cluster own = parse_cluster("a100-sxm-80:8");
  own.name = "our own";
  question.clusters.push_back(inline_document(parse_json(write_cluster(own), "own")));
  question.prices = {2, 5};
  for (const PlanObjective by : {PlanObjective::Time, PlanObjective::Money}) {
    question.options.objective = by;
    const SweepStudy study = sweep(question);
    for (std::size_t i = 0; i < study.rows.size(); i += 2) {
      const SweepRow &low = study.rows[i], &high = study.rows[i + 1];
      EXPECT_EQ(low.set, high.set);
      ASSERT_TRUE(low.result && high.result) << low.reason;
      EXPECT_EQ(low.result->step.value, high.result->step.value);
      EXPECT_NEAR(high.result->money->value / low.result->money->value, 2.5, 1e-12);
      EXPECT_DOUBLE_EQ(low.result->money->low / low.result->money->value,
                       to_seconds(low.result->step.low) / to_seconds(low.result->step.value));
    }
  }
}

TEST(SweepStudy, TheAnswerIsTheSameForAnyNumberOfThreads) {
  SweepQuestion question = small_question();
  question.options.threads = 1;
  const SweepStudy one = sweep(question);
  question.options.threads = 4;
  const SweepStudy four = sweep(question);
  ASSERT_EQ(one.rows.size(), four.rows.size());
  for (std::size_t i = 0; i < testing::non_empty(one.rows).size(); ++i) {
    EXPECT_EQ(one.rows[i].set, four.rows[i].set);
    EXPECT_EQ(said(*one.rows[i].result), said(*four.rows[i].result));
  }
}

TEST(SweepStudy, WhenStoppedItHasTheRowsThatWereFinished) {
  SweepQuestion question = small_question();
  const SweepStudy whole = sweep(question);
  for (const bool within : {false, true})
    for (std::size_t after = 0; after < whole.rows.size(); ++after) {
      std::stop_source stop;
      question.options.stop = stop.get_token();
      question.progress = [&](const SweepStudy& now, const SearchProgress* search) {
        if (now.rows.size() == after && (search != nullptr) == within) stop.request_stop();
      };
      const SweepStudy cut = sweep(question);
      EXPECT_TRUE(cut.stopped());
      ASSERT_EQ(cut.rows.size(), after);
      for (std::size_t i = 0; i < after; ++i) EXPECT_EQ(cut.rows[i].set, whole.rows[i].set);
    }
}

TEST(SweepStudy, AValueMayBelongToSomeOthersAlone) {
  SweepQuestion question{.models = {"resnet-20"}, .clusters = {"h100-sxm:1"}};
  question.settings = {"global-batch=64", "micro-batch=16"};
  question.vary = {{"schedule", {"1f1b", "tick-tock"}}, {"tick-tock.offset", {"0.25", "0.5"}}};
  question.as_given = true;
  const SweepStudy study = sweep(question);
  ASSERT_EQ(study.rows.size(), 4u);
  EXPECT_FALSE(study.rows[0].result);
  EXPECT_TRUE(study.rows[2].result) << study.rows[2].reason;
  question.vary[1].values = {"0.25", "late"};
  EXPECT_TRUE(refused_sweep(question).starts_with("--vary tick-tock.offset: expected a number"))
      << refused_sweep(question);
}

TEST(SweepStudy, SettingsThatGoWithAValueAreNotNamedTwice) {
  SweepQuestion question{.models = {"gpt2"}, .clusters = {"h100-sxm:8"}};
  question.vary = {parse_sweep_axis("seq=512 global-batch=32,1024 global-batch=16")};
  question.as_given = true;
  const SweepStudy study = sweep(question);
  EXPECT_EQ(study.rows[0].result->plan.batch.global, 32);
  EXPECT_EQ(study.rows[1].result->tokens_per_step, study.rows[0].result->tokens_per_step);
  question.vary.push_back({"train-batch-size", {"8"}});
  EXPECT_EQ(
      refused_sweep(question),
      "--vary: expected global-batch once, found \"global-batch=32\" and \"train-batch-size=8\"");
}

TEST(SweepStudy, WordsThatAreWrongForAllAreRefusedAtOnce) {
  SweepQuestion question = small_question();
  question.progress = [](const SweepStudy&, const SearchProgress*) { FAIL() << "it began"; };
  question.bounds = {{"speed", "1"}};
  EXPECT_TRUE(refused_sweep(question).starts_with("--bound speed: no knob of a search"));
  question.bounds = {};
  question.clusters.push_back("h100-sx:8");
  EXPECT_NE(refused_sweep(question).find("did you mean \"h100-sxm\""), std::string::npos);
  question.clusters = {"h100-sxm:8"};
  question.calibration = "none.json";
  EXPECT_NE(refused_sweep(question).find("none.json"), std::string::npos);
  question.calibration = "";
  question.settings = {"tp=2"};
  EXPECT_NE(refused_sweep(question).find("expected a global batch"), std::string::npos);
}

TEST(SweepStudy, ReadsAnAxis) {
  const SweepAxis axis = parse_sweep_axis("seq=4096,8192");
  EXPECT_EQ(axis.name, "seq");
  EXPECT_EQ(axis.values, (Strings{"4096", "8192"}));
  for (const char* text : {"", "seq", "seq=", "=1", "seq=1,,2", "seq=1,"})
    EXPECT_THROW(parse_sweep_axis(text), Error) << text;
}

}  // namespace
}  // namespace trainyard
