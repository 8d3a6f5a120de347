#include "core/io/documents/arena_csv.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string arena_refusal(const std::string& text) {
  return testing::refusal([&] { parse_arena_csv(text, "b.csv"); });
}

TEST(ArenaCsv, ReadsTheExampleOfItsOwners) {
  const ArenaCsv csv = parse_arena_csv(
      "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n", "b.csv");
  ASSERT_EQ(csv.ids.size(), 5u);
  EXPECT_EQ(csv.ids[3], "b4");
  EXPECT_EQ(csv.lives[3].from, 9);
  EXPECT_EQ(csv.lives[3].to, 21);
  EXPECT_EQ(csv.lives[3].bytes, 4_B);
  EXPECT_TRUE(csv.offsets.empty());
  const std::vector<Bytes> offsets = {8_B, 8_B, 4_B, 4_B, 0_B};
  const std::string written = arena_csv(csv, offsets);
  EXPECT_EQ(written,
            "id,lower,upper,size,offset\nb1,0,3,4,8\nb2,3,9,4,8\nb3,0,9,4,4\nb4,9,21,4,4\n"
            "b5,0,21,4,0\n");
  const ArenaCsv again = parse_arena_csv(written, "again.csv");
  EXPECT_EQ(again.offsets, offsets);
  EXPECT_EQ(arena_csv(again, again.offsets), written);
}

// "end" is the last instant of a life, "upper" the first after it.
TEST(ArenaCsv, EndIsInclusive) {
  const ArenaCsv csv = parse_arena_csv("buffer, start, size, end\r\nx, 2, 64, 2\r\n\r\n", "b.csv");
  EXPECT_EQ(csv.lives[0].from, 2);
  EXPECT_EQ(csv.lives[0].to, 3);
  EXPECT_EQ(arena_csv(csv, std::vector<Bytes>{0_B}), "id,start,end,size,offset\nx,2,2,64,0\n");
  EXPECT_EQ(parse_arena_csv("id,begin,upper,size\nx,2,2,64\n", "b.csv").lives[0].to, 2);
}

TEST(ArenaCsv, RefusesWithLineAndReason) {
  const std::string header = "id,lower,upper,size\n";
  EXPECT_EQ(arena_refusal(""), "b.csv:1: expected a header id,lower,upper,size, found nothing");
  EXPECT_EQ(arena_refusal("id,lower,uper,size\n"),
            "b.csv:1: no column is called \"uper\"; did you mean \"upper\"?");
  EXPECT_EQ(arena_refusal("id,lower,upper\n"),
            "b.csv:1: expected a column size, found \"id,lower,upper\"");
  EXPECT_EQ(arena_refusal("id,lower,upper,size,end\n"),
            "b.csv:1: expected one column of upper, found \"upper\" and \"end\"");
  EXPECT_EQ(arena_refusal("id,lower,upper,size,alignment\n"),
            "b.csv:1: a column alignment is not supported; expected id, lower, upper, size and "
            "perhaps offset");
  EXPECT_EQ(arena_refusal(header + "a,0,1,4\nb,0,1\n"), "b.csv:3: expected 4 cells, found 3");
  EXPECT_EQ(arena_refusal(header + "a,0,1,4\n\nb,0,1,4\n"), "b.csv:3: expected 4 cells, found 1");
  EXPECT_EQ(arena_refusal(header + "a,0,1,4\na,0,1,4\n"),
            "b.csv:3: expected each id once, found \"a\" again");
  EXPECT_EQ(arena_refusal(header + ",0,1,4\n"), "b.csv:2: expected an id, found nothing");
  EXPECT_EQ(arena_refusal(header + "a,0,1.5,4\n"),
            "b.csv:2: expected a whole number as upper, found \"1.5\"");
  EXPECT_EQ(arena_refusal(header + "a,0,,4\n"),
            "b.csv:2: expected a whole number as upper, found \"\"");
  EXPECT_EQ(arena_refusal(header + "a,0,1,-4\n"), "b.csv:2: expected a size, found -4");
  EXPECT_EQ(arena_refusal(header + "a,5,1,4\n"), "b.csv:2: expected an upper from 5 on, found 1");
  EXPECT_EQ(arena_refusal("id,start,end,size\na,5,3,4\n"),
            "b.csv:2: expected an end from 5 on, found 3");
  EXPECT_EQ(arena_refusal(header + "a,0,99999999999999999999,4\n"),
            "b.csv:2: expected a whole number as upper, found \"99999999999999999999\"");
  EXPECT_EQ(arena_refusal(header + "a,0,1,4611686018427387904\n"),
            "b.csv:2: expected a size of less than 2^62, found 4611686018427387904");
  EXPECT_EQ(arena_refusal(header + "a,0,1,4611686018427387903\nb,0,1,9\n"),
            "b.csv:3: expected sizes that sum up to less than 2^62");
  EXPECT_EQ(arena_refusal("id,lower,upper,size,offset\na,0,1,4,-1\n"),
            "b.csv:2: expected an offset, found -1");
}

}  // namespace
}  // namespace trainyard
