// Tests the words for widths that are open, and what is said of wrong ones.
#include "core/plan/width_rule.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(WidthRule, HasThreeForms) {
  EXPECT_EQ(parse_width_rule("any").multiple, 1);
  EXPECT_TRUE(parse_width_rule("any").buckets.empty());
  EXPECT_EQ(parse_width_rule("multiple:64").multiple, 64);
  EXPECT_EQ(parse_width_rule("128,256,512").buckets, (std::vector<std::int64_t>{128, 256, 512}));
  EXPECT_EQ(parse_width_rule("7").buckets, (std::vector<std::int64_t>{7}));
}

TEST(WidthRule, RefusesWithWhatWasExpected) {
  for (const char* text : {"", "multiple:", "multiple:0", "64,32", "64,64", "64,", ",64", "6x",
                           "multiple:-3", "1000000001"})
    try {
      parse_width_rule(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("expected any, multiple:64, or ascending widths"),
                std::string::npos)
          << error.what();
    }
  try {
    parse_width_rule("multipel:8");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("multiple"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("did you mean"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace trainyard
