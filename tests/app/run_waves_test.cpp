// A run of waves that share a device beside what "waves" says of the same plan.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/io/json/json.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

TEST(RunWaves, TheAlignedPeakIsThatOfTheCurve) {
  const TemporaryFolder folder;
  const std::string plan =
      " --model mlp-small --cluster cpu:1 --set schedule=tick-tock --set global-batch=64 --set "
      "micro-batch=16 --set precision=fp32";
  const std::string run = "run" + plan + " --steps 2 --data random --no-record --quiet";
  const Ran ran = trainyard(run + " --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json json = parse_json(ran.out, "run");
  conforms(json, parse_json(json_schema("run"), "schema"), "run");
  const Json waves = parse_json(trainyard("waves" + plan + " --json", folder).out, "waves");
  const Json& aligned = (*waves.find("offsets")->as_list())[0];
  ASSERT_NE(json.find("aligned_peak_bytes"), nullptr);
  EXPECT_EQ(*json.find("aligned_peak_bytes"), *aligned.find("peak_bytes"));

  const std::string text = trainyard(run, folder).out;
  const std::string curve = trainyard("waves" + plan, folder).out;
  const std::string said = "; aligned ";
  const auto at = curve.find(said);
  ASSERT_NE(at, std::string::npos) << curve;
  const std::string figure =
      curve.substr(at + said.size(), curve.find('\n', at) - at - said.size());
  EXPECT_NE(text.find("predicted    aligned"), std::string::npos) << text;
  EXPECT_NE(text.find(" " + figure + " "), std::string::npos) << figure << " in " << text;
}

TEST(RunWaves, OtherPlansHaveNone) {
  const TemporaryFolder folder;
  const std::string run =
      "run --model mlp-small --devices 1 --set global-batch=8 --set precision=fp32 --steps 2 "
      "--data random --no-record --quiet";
  EXPECT_EQ(parse_json(trainyard(run + " --json", folder).out, "run").find("aligned_peak_bytes"),
            nullptr);
  EXPECT_EQ(trainyard(run, folder).out.find("aligned"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
