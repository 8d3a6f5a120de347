// Runs with a cache of decoded samples: they learn to the bit what runs without one do, and hit as
// often as the formula says.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

// 1,024 samples of noise, which come again after eight steps of 128. A decoded one has 784 numbers
// of 4 bytes, of which 300 are 940,800 bytes.
TEST(InputCache, HitsTheShareOfTheDataSetThatFits) {
  const TemporaryFolder folder;
  const std::string plain =
      "run --model mlp-small --data random --steps 24 --devices 2 --no-record --quiet --set "
      "global-batch=128 --set micro-batch=32 --set precision=fp32";
  const std::string cached = plain + " --set input=cached --set input.memory=940800B";
  const Ran without = trainyard(plain + " --json", folder),
            with = trainyard(cached + " --json", folder),
            stored = trainyard(plain + " --set input=storage --json", folder);
  ASSERT_EQ(with.exit, kDone) << with.err;
  ASSERT_EQ(stored.exit, kDone) << stored.err;
  const Json document = parse_json(with.out, "run"), none = parse_json(without.out, "run"),
             reads = parse_json(stored.out, "run");
  conforms(document, parse_json(json_schema("run"), "schema"), "run");
  EXPECT_EQ(*document.find("loss"), *none.find("loss"));
  EXPECT_EQ(*reads.find("loss"), *none.find("loss"));
  EXPECT_EQ(none.find("input"), nullptr);
  const auto count = [](const Json& of, const char* key) {
    return *of.find("input")->find(key)->integer();
  };
  EXPECT_EQ(count(document, "kept"), 300);
  EXPECT_EQ(count(document, "kept_bytes"), 940'800);
  EXPECT_EQ(count(document, "hits"), 2 * 300);
  EXPECT_EQ(count(document, "misses"), 3 * 1024 - 2 * 300);
  EXPECT_EQ(count(reads, "hits"), 0);
  EXPECT_EQ(count(reads, "misses"), 3 * 1024);
  const std::string text = trainyard(cached, folder).out;
  EXPECT_NE(text.find("input         2472 samples decoded, 600 from the cache (19.5 %), which "
                      "keeps 300 of them in 919 KiB\n"),
            std::string::npos)
      << text;
}

TEST(InputCache, AResultSaysWhatItWaitsFor) {
  const TemporaryFolder folder;
  const std::string words =
      "estimate --model resnet-50 --cluster v100-sxm2-32:128,inter=3.125GB/s --set "
      "global-batch=32768 --set micro-batch=256 --set input=storage";
  const Ran ran = trainyard(words + " --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json result = parse_json(ran.out, "result");
  conforms(result, parse_json(json_schema("result"), "schema"), "result");
  EXPECT_EQ(*result.find("input")->find("slowest")->text(), "decoding");
  EXPECT_GT(*result.find("breakdown_seconds")->find("input")->real(), 0);
  EXPECT_NE(trainyard(words, folder).out.find("input         the step waits "), std::string::npos);
}

}  // namespace
}  // namespace trainyard
