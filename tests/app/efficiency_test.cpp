// Tests what hardware --efficiency and --energy print, and the document of the first.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/cli/verbs/json_schemas.h"
#include "core/cost/engine_efficiency.h"
#include "core/io/json/json.h"
#include "tests/app/trainyard.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

TEST(Efficiency, ListsEnginesDevicesEnergiesAndATiledProduct) {
  const TemporaryFolder folder;
  const Ran ran = trainyard("hardware --efficiency", folder);
  EXPECT_EQ(ran.exit, kDone) << ran.err;
  for (const char* row : {"  Cell                       not stated              5         88.0 %\n",
                          "  tiled for SRAM of 32 K words           56.8         15.4 %\n",
                          "in 16-bit integers it is 3556 times", "  h100-sxm "})
    EXPECT_NE(ran.out.find(row), std::string::npos) << row << ran.out;
}

TEST(Efficiency, IsADocumentToo) {
  const TemporaryFolder folder;
  const Ran ran = trainyard("hardware --efficiency --json", folder);
  ASSERT_EQ(ran.exit, kDone) << ran.err;
  const Json answer = parse_json(ran.out, "efficiency");
  conforms(answer, parse_json(json_schema("efficiency"), "schema"), "efficiency");
  EXPECT_EQ(answer.find("engines")->as_list()->size(), engines().size());
  EXPECT_EQ(answer.find("devices")->as_list()->size(), device_efficiencies().size());
  EXPECT_EQ(answer.find("energies")->as_list()->size(), 7u);  // two figures each
  EXPECT_EQ(answer.find("product")->as_list()->size(), 3u);
}

TEST(Efficiency, AnAnswerStatesOperationsOnlyWhereTheyAreAskedFor) {
  const TemporaryFolder folder;
  const std::string plain = "estimate --model gpt2 --cluster h100-sxm:8,region=sweden,pue=1.1";
  const Ran without = trainyard(plain, folder), with = trainyard(plain + " --energy", folder);
  EXPECT_EQ(without.out.find("energy by operation"), std::string::npos);
  EXPECT_NE(with.out.find("energy by operation"), std::string::npos);
  for (const Ran& ran : {without, with}) {
    EXPECT_EQ(ran.exit, kDone) << ran.err;
    EXPECT_NE(ran.out.find("at board power throughout"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("kg of CO2 equivalents a step"), std::string::npos);
    EXPECT_NE(ran.out.find("40.7 g of CO2 equivalents per kWh in Sweden (2023"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard
