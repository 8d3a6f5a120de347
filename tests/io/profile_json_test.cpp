#include "core/io/documents/profile_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

ParameterProfile example() {
  ParameterProfile profile;
  profile.rows = "runs.csv: 12 rows in 3 groups";
  profile.parameters[Parameter::ProductAmpere] = 0.8125;
  profile.parameters[Parameter::Straggler] = 0;
  profile.determined[static_cast<std::size_t>(Parameter::ProductAmpere)] = 0.4375;
  profile.before = {0.11, 0.25, 0.3};
  profile.after = {0.02, 0.05, 0.06};
  profile.notes = {"straggler is not determined by these rows"};
  return profile;
}

std::string profile_refusal(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "\"" + from + "\" is not there";
  text.replace(at, from.size(), to);
  return testing::refusal([&] { read_profile(text, "p.json"); });
}

TEST(ProfileJson, ReadsBackWhatItWrote) {
  const std::string text = write_profile(example());
  EXPECT_EQ(read_profile(text, "p.json"), example());
  EXPECT_EQ(write_profile(read_profile(text, "p.json")), text);
}

TEST(ProfileJson, WhatItDoesNotNameKeepsTheValueThatShips) {
  const ParameterProfile read = read_profile(
      R"({"schema": "trainyard/profile@1", "rows": "r", "parameters": {},
          "residual": {"shipped": {"median": 0, "p90": 0, "worst": 0},
                       "fitted": {"median": 0, "p90": 0, "worst": 0}}})",
      "p.json");
  EXPECT_EQ(read.parameters, Parameters());
}

TEST(ProfileJson, RefusesWhatItDoesNotKnow) {
  const std::string text = write_profile(example());
  EXPECT_EQ(profile_refusal(text, "product.ampere", "product.amper"),
            "p.json#/parameters/product.amper: unknown key \"product.amper\"; did you mean "
            "\"product.ampere\"?");
  EXPECT_EQ(profile_refusal(text, "0.8125", "1.25"),
            "p.json#/parameters/product.ampere/value: expected product.ampere within 0.1 to 1 "
            "(share), found 1.25");
  EXPECT_EQ(profile_refusal(text, "0.4375", "0"),
            "p.json#/parameters/product.ampere/determined: expected a number above 0 and at most "
            "1, found 0");
  EXPECT_EQ(profile_refusal(text, "0.11", "-1"),
            "p.json#/residual/shipped/median: expected an amount from 0 to 1e+30, found -1");
}

TEST(ProfileJson, EveryValueWithinItsBoundsComesBackToTheBit) {
  EXPECT_TRUE(rc::check([] {
    ParameterProfile profile = example();
    for (const ParameterInfo& row : parameter_table())
      profile.parameters[row.parameter] =
          row.low + (row.high - row.low) * *rc::gen::inRange(0, 1'000'001) * 1e-6;
    RC_ASSERT(read_profile(write_profile(profile), "p.json") == profile);
  }));
}

}  // namespace
}  // namespace trainyard
