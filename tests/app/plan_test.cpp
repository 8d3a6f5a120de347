// Tests the verb `plan` as scripts use it: its figures add up, the plan that it writes has the
// stated cost, and its statements about a plan are true.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "app/cli/interrupt.h"
#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "app/workspace/plans/plan_study.h"
#include "app/workspace/plans/why_plan.h"
#include "core/io/json/json.h"
#include "tests/app/documents.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

const std::string kJob =
    "plan --model llama-3-8b --cluster h100-sxm:16 --global-batch 64 --set schedule=1f1b "
    "--bound zero=0,1 --bound micro-batch=1,2";
const std::string kNone =
    "plan --model llama-3-70b --cluster h100-sxm:8 --global-batch 64 --set schedule=1f1b --set "
    "pp=1 --bound recompute=none";
const std::string kNoneJob = " --model llama-3-70b --cluster h100-sxm:8 --set global-batch=64";
const std::string kJobWords = " --model llama-3-8b --cluster h100-sxm:16";

Json document(const std::string& line, int exit = kDone) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(line + " --json", folder);
  EXPECT_EQ(ran.exit, exit) << line << "\n" << ran.err;
  Json json = parse_json(ran.out, "plan");
  conforms(json, parse_json(json_schema("search"), "schema"), "search");
  return json;
}

std::int64_t whole(const Json& json, const char* key) { return *json.find(key)->integer(); }

double step_of(const Json& result) { return number(*result.find("step_seconds")->find("value")); }

std::string words_of(const Json& plan) {
  std::string text;
  for (const Json& word : *plan.find("words")->as_list())
    text += (text.empty() ? "" : ",") + *word.text();
  return text;
}

// Removes what depends on the machine.
std::string comparable(const std::string& document) {
  std::string kept;
  for (std::size_t at = 0; at < document.size();) {
    const std::size_t end = std::min(document.find('\n', at), document.size() - 1);
    const std::string line = document.substr(at, end + 1 - at);
    if (line.find("\"seconds\": ") == std::string::npos || line.find('{') != std::string::npos)
      if (line.find("\"plans_per_second\": ") == std::string::npos) kept += line;
    at = end + 1;
  }
  return kept;
}

void expect_parts_sum(const Json& fall) {
  double a = 0, b = 0;
  for (const Json& part : *fall.find("parts")->as_list()) {
    a += number(*part.find("a")), b += number(*part.find("b"));
    EXPECT_NEAR(number(*part.find("difference")), number(*part.find("b")) - number(*part.find("a")),
                1e-9);
  }
  EXPECT_NEAR(a, number(*fall.find("a")), 1e-9);
  EXPECT_NEAR(b, number(*fall.find("b")), 1e-9);
}

TEST(Plan, EveryPlanTriedHasOneFate) {
  const Json json = document(kJob);
  std::int64_t fates = 0, rejected = 0;
  for (const JsonMember& one : *json.find("fates")->as_object()) fates += *one.value.integer();
  for (const JsonMember& one : *json.find("rejected")->as_object())
    rejected += *one.value.integer();
  EXPECT_EQ(fates, whole(json, "evaluated"));
  EXPECT_EQ(rejected + whole(*json.find("fates"), "front") + whole(*json.find("fates"), "best"),
            fates);
  EXPECT_EQ(json.find("samples")->as_list()->size(), json.find("fates")->as_object()->size());
  EXPECT_EQ(json.find("best")->as_list()->size(), 10u);
  EXPECT_FALSE(*json.find("stopped")->boolean());
}

TEST(Plan, TheListIsInOrderAndItsDifferencesSum) {
  const Json json = document(kJob + " --top 4");
  const Json::List& best = *json.find("best")->as_list();
  ASSERT_EQ(best.size(), 4u);
  for (std::size_t i = 1; i < best.size(); ++i) EXPECT_LE(step_of(best[i - 1]), step_of(best[i]));
  const Json& between = *json.find("runner_up");
  expect_parts_sum(*between.find("seconds"));
  expect_parts_sum(*between.find("bytes"));
  EXPECT_NEAR(number(*between.find("seconds")->find("a")), step_of(best[0]), 1e-9);
  EXPECT_NEAR(number(*between.find("seconds")->find("b")), step_of(best[1]), 1e-9);
}

TEST(Plan, ThePlanThatItWritesCostsWhatItSaid) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(kJob + " --json --out first.json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json found = parse_json(ran.out, "found");
  const Json simulated =
      parse_json(trainyard("simulate --plan first.json --json" + kJobWords, folder).out, "again");
  const Json& best = found.find("best")->as_list()->front();
  EXPECT_EQ(*best.find("fidelity")->text(), "simulate: order grain");
  EXPECT_EQ(step_of(simulated), step_of(best));
  EXPECT_EQ(*simulated.find("memory"), *best.find("memory"));
  EXPECT_EQ(*simulated.find("digest"), *best.find("digest"));

  const Ran third = trainyard(kJob + " --simulate 0 --json --rank 3 --out third.json", folder);
  const Json by_form = parse_json(third.out, "third");
  const Json estimated =
      parse_json(trainyard("estimate --plan third.json --json" + kJobWords, folder).out, "again");
  EXPECT_EQ(step_of(estimated), step_of((*by_form.find("best")->as_list())[2]));
  EXPECT_EQ(*estimated.find("plan"), *(*by_form.find("best")->as_list())[2].find("plan"));
}

