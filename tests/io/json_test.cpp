#include "core/io/json/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string json_refusal(const std::string& text) {
  return testing::refusal([&] { parse_json(text, "f.json"); });
}

TEST(Json, ReadsEveryKindOfValue) {
  const Json value = parse_json(R"({"a": [1, -2.5, true, null, "x\n"], "b": {}})", "f.json");
  const JsonCursor root(value, "f.json");
  const auto items = root.at("a").items();
  EXPECT_EQ(items[0].integer(), 1);
  EXPECT_EQ(items[1].number(), -2.5);
  EXPECT_TRUE(items[2].boolean());
  EXPECT_TRUE(items[3].value().is_null());
  EXPECT_EQ(items[4].text(), "x\n");
  EXPECT_TRUE(root.at("b").keys().empty());
}

TEST(Json, SyntaxErrorsSayLineAndColumn) {
  EXPECT_EQ(json_refusal("{\n  \"a\": 1,\n  \"b\" 2\n}"),
            "f.json:3:8: expected JSON with ':' here, found \"2\"");
  EXPECT_EQ(json_refusal("[1, 2"), "f.json:1:6: expected JSON, found the end of the text");
  EXPECT_EQ(json_refusal(""), "f.json:1:1: expected JSON, found the end of the text");
  EXPECT_EQ(json_refusal("{\"a\": 1, \"a\": 2}"),
            "f.json:1:12: found the key \"a\" twice in one object");
}

TEST(Json, NestingIsLimitedQuickly) {
  EXPECT_NE(json_refusal(std::string(199, '[') + std::string(199, ']')).find("accepted"),
            std::string::npos);
  EXPECT_EQ(json_refusal(std::string(50'000'000, '[')),
            "f.json:1:201: expected at most 200 levels of nesting, found more");
}

TEST(Json, WhatOtherReadersForgiveIsRefused) {
  for (const char* text :
       {"[1,]", "{\"a\":1,}", "// x\n1", "NaN", "Infinity", "'a'", "01", "1 2", "\"\xff\"", "1e999",
        "{a:1}", "[1 2]", "\"\t\"", "tru", "+1", ".5", "\"\\ud800\""})
    EXPECT_NE(json_refusal(text), "accepted") << text;
}

TEST(Json, PlacesArePointers) {
  const Json value = parse_json(R"({"a/b": [{"tp": "8"}], "hiden": 1})", "f.json");
  const JsonCursor root(value, "f.json");
  EXPECT_EQ(testing::refusal([&] { root.at("a/b").items()[0].at("tp").integer(1, 64); }),
            "f.json#/a~1b/0/tp: expected a whole number from 1 to 64, found the text \"8\"");
  EXPECT_EQ(testing::refusal([&] { root.at("hidden"); }),
            "f.json#: expected the key \"hidden\", which is missing; did you mean \"hiden\"?");
  EXPECT_EQ(testing::refusal([&] { root.expect_keys({"a/b", "hidden"}); }),
            "f.json#/hiden: unknown key \"hiden\"; did you mean \"hidden\"?");
  EXPECT_EQ(testing::refusal([&] { root.at("hiden").bandwidth(); }),
            "f.json#/hiden: expected a bandwidth such as \"25 GB/s\", found \"1\", which has no "
            "unit: write 1 GB/s or 1 GiB/s");
  EXPECT_EQ(testing::refusal([&] { root.at("hiden").one_of({"x", "y"}); }),
            "f.json#/hiden: expected text, found 1");
}

TEST(Json, WritingIsCanonical) {
  Json value = Json::object();
  value.set("b", Json::List{1, 2.0, "x"})
      .set("a", Json::object().set("z", nullptr == nullptr).set("y", Json()));
  EXPECT_EQ(
      write_json(value),
      "{\n  \"a\": {\n    \"y\": null,\n    \"z\": true\n  },\n  \"b\": [1, 2.0, \"x\"]\n}\n");
  EXPECT_EQ(write_json_line(value), "{\"a\":{\"y\":null,\"z\":true},\"b\":[1,2.0,\"x\"]}");
  EXPECT_THROW(write_json(Json(std::nan(""))), Error);
}

TEST(Json, WhatIsWrittenReadsBackTheSame) {
  EXPECT_TRUE(rc::check("scalars", [](double real, std::int64_t whole, bool flag) {
    RC_PRE(std::isfinite(real));
    const Json value = Json::List{real, whole, flag};
    RC_ASSERT(parse_json(write_json(value), "f") == value);
    RC_ASSERT(parse_json(write_json_line(value), "f") == value);
  }));
  EXPECT_TRUE(rc::check("text", [](const std::vector<char>& letters) {
    std::string text;
    for (char c : letters) text += static_cast<char>(c & 0x7f);
    RC_ASSERT(parse_json(write_json(Json(text)), "f") == Json(text));
  }));
}

}  // namespace
}  // namespace trainyard
