#include "core/training/data/idx_file.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/refusal.h"
#include "tests/training/idx_writer.h"

namespace trainyard {
namespace {

using testing::gzip;
using testing::idx;

TEST(IdxFile, ReadsShapeAndBytes) {
  const IdxArray array = parse_idx(idx({2, 3}, "abcdef"), "x");
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(array.bytes, "abcdef");
  EXPECT_EQ(parse_idx(idx({0, 3}, ""), "x").bytes, "");
}

TEST(IdxFile, RefusesInASentence) {
  EXPECT_EQ(testing::refusal([] { parse_idx("\x89PNG", "a"); }),
            "a: expected an IDX file, which starts with two zero bytes, a type and a number of "
            "dimensions");
  std::string floats = idx({2}, "ab");
  floats[2] = 13;
  EXPECT_EQ(testing::refusal([&] { parse_idx(floats, "a"); }),
            "a: expected IDX elements of type 8 (unsigned bytes), found type 13");
  EXPECT_EQ(testing::refusal([] { parse_idx(idx({2, 3}, "abcde"), "a"); }),
            "a: expected 6 elements after the header of an IDX array of 2 x 3, found 5 bytes");
  EXPECT_EQ(testing::refusal([] { parse_idx(idx({1u << 31, 1u << 31, 1u << 31}, "a"), "a"); }),
            "a: expected more elements after the header of an IDX array of 2147483648 x 2147483648 "
            "x 2147483648, found 1 bytes");
}

TEST(IdxFile, EveryPrefixIsRefused) {
  const std::string whole = idx({2, 2, 2}, "abcdefgh"), packed = gzip(whole);
  EXPECT_EQ(gunzip(packed, 1_MiB, "x"), whole);
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(testing::refusal([&] { parse_idx(whole.substr(0, n), "x"); }), "accepted") << n;
  for (std::size_t n = 0; n < packed.size(); ++n)
    EXPECT_NE(testing::refusal([&] { gunzip(packed.substr(0, n), 1_MiB, "x"); }), "accepted") << n;
  EXPECT_NE(testing::refusal([&] { parse_idx(whole + "i", "x"); }), "accepted");
  EXPECT_NE(testing::refusal([&] { gunzip(packed + "i", 1_MiB, "x"); }), "accepted");
}

// The header holds a name and a date that no digest covers; all else is.
TEST(IdxFile, ADamagedArchiveNeverGivesOtherContent) {
  const std::string whole = idx({4, 4}, "abcdefghijklmnop"), packed = gzip(whole);
  for (std::size_t i = 0; i < packed.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = packed;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      std::string content = whole;
      testing::refusal([&] { content = gunzip(damaged, 1_MiB, "x"); });
      EXPECT_EQ(content, whole) << i << " " << bit;
    }
}

TEST(IdxFile, AnArchiveThatUnpacksToTooMuchIsRefused) {
  EXPECT_EQ(testing::refusal([] { gunzip(gzip(std::string(5'000'000, 'a')), 1_MiB, "bomb"); }),
            "bomb: expected at most 1.00 MiB unpacked, found more");
  EXPECT_EQ(gunzip(gzip(std::string(5'000'000, 'a')), 8_MiB, "big").size(), 5'000'000u);
}

}  // namespace
}  // namespace trainyard