TEST(Plan, TheSameBytesForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const std::string one = trainyard(kJob + " --json --threads 1 --all one.csv", folder).out;
  const std::string many = trainyard(kJob + " --json --threads 5 --all many.csv", folder).out;
  EXPECT_EQ(comparable(one), comparable(many));
  EXPECT_EQ(file_text(folder.path() / "one.csv"), file_text(folder.path() / "many.csv"));
}

TEST(Plan, EveryPlanIsALineOfTheFile) {
  const TemporaryFolder folder;
  const Json json = parse_json(trainyard(kJob + " --json --all all.csv", folder).out, "plan");
  const std::string all = file_text(folder.path() / "all.csv");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), whole(json, "evaluated") + 1);
  std::int64_t memory = 0;
  for (std::size_t at = all.find(",memory\n"); at != std::string::npos;
       at = all.find(",memory\n", at + 1))
    ++memory;
  EXPECT_EQ(memory, whole(*json.find("rejected"), "memory"));
}

TEST(Plan, WhyAWordsBestPlanLost) {
  const Json json = document(kJob + " --why tp=8,pp=2");
  const Json& why = *json.find("why");
  EXPECT_EQ(*why.find("fate")->text(), "dominated");
  EXPECT_GT(whole(why, "matches"), 1);
  EXPECT_NE(words_of(why).find("tp=8"), std::string::npos);
  EXPECT_NE(words_of(why).find("pp=2"), std::string::npos);
  expect_parts_sum(*why.find("against_best")->find("seconds"));
  expect_parts_sum(*why.find("against_best")->find("bytes"));
  // The plan that its fix names is at least as fast and no larger.
  const TemporaryFolder folder;
  std::vector<std::string> words = {"schedule=1f1b", "global-batch=64"};
  for (const Json& word : *why.find("words")->as_list()) words.push_back(*word.text());
  const auto set = [&] {
    std::string flags;
    for (const std::string& word : words) flags += " --set \"" + word + "\"";
    return flags;
  };
  const Json lost =
      parse_json(trainyard("estimate --json" + kJobWords + set(), folder).out, "lost");
  EXPECT_EQ(step_of(lost), step_of(*why.find("result")));
  for (const std::string& fix : split_words(*why.find("fix")->text())) {
    const std::string key = fix.substr(0, fix.find('=') + 1);
    std::erase_if(words, [&](const std::string& word) { return word.starts_with(key); });
    words.push_back(fix);
  }
  const Json won = parse_json(trainyard("estimate --json" + kJobWords + set(), folder).out, "won");
  EXPECT_LE(step_of(won), step_of(lost));
}

TEST(Plan, WhyTakesOtherFrameworksWordsAndPlansOutsideTheSpace) {
  const Json same =
      document(kJob + " --why \"--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2\"");
  EXPECT_EQ(words_of(*same.find("why")),
            words_of(*document(kJob + " --why tp=8,pp=2").find("why")));
  const Json outside = document(kJob + " --why \"tp=4 zero=3\"");
  EXPECT_EQ(*outside.find("why")->find("outside")->text(),
            "zero=3 is not in the space, which has 0, 1");
  EXPECT_TRUE(outside.find("why")->find("against_best"));
  const Json illegal = document(kJob + " --why tp=3");
  EXPECT_EQ(*illegal.find("why")->find("fate")->text(), "devices");
  EXPECT_EQ(*illegal.find("why")->find("field")->text(), "plan#/mesh");
  EXPECT_FALSE(illegal.find("why")->find("result"));
}

TEST(Plan, WordsOfAPlan) {
  using List = std::vector<std::string>;
  EXPECT_EQ(plan_words_of("tp=8,pp=2"), (List{"tp=8", "pp=2"}));
  EXPECT_EQ(plan_words_of("tp=8 pp=2, zero=1"), (List{"tp=8", "pp=2", "zero=1"}));
  EXPECT_EQ(plan_words_of("split=20,20,pp=2"), (List{"split=20,20", "pp=2"}));
  EXPECT_EQ(plan_words_of("--tensor-model-parallel-size 8 --sequence-parallel"),
            (List{"tp=8", "sequence-parallel=on"}));
  EXPECT_THROW(plan_words_of(""), Error);
  EXPECT_THROW(plan_words_of("tp"), Error);
  EXPECT_THROW(plan_words_of("tpp=3"), Error);
}

