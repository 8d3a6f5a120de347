#include "core/base/csv.h"

#include <gtest/gtest.h>

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
