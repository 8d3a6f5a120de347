// The verb `goodput` as scripts use it: its document conforms, its files say the same, and without
// failures its training is that of `estimate`.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/base/csv.h"
#include "core/io/json/json.h"
#include "tests/app/documents.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

const std::string kFailing =
    " --model llama-3-8b --cluster h100-sxm:64 --set tp=2 --set zero=1 --set global-batch=128";

Json goodput_of(const std::string& words, const TemporaryFolder& folder) {
  const Ran ran = trainyard("goodput" + kFailing + words + " --json", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  Json json = parse_json(ran.out, "goodput");
  conforms(json, parse_json(json_schema("goodput"), "schema"), "goodput");
  return json;
}

TEST(GoodputVerb, ItsDocumentConformsForEachRecovery) {
  const TemporaryFolder folder;
  for (const char* words : {"", " --failures none", " --recovery asynchronous --spares 2",
                            " --recovery peers --mtbf 5h", " --interval 1h --weeks 2"}) {
    const Json json = goodput_of(words, folder);
    const double goodput = number(*json.find("goodput")->find("value"));
    EXPECT_GT(goodput, 0) << words;
    EXPECT_LE(goodput, 1) << words;
  }
}

TEST(GoodputVerb, WithoutFailuresItsStepsAreThoseOfEstimate) {
  const TemporaryFolder folder;
  const Json json = goodput_of(" --failures none --tokens 1T", folder);
  const Ran ran = trainyard("estimate" + kFailing + " --json", folder);
  const Json result = parse_json(ran.out, "estimate");
  const double seconds = number(*json.find("cost")->find("seconds")->find("value"));
  EXPECT_EQ(seconds, number(*json.find("undisturbed")->find("seconds")->find("value")));
  EXPECT_NEAR(seconds * number(*result.find("tokens_per_second")) / 1e12, 1, 1e-9);
}

TEST(GoodputVerb, APlanThatDoesNotFitSaysSo) {
  const TemporaryFolder folder;
  const Ran ran = trainyard("goodput --model llama-3-70b --cluster h100-sxm:1 --json", folder);
  EXPECT_EQ(ran.exit, kNotMet) << ran.err;
  const Json json = parse_json(ran.out, "goodput");
  ASSERT_NE(json.find("does_not_fit"), nullptr);
  EXPECT_EQ(*json.find("sentences")->as_list()->front().text(), *json.find("does_not_fit")->text());
}

TEST(GoodputVerb, ItsRowsAreThoseOfItsDocument) {
  const TemporaryFolder folder;
  const Json json = goodput_of(" --csv rows.csv --svg both.svg", folder);
  const std::vector<CsvRecord> rows = parse_csv(file_text(folder.path() / "rows.csv"), "rows.csv");
  const std::size_t marks = 4;
  EXPECT_EQ(rows.size(), 1 + marks + json.find("curve")->as_list()->size() +
                             json.find("levers")->as_list()->size());
  EXPECT_NE(file_text(folder.path() / "both.svg").find("Weeks with drawn failures"),
            std::string::npos);
}

TEST(GoodputVerb, ASeedGivesTheSameWeeksAndAnotherGivesOthers) {
  const TemporaryFolder folder;
  const auto drawn = [&](const char* words) {
    return write_json(*goodput_of(words, folder).find("drawn"));
  };
  EXPECT_EQ(drawn(" --mtbf 6h --seed 3"), drawn(" --mtbf 6h --seed 3"));
  EXPECT_NE(drawn(" --mtbf 6h --seed 3"), drawn(" --mtbf 6h --seed 4"));
}

}  // namespace
}  // namespace trainyard
