#include "core/io/json/schema.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string schema_refusal(const char* text) {
  return testing::refusal([&] { read_document(text, "trainyard/plan", "p.json"); });
}

TEST(Schema, ADocumentSaysWhatItIs) {
  EXPECT_EQ(schema_refusal(R"({"schema": "trainyard/plan@1"})"), "accepted");
  EXPECT_EQ(schema_refusal("{}"),
            "p.json#: expected a plan (\"schema\": \"trainyard/plan@1\"), found no key \"schema\"");
  EXPECT_EQ(schema_refusal(R"({"schema": "trainyard/model@1"})"),
            "p.json#/schema: expected a plan (\"schema\": \"trainyard/plan@1\"), found "
            "\"trainyard/model@1\"");
  EXPECT_EQ(schema_refusal(R"({"schema": "trainyard/plam@1"})"),
            "p.json#/schema: expected a plan (\"schema\": \"trainyard/plan@1\"), found "
            "\"trainyard/plam@1\"; did you "
            "mean \"trainyard/plan@1\"?");
  EXPECT_EQ(schema_refusal(R"({"schema": "trainyard/plan@7"})"),
            "p.json#/schema: expected a plan (\"schema\": \"trainyard/plan@1\"), found version 7, "
            "which a newer "
            "Trainyard wrote");
  EXPECT_NE(schema_refusal(R"({"schema": "trainyard/plan@x"})"), "accepted");
  EXPECT_NE(schema_refusal(R"({"schema": 1})"), "accepted");
}

TEST(Schema, OldVersionsAreUpgradedStepByStep) {
  constexpr SchemaUpgrade kSteps[] = {
      [](Json document) { return std::move(document.set("two", 2)); },
      [](Json document) { return std::move(document.set("three", 3)); },
  };
  const Schema plan{"trainyard/plan", "a plan", kSteps};
  const Json from_one = upgraded(parse_json(R"({"schema": "trainyard/plan@1"})", "p"), plan, "p");
  EXPECT_EQ(write_json_line(from_one), R"({"schema":"trainyard/plan@3","three":3,"two":2})");
  const Json from_two = upgraded(parse_json(R"({"schema": "trainyard/plan@2"})", "p"), plan, "p");
  EXPECT_EQ(write_json_line(from_two), R"({"schema":"trainyard/plan@3","three":3})");
}

}  // namespace
}  // namespace trainyard
