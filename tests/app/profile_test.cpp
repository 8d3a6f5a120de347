// Tests `trainyard profile` as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

constexpr const char* kShort =
    "profile --model mlp-small --data random --set global-batch=8 --steps 2 --rounds 1 --quiet";
constexpr const char* kLearner = "profile --learner cart-pole --steps 3 --rounds 1 --quiet";

TEST(ProfileVerb, AnswersInWordsPicturesAndATrace) {
  const TemporaryFolder folder;
  const Ran ran = trainyard(
      std::string(kShort) + " --svg p.svg --csv p.csv --trace t.json --window 100us", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  for (const char* words : {"without records", "recorded", "corrected", "records of level",
                            "update/forward", "outside", "oneDNN", "by samples of 100 us"})
    EXPECT_NE(ran.out.find(words), std::string::npos) << words << "\n" << ran.out;
  EXPECT_NE(file_text(folder.path() / "p.svg").find("What the records took"), std::string::npos);
  EXPECT_EQ(file_text(folder.path() / "p.csv").find("annotation,innermost,a kernel runs"), 0u);
  const Ran trace = trainyard("trace t.json --json", folder);
  ASSERT_EQ(trace.exit, kDone) << trace.err;
  EXPECT_GT(*parse_json(trace.out, "trace").find("spans")->integer(), 50);
}

TEST(ProfileVerb, TimesAddUpInTheDocument) {
  const TemporaryFolder folder;
  const Json found = parse_json(trainyard(std::string(kShort) + " --json", folder).out, "profile");
  conforms(found, parse_json(json_schema("span-profile"), "schema"), "span-profile");
  double recorded = 0, corrected = 0;
  for (const Json& row : *found.find("times")->as_list()) {
    recorded += *row.find("recorded_seconds")->real();
    corrected += *row.find("corrected_seconds")->real();
  }
  EXPECT_NEAR(recorded, *found.find("recorded_seconds")->real(), 1e-12);
  EXPECT_NEAR(corrected, *found.find("corrected_seconds")->real(), 1e-12);
  EXPECT_GE(*found.find("use")->find("inflation")->real(), 1);
}

TEST(ProfileVerb, ALearnerHasEnvironmentInferenceAndUpdate) {
  const TemporaryFolder folder;
  const Json found =
      parse_json(trainyard(std::string(kLearner) + " --json", folder).out, "learner");
  conforms(found, parse_json(json_schema("span-profile"), "schema"), "span-profile");
  for (const char* chain :
       {"acting/environment", "acting/inference", "update/forward", "update/optimizer"}) {
    const auto& rows = *found.find("times")->as_list();
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
      return *row.find("annotations")->text() == chain;
    })) << chain;
  }
  EXPECT_EQ(found.find("episode_lengths")->as_list()->size(), 3u);
}

TEST(ProfileVerb, ALevelAloneIsRecordedAlone) {
  const TemporaryFolder folder;
  const Json found =
      parse_json(trainyard(std::string(kShort) + " --kinds task --json", folder).out, "profile");
  ASSERT_EQ(found.find("records")->as_list()->size(), 1u);
  EXPECT_EQ(*found.find("records")->as_list()->front().find("level")->text(), "task");
  EXPECT_EQ(found.find("use"), nullptr) << "without kernels nothing says how busy a device is";
}

}  // namespace
}  // namespace trainyard
