// Runs that are judged, as a user makes them: repeats of two plans and their verdict, reports,
// sharpness.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

constexpr const char* kRepeat =
    "run --model mlp-small --data random --steps 6 --devices 1 --quiet --set global-batch=16 --set "
    "precision=fp32 --evaluate --repeat 7 --json";

TEST(RepeatedRuns, TwoPlansRepeatedAlikeAreJudgedInPairs) {
  const TemporaryFolder folder;
  const Ran slow = trainyard(std::string(kRepeat) + " --train rate=0.0001", folder),
            fast = trainyard(std::string(kRepeat) + " --train rate=0.02", folder);
  ASSERT_EQ(slow.exit, kDone) << slow.err;
  ASSERT_EQ(fast.exit, kDone) << fast.err;
  const Json repeats = parse_json(slow.out, "repeats");
  conforms(repeats, parse_json(json_schema("repeats"), "schema"), "repeats");
  EXPECT_EQ(*repeats.find("tag")->text(), "repeat-1");
  EXPECT_EQ(repeats.find("runs")->as_list()->size(), 7u);
  const Ran ran = trainyard("compare runs:tag:repeat-1 run:8..14 --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json comparison = parse_json(ran.out, "comparison");
  conforms(comparison, parse_json(json_schema("comparison"), "schema"), "comparison");
  const Json& loss = comparison.find("judged")->as_list()->at(1);
  EXPECT_EQ(*loss.find("name")->text(), "evaluation_loss");
  EXPECT_EQ(loss.find("a")->as_list()->size(), 7u);
  EXPECT_EQ(*loss.find("paired"), Json(true));
  const std::string text = trainyard("compare runs:tag:repeat-1 run:8..14", folder).out;
  EXPECT_NE(text.find("\n  Loss on other samples, A       7 "), std::string::npos) << text;
  // One run of each says nothing, however far apart they are.
  EXPECT_NE(
      trainyard("compare run:1 run:8", folder).out.find("Too few runs to tell A from B: 1 pair"),
      std::string::npos);
}

// A repeat is the run that its seeds name, to the bit.
TEST(RepeatedRuns, ARepeatIsTheRunOfItsSeeds) {
  const TemporaryFolder folder;
  ASSERT_EQ(trainyard(std::string(kRepeat) + " --vary order", folder).exit, kDone);
  const std::string plain =
      "run --model mlp-small --data random --steps 6 --devices 1 --quiet --no-record --set "
      "global-batch=16 --set precision=fp32 --evaluate --json --train order-seed=3";
  const Json again = parse_json(trainyard(plain, folder).out, "run");
  const Json third = parse_json(trainyard("runs show 3 --json", folder).out, "run");
  EXPECT_EQ(*again.find("loss"), *third.find("loss"));
  EXPECT_EQ(*again.find("evaluation"), *third.find("evaluation"));
}

// The list of runs has the losses with which a run is compared while it goes on.
TEST(RepeatedRuns, ARuleTellsThatARunRepeatsAnEarlierOne) {
  const TemporaryFolder folder;
  const std::string plain =
                        "run --model mlp-small --data random --steps 12 --devices 1 --quiet --set "
                        "global-batch=16 "
                        "--set precision=fp32",
                    watched = " --rules similar-across-runs.run=1 --rule-interval 6",
                    told = "the losses of the last 10 steps are those of run 1 at the same steps";
  ASSERT_EQ(trainyard(plain, folder).exit, kDone);
  const Ran same = trainyard(plain + watched, folder);
  ASSERT_EQ(same.exit, kDone) << same.err;
  EXPECT_NE(same.out.find(told), std::string::npos) << same.out;
  const Ran other = trainyard(plain + watched + " --train rate=0.0123", folder);
  ASSERT_EQ(other.exit, kDone) << other.err;
  EXPECT_EQ(other.out.find(told), std::string::npos) << other.out;
}

// The report of all runs is honest; of some of them it says that there are others. B-REL-06.
TEST(RepeatedRuns, AReportOfThemStatesWhatIsLeftOut) {
  const TemporaryFolder folder;
  const std::string repeat =
      "run --model mlp-small --data random --steps 3 --devices 1 --quiet --set global-batch=16 "
      "--set precision=fp32 --repeat 4 --vary order";
  ASSERT_EQ(trainyard(repeat + " --train rate=0.001", folder).exit, kDone);
  ASSERT_EQ(trainyard(repeat + " --train rate=0.002", folder).exit, kDone);
  const Ran whole = trainyard("compare run:1..4 run:5..8 --report whole.json --quiet", folder);
  ASSERT_EQ(whole.exit, kDone) << whole.err;
  const Ran clean = trainyard("lint whole.json", folder);
  EXPECT_EQ(clean.exit, kDone) << clean.out;
  conforms(parse_json(file_text(folder.path() / "whole.json"), "report"),
           parse_json(json_schema("benchmark-report"), "schema"), "report");
  ASSERT_EQ(trainyard("compare run:1..4 run:7 --report picked.json --quiet", folder).exit, kDone);
  const Ran picked = trainyard("lint picked.json --json", folder);
  EXPECT_EQ(picked.exit, kNotMet);
  EXPECT_NE(picked.out.find("\"cherry-picked-runs\""), std::string::npos) << picked.out;
  conforms(parse_json(picked.out, "lint"), parse_json(json_schema("lint"), "schema"), "lint");
  for (const char* flaw :
       {"cherry-picked-runs", "cherry-picked-seeds", "winning-metric", "tuned-on-test",
        "unequal-tuning", "first-pass", "rivals-threshold", "logarithmic-axis", "not-significant"})
    EXPECT_NE(trainyard("lint example", folder).out.find(flaw), std::string::npos) << flaw;
}

TEST(SharpnessVerb, AnswersInWordsNumbersAndAPicture) {
  const TemporaryFolder folder;
  const std::string plain =
      "sharpness --model mlp-small --data random --set global-batch=8 --set optimizer=momentum "
      "--train rate=0.05 --products 8 --tolerance 1e-9 --quiet";
  const Ran text = trainyard(plain + " --svg slice.svg", folder);
  ASSERT_EQ(text.exit, kDone) << text.err;
  EXPECT_NE(text.out.find("so that it has not settled: more products go on"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("gradients 10 updates old"), std::string::npos) << text.out;
  EXPECT_NE(file_text(folder.path() / "slice.svg").find("sharpest direction"), std::string::npos);
  const Json document = parse_json(trainyard(plain + " --json", folder).out, "sharpness");
  conforms(document, parse_json(json_schema("sharpness"), "schema"), "sharpness");
  const std::int64_t products = *document.find("products")->integer();
  EXPECT_TRUE(products == 8 || products == 16) << products;
}

}  // namespace
}  // namespace trainyard
