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
  EXPECT_EQ(format_bytes(gib(-0.66)), "\u2212676 MiB");
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

TEST(Format, ARangeStandsInTheUnitOfItsFigure) {
  EXPECT_EQ(band_text(Banded<Duration>{12300ms, 11600ms, 13100ms, ""}).text(),
            "12.300 s (11.6 to 13.1)");
  EXPECT_EQ(band_text(Banded<Duration>{1020ms, 950ms, 1100ms, ""}).text(), "1.020 s (0.95 to 1.10)")
      << "both ends in seconds";
  EXPECT_EQ(band_text(Banded<Duration>{130ms, 125ms, 1100ms, ""}).text(), "130 ms (125 to 1100)");
  EXPECT_EQ(band_text(Banded<Bytes>{gib(71.66), gib(69.1), gib(74.2), ""}).text(),
            "71.7 GiB (69.1 to 74.2)");
  EXPECT_EQ(band_text(Banded<Bytes>{gib(0.5), gib(-0.25), gib(1.25), ""}).text(),
            "512 MiB (\u2212256 to 1280)");
  EXPECT_EQ(band_text(Banded<Joules>{{36}, {36}, {36}, ""}).text(), "0.01 Wh");
  EXPECT_EQ(band_text(Banded<Joules>{{35}, {7}, {70}, ""}).text(), "35.0 J (7.00 to 70.0)");
  EXPECT_EQ(band_text(Banded<Joules>{{0.0042}, {0.0042}, {0.0042}, ""}).text(), "4.20 mJ");
  EXPECT_EQ(band_text(Banded<Joules>{}).text(), "0.00 Wh");
  EXPECT_EQ(band_text(Banded<Joules>{{3.6e6}, {1.8e6}, {7.2e6}, ""}).text(),
            "1.00 kWh (0.50 to 2.00)");
  EXPECT_EQ(carbon_text({9e-6, 6e-6, 1.4e-5, ""}).text(), "9.00 mg CO2e (6.00 to 14.0)");
  EXPECT_EQ(carbon_text({137, 86.5, 219, ""}).text(), "137 kg CO2e (86.5 to 219)");
  EXPECT_EQ(carbon_text({11.39e6, 11e6, 12e6, ""}).text(), "11.4 kt CO2e (11.0 to 12.0)");
  EXPECT_EQ(band_percent({0.377, 0.35, 0.405, ""}).text(), "37.7 % (35.0 to 40.5)");
  EXPECT_EQ(band_number({1038, 960, 1120, ""}, "tokens/s").text(),
            "1\u2009038 tokens/s (960 to 1\u2009120)");
  EXPECT_EQ(band_number({0.4, 0.3, 0.5, ""}, "$").text(), "$0.40 (0.30 to 0.50)");
  EXPECT_EQ(band_number({1335465, 1e6, 2.5e6, ""}, "$").text(), "$1.34 M (1.00 to 2.50)");
}

TEST(Format, AFigureWithoutARangeStandsAlone) {
  EXPECT_EQ(band_text(Banded<Duration>{4938ms, 4938ms, 4938ms, ""}).text(), "4.938 s");
  EXPECT_EQ(band_text(Banded<Bytes>{gib(30), {}, {}, ""}).text(), "30.0 GiB");
  EXPECT_EQ(band_text(Banded<Duration>{}).text(), "0 s");
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
