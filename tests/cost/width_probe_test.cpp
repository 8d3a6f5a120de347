#include "core/cost/width_probe.h"

#include <gtest/gtest.h>

#include "tests/support/made_probe.h"

namespace trainyard {
namespace {

using testing::made_probe;
using testing::stairs_of;
using Sentences = std::vector<std::string>;

TEST(WidthProbe, SaysWhichWidthsAreDearAndWhichPaddingsAreFree) {
  const WidthProbe probe = made_probe(
      {.first = 120, .last = 150, .seconds = [](std::int64_t n) { return stairs_of(n, 16); }});
  EXPECT_EQ(probed_words(probe), "matmul forward, m=64 k=256");
  EXPECT_EQ(probe_sentences(probe),
            (Sentences{"2 steps up among 31 widths with 95 % confidence, all past multiples of 16.",
                       "n=129 instead of 128 costs 12.5 % more (12.5 to 12.5 %); 128 saves 11.1 %.",
                       "n=145 instead of 144 costs 11.1 % more (11.1 to 11.1 %); 144 saves 10.0 %.",
                       "Padding n=129 to 144 costs nothing (0.0 % at most).",
                       "Padding n=120 to 128 costs nothing (0.0 % at most).",
                       "Padding n=145 to 150 costs nothing (0.0 % at most)."}));
  EXPECT_EQ(probe_sentences(probe, 1)[2], "Further steps in the table: 1.");
}

TEST(WidthProbe, SaysHowLargeAStepCouldBeUnseen) {
  const WidthProbe probe = made_probe(
      {.first = 128, .last = 129, .seconds = [](std::int64_t) { return 1.0; }, .noise = 0.01});
  EXPECT_NEAR(largest_unseen_step(probe), 1.01 * 128 / 129 - 1, 1e-12);
  EXPECT_EQ(probe_sentences(probe).front(),
            "No step up was found: with 95 % confidence no width takes more than 0.2 % longer than "
            "its narrower neighbour beyond what the roofline says.");
}

TEST(WidthProbe, SaysWhereAWiderOneIsQuicker) {
  const WidthProbe probe = made_probe(
      {.first = 126, .last = 130, .seconds = [](std::int64_t n) { return n == 128 ? 1.25 : 1.0; }});
  EXPECT_EQ(probe_sentences(probe)[1],
            "n=128 instead of 127 costs 25.0 % more (25.0 to 25.0 %); 127 saves 20.0 %, and the "
            "wider 129 saves 20.0 %.");
}

}  // namespace
}  // namespace trainyard
