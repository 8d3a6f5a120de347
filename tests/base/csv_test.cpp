#include "core/base/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::vector<std::vector<std::string>> fields(std::string_view text) {
  std::vector<std::vector<std::string>> all;
  for (const CsvRecord& record : parse_csv(text, "a.csv")) all.push_back(record.fields);
  return all;
}

std::string refusal(std::string_view text) {
  return testing::refusal([&] { parse_csv(text, "a.csv"); });
}

TEST(Csv, SplitsAtCommasAndLines) {
  using V = std::vector<std::vector<std::string>>;
  EXPECT_EQ(fields("a,b\n1,\r\n\n,2"), (V{{"a", "b"}, {"1", ""}, {"", "2"}}));
  EXPECT_EQ(fields("\xEF\xBB\xBFid\nx"), (V{{"id"}, {"x"}}));
  EXPECT_TRUE(fields("").empty());
}

// In pieces of any size it is the same, up to the same sentence.
TEST(Csv, BlocksGiveWhatTheWholeGives) {
  const auto whole = [](const std::string& text) {
    std::string all;
    try {
      for (const CsvRecord& record : parse_csv(text, "a.csv"))
        for (const std::string& field : record.fields)
          all += std::to_string(record.line) + "[" + field + "]";
    } catch (const Error& error) {
      return describe(error);
    }
    return all;
  };
  const auto pieces = [](const std::string& text, std::size_t size) {
    std::string all;
    try {
      CsvRecords records("a.csv", 1000, [&](const CsvRecord& record) {
        for (const std::string& field : record.fields)
          all += std::to_string(record.line) + "[" + field + "]";
      });
      for (std::size_t at = 0; at < text.size(); at += size) records.feed(text.substr(at, size));
      records.finish();
    } catch (const Error& error) {
      return describe(error);
    }
    return all;
  };
  EXPECT_EQ(pieces("\xEF\xBB\xBF\"a\nb\",c\n", 2), whole("\xEF\xBB\xBF\"a\nb\",c\n"));
  EXPECT_TRUE(rc::check("pieces and whole agree", [&] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("a,\"\n\r")));
    RC_ASSERT(pieces(text, *rc::gen::inRange<std::size_t>(1, 5)) == whole(text));
  }));
  EXPECT_EQ(testing::refusal([] {
              CsvRecords records("a.csv", 4, [](const CsvRecord&) {});
              records.feed("a\nb,c,d\n");
            }),
            "a.csv:2: expected a row of at most 4 bytes, found a longer one");
}

TEST(Csv, QuotesHoldCommasQuotesAndLines) {
  using V = std::vector<std::vector<std::string>>;
  EXPECT_EQ(fields("\"a,b\",\"say \"\"no\"\"\"\n\"two\nlines\",x"),
            (V{{"a,b", "say \"no\""}, {"two\nlines", "x"}}));
}

TEST(Csv, CountsLinesInsideQuotes) {
  const auto records = parse_csv("h\n\"1\n2\"\n3", "a.csv");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[1].line, 2);
  EXPECT_EQ(records[2].line, 4);
}

TEST(Csv, SaysWhereAQuoteGoesWrong) {
  EXPECT_EQ(refusal("a\n\"b"),
            "a.csv:2: expected the quote of a field to be closed, found the end of the file");
  EXPECT_EQ(refusal("a\n\"b\"c"),
            "a.csv:2: expected a comma or the end of the line behind a quoted field, found \"c\"");
}

}  // namespace
}  // namespace trainyard
