// Tests the verb fit from a budget to a plan that another verb takes.
#include <gtest/gtest.h>

#include <initializer_list>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/documents.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

double figure(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* key : path) at = at->find(key);
  return number(*at);
}

constexpr const char* kWide =
    "fit --model wrn-28-2 --cluster cpu:1 --set global-batch=100 --set micro-batch=100 "
    "--set precision=fp32 --set optimizer=momentum";

TEST(FitVerb, WhatItAppliesIsWhatItPromised) {
  const TemporaryFolder folder;
  const Ran json =
      trainyard(std::string(kWide) + " --budget 60MiB --json --fitted plan.json", folder);
  ASSERT_EQ(json.exit, kDone) << json.err;
  const Json answer = parse_json(json.out, "fit");
  conforms(answer, parse_json(json_schema("fit"), "schema"), "fit");
  const Ran estimate =
      trainyard("estimate --model wrn-28-2 --cluster cpu:1 --plan plan.json --json", folder);
  ASSERT_EQ(estimate.exit, kDone) << estimate.err;
  const Json again = parse_json(estimate.out, "estimate");
  EXPECT_DOUBLE_EQ(figure(again, {"step_seconds", "value"}),
                   figure(answer, {"chosen", "step_seconds"}));
}

TEST(FitVerb, SaysHowFarTheSmallestPlanIsWhereNoneFits) {
  const TemporaryFolder folder;
  const Ran text = trainyard(std::string(kWide) + " --budget 1MiB --svg fit.svg", folder);
  EXPECT_EQ(text.exit, kNotMet);
  EXPECT_EQ(text.out.find("Nothing fits in 1.00 MiB: the smallest plan takes "), 0u) << text.out;
  EXPECT_NE(file_text(folder.path() / "fit.svg").find("budget 1.00 MiB"), std::string::npos);
}

TEST(FitVerb, TrainsBothPlansAndShowsMeasuredPeaks) {
  const TemporaryFolder folder;
  const Ran json = trainyard(
      "fit --model gpt-tiny --cluster cpu:1 --set global-batch=8 --set micro-batch=8 --set "
      "precision=fp32 --keep precision --budget 12MiB --steps 2 --data random --json",
      folder);
  ASSERT_EQ(json.exit, kDone) << json.err;
  const Json answer = parse_json(json.out, "fit");
  EXPECT_LE(figure(answer, {"trials", "chosen", "measured_peak_bytes"}), 12.0 * 1024 * 1024);
  EXPECT_GT(figure(answer, {"trials", "start", "measured_peak_bytes"}), 12.0 * 1024 * 1024);
}

}  // namespace
}  // namespace trainyard
