// Tests what hardware --efficiency and --energy print.
#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "tests/app/trainyard.h"

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
