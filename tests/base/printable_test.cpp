#include "core/base/printable.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/utf8.h"

namespace trainyard {
namespace {

TEST(Printable, ShowsWhatActsOnATerminal) {
  EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable(std::string_view("\0\r", 2)), "\\x00\\x0d");
  EXPECT_EQ(printable("\x7f"), "\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(printable("\x9b\xff"), "\\x9b\\xff");
  EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x80\x93 \xf0\x9f\x9a\x82"),
            "caf\xc3\xa9 \xe2\x80\x93 \xf0\x9f\x9a\x82");
}

TEST(Printable, IsPlainWhateverTheText) {
  EXPECT_TRUE(
      rc::check("no byte acts, and showing twice changes nothing", [](const std::string& t) {
        const std::string shown = printable(t);
        RC_ASSERT(is_utf8(shown));
        for (std::size_t i = 0; i < shown.size(); ++i) {
          const auto byte = static_cast<unsigned char>(shown[i]);
          RC_ASSERT(byte >= 0x20 || byte == '\n' || byte == '\t');
          RC_ASSERT(byte != 0x7F);
          RC_ASSERT(byte != 0xC2 || static_cast<unsigned char>(shown[i + 1]) >= 0xA0);
        }
        RC_ASSERT(printable(shown) == shown);
      }));
}

}  // namespace
}  // namespace trainyard
