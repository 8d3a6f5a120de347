#include "core/plan/params.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/support/refusal.h"

namespace trainyard {
namespace {

const ParamSpec kStage{
    .name = "stage", .fallback = std::int64_t{1}, .doc = "ZeRO stage", .low = 0, .high = 3};
const ParamSpec kRatio{.name = "ratio", .fallback = 0.5, .doc = "share", .low = 0, .high = 1};
const ParamSpec kPolicy{.name = "policy",
                        .fallback = std::string("none"),
                        .doc = "what is recomputed",
                        .values = {"none", "selective", "full"}};
const ParamSpec kOverlap{.name = "overlap", .fallback = true, .doc = "beside computation"};
const ParamSpec kShard{.name = "shard", .fallback = std::int64_t{0}, .doc = "ranks"};
const std::array kSpecs = {kStage, kRatio, kPolicy, kOverlap, kShard};

std::string refusal(const ParamSpec& spec, std::string_view text) {
  return testing::refusal([&] { parse_param(spec, text, {"--set zero"}); });
}

TEST(Params, WordsBecomeTheTypeOfTheDefault) {
  EXPECT_EQ(parse_param(kStage, "3", {}), ParamValue(std::int64_t{3}));
  EXPECT_EQ(parse_param(kRatio, "0.25", {}), ParamValue(0.25));
  EXPECT_EQ(parse_param(kPolicy, "full", {}), ParamValue(std::string("full")));
  EXPECT_EQ(parse_param(kOverlap, "off", {}), ParamValue(false));
  EXPECT_EQ(parse_param(kOverlap, "true", {}), ParamValue(true));
}

TEST(Params, RefusalsSayWhatWasExpectedAndFound) {
  EXPECT_EQ(refusal(kStage, "4"), "--set zero: expected a whole number from 0 to 3, found \"4\"");
  EXPECT_EQ(refusal(kStage, "two"),
            "--set zero: expected a whole number from 0 to 3, found \"two\"");
  EXPECT_EQ(refusal(kStage, ""), "--set zero: expected a whole number from 0 to 3, found \"\"");
  EXPECT_EQ(refusal(kStage, "99999999999999999999"),
            "--set zero: expected a whole number from 0 to 3, found \"99999999999999999999\"");
  EXPECT_EQ(refusal(kRatio, "nan"), "--set zero: expected a number from 0 to 1, found \"nan\"");
  EXPECT_EQ(refusal(kShard, "-1"),
            "--set zero: expected a whole number of at least 0, found \"-1\"");
  EXPECT_EQ(refusal(kOverlap, "maybe"), "--set zero: expected on or off, found \"maybe\"");
  EXPECT_EQ(refusal(kPolicy, "ful"),
            "--set zero: expected none, selective or full, found \"ful\"; did you mean \"full\"?");
}

TEST(Params, ChecksNamesTypesAndRanges) {
  const Params params = {{"stagee", std::int64_t{1}},
                         {"ratio", 2.0},
                         {"policy", std::int64_t{3}},
                         {"shard", std::int64_t{8}}};
  const Diagnostics found = check_params(params, kSpecs, {"plan#/choices/zero"});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].message, "expected none, selective or full, found \"3\"");
  EXPECT_EQ(found[0].place.text, "plan#/choices/zero/policy");
  EXPECT_EQ(found[1].message, "expected a number from 0 to 1, found \"2\"");
  EXPECT_EQ(found[2].message, "no parameter is called \"stagee\"; did you mean \"stage\"?");
}

TEST(Params, DefaultsFillWhatWasNotGiven) {
  const Params all = with_defaults({{"stage", std::int64_t{3}}}, kSpecs);
  EXPECT_EQ(all.integer("stage"), 3);
  EXPECT_EQ(all.number("ratio"), 0.5);
  EXPECT_EQ(all.text("policy"), "none");
  EXPECT_TRUE(all.flag("overlap"));
}

TEST(Params, AWholeNumberServesWhereANumberIsWanted) {
  const Params given = {{"ratio", std::int64_t{1}}};
  EXPECT_TRUE(check_params(given, kSpecs, {}).empty());
  EXPECT_EQ(with_defaults(given, kSpecs).number("ratio"), 1.0);
}

TEST(Params, AMissingNameIsOurOwnMistake) {
  const Params params = {{"stage", std::int64_t{3}}};
  EXPECT_THROW(params.integer("shard"), Error);
  EXPECT_THROW(params.text("stage"), Error);
}

TEST(Params, TextOfAValueReadsBackAsIt) {
  for (const ParamValue& value : {ParamValue(0.1), ParamValue(1.0), ParamValue(1e-7)})
    EXPECT_EQ(parse_param(kRatio, to_text(value), {}), value);
  EXPECT_EQ(to_text(ParamValue(true)), "true");
}

}  // namespace
}  // namespace trainyard
