#include "visualizers/viewmodel/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Bytes gib(double n) { return {static_cast<std::int64_t>(n * 1073741824.0)}; }

TEST(Format, MemoryIsInGibibytesToThreeDigits) {
  EXPECT_EQ(format_bytes(gib(71.66)), "71.7 GiB");
  EXPECT_EQ(format_bytes(gib(7.99)), "7.99 GiB");
  EXPECT_EQ(format_bytes(gib(640.4)), "640 GiB");
  EXPECT_EQ(format_bytes(gib(-0.66)), "\u22120.66 GiB");
  EXPECT_EQ(format_bytes(Bytes{81559} * (1 << 20)), "79.6 GiB")
      << "an 80 GB card as its driver reports it";
  EXPECT_EQ(format_bytes(512_B), "512 B");
  EXPECT_EQ(format_bytes(0_B), "0 B");
  EXPECT_EQ(format_bytes(33_MiB), "33.0 MiB");
  EXPECT_EQ(format_bytes(1_KiB), "1.00 KiB");
  EXPECT_EQ(format_bytes({std::numeric_limits<std::int64_t>::min()}), "\u22128192 PiB");
}

TEST(Format, TimePicksItsUnit) {
  EXPECT_EQ(format_duration(0s), "0 s");
  EXPECT_EQ(format_duration(7ns), "7 ns");
  EXPECT_EQ(format_duration(282us), "282 \u00B5s");
  EXPECT_EQ(format_duration(130ms), "130 ms");
  EXPECT_EQ(format_duration(4938ms), "4.94 s");
  EXPECT_EQ(format_duration(999'900us), "1.00 s") << "never 1000 ms";
  EXPECT_EQ(format_duration(-3ms), "\u22123.00 ms");
  EXPECT_EQ(format_step_time(4938ms), "4.938 s");
  EXPECT_EQ(format_step_time(130ms), "130 ms");
}

TEST(Format, PercentHasOneDecimal) {
  EXPECT_EQ(format_percent(0.347), "34.7 %");
  EXPECT_EQ(format_percent(1), "100.0 %");
  EXPECT_EQ(format_percent(-0.031), "\u22123.1 %");
  EXPECT_EQ(format_percent(-0.0001), "0.0 %") << "no minus on nothing";
  EXPECT_EQ(format_percent(std::nan("")), "\u2013");
}

TEST(Format, RatesAreInPowersOfTen) {
  EXPECT_EQ(format_bandwidth({369e9}), "369 GB/s");
  EXPECT_EQ(format_bandwidth({3.35e12}), "3.35 TB/s");
  EXPECT_EQ(format_flops({77.0e12}), "77.0 TFLOP");
  EXPECT_EQ(format_throughput({569e12}), "569 TFLOP/s");
}

TEST(Format, CountsAndSigns) {
  EXPECT_EQ(format_count(262144), "262\u2009144");
  EXPECT_EQ(format_count(-1769), "\u22121\u2009769");
  EXPECT_EQ(format_count(12), "12");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()),
            "\u22129\u2009223\u2009372\u2009036\u2009854\u2009775\u2009808");
  EXPECT_EQ(format_large(70.6e9), "70.6 B");
  EXPECT_EQ(format_signed(-0.81, 2), "\u22120.81");
  EXPECT_EQ(format_signed(1.5, 2), "+1.50");
  EXPECT_EQ(format_signed(-0.001, 2), "\u00B10");
}

TEST(Format, SpellsForAScreenReader) {
  EXPECT_EQ(spell_bytes(gib(71.66)), "71.7 gibibytes");
  EXPECT_EQ(spell_duration(282us), "282 microseconds");
  EXPECT_EQ(spell_percent(-0.03), "minus 3.0 percent");
  EXPECT_EQ(spell_large(70.6e9), "70.6 billion");
}

TEST(Format, IntensitiesHaveTwoDigitsBelowTenAndNoneAbove) {
  EXPECT_EQ(format_intensity(0.253), "0.25");
  EXPECT_EQ(format_intensity(139.6), "140");
  EXPECT_EQ(format_intensity(1.2e6), format_large(1.2e6));
}

}  // namespace
}  // namespace trainyard