TEST(Plan, WhereNothingFitsItSaysWhatToOpen) {
  const Json json = document(kNone, kNotMet);
  EXPECT_EQ(whole(json, "feasible"), 0);
  EXPECT_TRUE(json.find("best")->as_list()->empty());
  const Json& none = *json.find("nothing_fits");
  EXPECT_GT(whole(none, "over_bytes"), 0);
  const TemporaryFolder folder;
  std::string set = " --set schedule=1f1b --set pp=1 --set recompute=none";
  for (const Json& word : *none.find("words")->as_list()) set += " --set " + *word.text();
  int checked = 0, more_devices = 0;
  for (const Json& opening : testing::non_empty(*none.find("openings")->as_list())) {
    const std::string flag = *opening.find("flag")->text();
    if (flag.rfind("--bound", 0) != 0) {
      ++more_devices;
      continue;
    }
    // The change alone, applied to the plan that needs least memory, leaves the stated margin.
    const Json changed = parse_json(
        trainyard("estimate --json" + kNoneJob + set + " --set " + *opening.find("words")->text(),
                  folder)
            .out,
        "changed");
    EXPECT_EQ(whole(*changed.find("verdict"), "margin_bytes"), whole(opening, "margin_bytes"))
        << flag;
    EXPECT_EQ(*changed.find("verdict")->find("fits")->boolean(), *opening.find("fits")->boolean());
    ++checked;
  }
  EXPECT_GT(checked, 0);
  EXPECT_GT(more_devices, 0);
}

// Activations leave where nothing else fits, unless somebody says that they stay.
TEST(Plan, WhereNothingElseFitsActivationsLeave) {
  const std::string job =
      "plan --model gpt2-xl --cluster h100-sxm:1 --global-batch 32 --set recompute=none --bound "
      "micro-batch=32";
  const Json found = document(job);
  const std::string words = words_of(found.find("best")->as_list()->front());
  for (const char* word : {"offload=activations", "offload-layers=all"})
    EXPECT_NE(words.find(word), std::string::npos) << words;
  const Json stays = document(job + " --set offload=none", kNotMet);
  EXPECT_TRUE(stays.find("best")->as_list()->empty());
}

TEST(Plan, ASpaceWithoutALegalPlanIsAnAnswer) {
  const TemporaryFolder folder;
  const Ran none = trainyard(
      "plan --model llama-3-8b --cluster h100-sxm:8 --global-batch 64 --bound tp=3", folder);
  EXPECT_EQ(none.exit, kNotMet) << none.err;
  EXPECT_NE(none.out.find("No plan: the knobs allow no combination that makes up 8 devices."),
            std::string::npos)
      << none.out;
  const Ran illegal = trainyard(
      "plan --model llama-3-8b --cluster h100-sxm:8 --global-batch 7 --set micro-batch=2", folder);
  EXPECT_EQ(illegal.exit, kNotMet) << illegal.err;
  EXPECT_NE(illegal.out.find("No plan is legal; most often: a global batch of 7"),
            std::string::npos)
      << illegal.out;
}

TEST(Plan, TheFrontIsDrawn) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(kJob + " --svg front.svg --png front.png", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  const std::string svg = file_text(folder.path() / "front.svg");
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("peak memory"), std::string::npos);
  EXPECT_EQ(file_text(folder.path() / "front.png").substr(1, 3), "PNG");
}

TEST(Plan, ObjectivesRankByTheirOwn) {
  const Json memory = document(kJob + " --objective memory --simulate 0");
  const Json::List& best = *memory.find("best")->as_list();
  for (std::size_t i = 1; i < best.size(); ++i)
    EXPECT_LE(whole(best[i - 1], "reserved_bytes"), whole(best[i], "reserved_bytes"));
  const Json money = document(
      "plan --model gpt2 --cluster h100-sxm:8 --global-batch 64 --set pp=1 --bound devices=1..8 "
      "--objective money --simulate 0");
  const Json::List& cheap = *money.find("best")->as_list();
  for (std::size_t i = 1; i < cheap.size(); ++i)
    EXPECT_LE(number(*cheap[i - 1].find("money")->find("value")),
              number(*cheap[i].find("money")->find("value")) * (1 + 1e-12));
}

TEST(Plan, AnInterruptStopsAndLeavesWhatWasFound) {
  const InterruptStop interrupt;
  EXPECT_FALSE(interrupt.token().stop_requested());
  std::raise(SIGINT);
  while (!interrupt.token().stop_requested()) std::this_thread::yield();
  const PlanSpace space =
      open_space({{"gpt2", "h100-sxm:8", "", {"global-batch=64", "pp=1"}}, {}, ""});
  SearchOptions options;
  options.stop = interrupt.token();
  const SearchResult found = search(space, options);
  EXPECT_TRUE(found.stopped);
  std::uint64_t fates = 0;
  for (const std::uint64_t count : found.fates) fates += count;
  EXPECT_EQ(fates, found.tried);
}

}  // namespace
}  // namespace trainyard
