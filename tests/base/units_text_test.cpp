#include "core/base/units_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "tests/support/refusal.h"

namespace trainyard {
namespace {

template <class Read>
std::string refusal(Read read, const char* text) {
  return testing::refusal([&] { read(text, Place{"here"}); });
}

TEST(UnitsText, ReadsUnitsOfEachKind) {
  EXPECT_EQ(parse_bytes("80 GiB"), 80_GiB);
  EXPECT_EQ(parse_bytes("80GB").value, 80'000'000'000);
  EXPECT_EQ(parse_bytes(" 1.5 KiB "), 1536_B);
  EXPECT_EQ(parse_bytes("9223372036854775807 B").value, 9223372036854775807);
  EXPECT_EQ(parse_bandwidth("200 GB/s").value, 200e9);
  EXPECT_EQ(parse_bandwidth("400 Gb/s").value, 50e9);
  EXPECT_EQ(parse_bandwidth("400Gbps").value, 50e9);
  EXPECT_EQ(parse_throughput("312 TFLOP/s").value, 312e12);
  EXPECT_EQ(parse_throughput("312 TFLOPS").value, 312e12);
  EXPECT_EQ(parse_duration("3.2 ms").count(), 3'200'000);
  EXPECT_EQ(parse_duration("5 us").count(), 5'000);
  EXPECT_EQ(parse_duration("0.1 ns").count(), 1);
  EXPECT_EQ(parse_power("700 W").value, 700);
}

TEST(UnitsText, ABareNumberIsRefusedWithWhatToAppend) {
  EXPECT_EQ(refusal(parse_bandwidth, "25"),
            "here: expected a bandwidth such as \"25 GB/s\", found \"25\", which has no unit: "
            "write 25 GB/s or 25 GiB/s");
  EXPECT_EQ(refusal(parse_bytes, "80"),
            "here: expected an amount of memory such as \"80 GiB\", found \"80\", which has no "
            "unit: write 80 GB or 80 GiB");
}

TEST(UnitsText, NonsenseIsRefused) {
  EXPECT_EQ(refusal(parse_bytes, "80 Gib"),
            "here: expected an amount of memory such as \"80 GiB\", found \"80 Gib\"; did you mean "
            "\"GiB\"?");
  EXPECT_EQ(
      refusal(parse_bytes, "-1 GiB"),
      "here: expected an amount of memory such as \"80 GiB\", found \"-1 GiB\", which is negative");
  EXPECT_EQ(refusal(parse_bytes, "9223372036854775808 B"),
            "here: expected an amount of memory such as \"80 GiB\", found \"9223372036854775808 "
            "B\", which is out of range");
  for (const char* text : {"", " ", "GB", "nan GB", "inf GB", "1e999 GB", "9e18 GB", "0x10 B",
                           "1 2 GB", "+1 GB", "-0 B"})
    EXPECT_NE(refusal(parse_bytes, text), "accepted") << text;
  for (const char* text : {"1e400 s", "1e10 d", "-3 ms", "3 msec", "nan s"})
    EXPECT_NE(refusal(parse_duration, text), "accepted") << text;
  for (const char* text : {"", "12 ", "x", "1x", "9223372036854775808"})
    if (std::string_view(text) != "12 ") {
      EXPECT_NE(refusal(parse_integer, text), "accepted") << text;
    }
}

TEST(UnitsText, PrintsTheShortestExactForm) {
  EXPECT_EQ(to_text(80_GiB), "80 GiB");
  EXPECT_EQ(to_text(Bytes{80'000'000'000}), "80 GB");
  EXPECT_EQ(to_text(0_B), "0 B");
  EXPECT_EQ(to_text(BytesPerSecond{200e9}), "200 GB/s");
  EXPECT_EQ(to_text(FlopsPerSecond{989.4e12}), "989.4 TFLOP/s");
  EXPECT_EQ(to_text(Duration{3'200'000}), "3.2 ms");
  EXPECT_EQ(to_text(Duration{0}), "0 ns");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(4.0), "4");
}

TEST(UnitsText, WhatIsPrintedReadsBackTheSame) {
  EXPECT_TRUE(rc::check("bytes", [](std::uint64_t n) {
    const Bytes bytes{static_cast<std::int64_t>(n >> 1)};
    RC_ASSERT(parse_bytes(to_text(bytes)) == bytes);
  }));
  EXPECT_TRUE(rc::check("durations", [](std::uint64_t n) {
    const Duration time{static_cast<std::int64_t>(n >> 1)};
    RC_ASSERT(parse_duration(to_text(time)) == time);
  }));
  EXPECT_TRUE(rc::check("rates", [](double number) {
    RC_PRE(std::isfinite(number));
    const double rate = std::abs(number);
    RC_ASSERT(parse_bandwidth(to_text(BytesPerSecond{rate})).value == rate);
    RC_ASSERT(parse_throughput(to_text(FlopsPerSecond{rate})).value == rate);
    RC_ASSERT(parse_power(to_text(Watts{rate})).value == rate);
    RC_ASSERT(parse_number(to_text(number)) == number);
  }));
}

TEST(UnitsText, PeopleReadThreeDigits) {
  EXPECT_EQ(readable(Bytes{85'000'000'000}), "79.2 GiB");
  EXPECT_EQ(readable(80_GiB), "80.0 GiB");
  EXPECT_EQ(readable(512_B), "512 B");
  EXPECT_EQ(readable(0_B), "0 B");
  EXPECT_EQ(readable(BytesPerSecond{200e9}), "200 GB/s");
  EXPECT_EQ(readable(BytesPerSecond{999.96e9}), "1.00 TB/s");
  EXPECT_EQ(readable(FlopsPerSecond{312e12}), "312 TFLOP/s");
  EXPECT_EQ(readable(Duration{3'200'000}), "3.20 ms");
  EXPECT_EQ(readable(Duration::max()), "never");
  EXPECT_EQ(readable_count(70553706496.0), "70.6 B");
  EXPECT_EQ(readable_count(512), "512");
}

}  // namespace
}  // namespace trainyard
