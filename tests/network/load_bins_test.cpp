#include "core/network/load_bins.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard {
namespace {

struct CarriedPart {
  std::uint32_t link = 0;
  double since = 0, until = 0, bytes = 0;
};

std::vector<CarriedPart> drawn_parts(std::int64_t most_time) {
  std::vector<CarriedPart> parts(*rc::gen::inRange<std::size_t>(1, 40));
  for (CarriedPart& part : parts) {
    part.link = *rc::gen::inRange<std::uint32_t>(0, 3);
    part.since = static_cast<double>(*rc::gen::inRange<std::int64_t>(0, most_time)) / 8;
    part.until =
        part.since + static_cast<double>(*rc::gen::inRange<std::int64_t>(1, most_time)) / 8;
    part.bytes = static_cast<double>(*rc::gen::inRange(0, 1000));
  }
  return parts;
}

// Each bin is the integral of the rates over it, whatever widths came before and in which order the
// parts were added.
TEST(LoadBins, AreTheIntegralOfTheRatesOverEqualBins) {
  EXPECT_TRUE(rc::check([] {
    const std::size_t most = 2 * *rc::gen::inRange<std::size_t>(1, 9);
    const std::vector<CarriedPart> parts = drawn_parts(*rc::gen::inRange<std::int64_t>(2, 100'000));
    LoadBins bins(3, most);
    double end = 0;
    for (const CarriedPart& part : parts) {
      bins.add(part.link, part.since, part.until, part.bytes);
      end = std::max(end, part.until);
    }
    const auto width = static_cast<double>(bins.width().count());
    RC_ASSERT(width * static_cast<double>(most) >= end);
    RC_ASSERT(bins.width().count() == 1 || width / 2 * static_cast<double>(most) < end);
    const Duration step{std::llround(std::ceil(end))};
    for (std::uint32_t link = 0; link < 3; ++link) {
      const std::vector<double> found = bins.bytes(link, step);
      RC_ASSERT(found.size() <= most);
      double all = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double from = width * static_cast<double>(i);
        double expected = 0;
        for (const CarriedPart& part : parts)
          if (part.link == link)
            expected +=
                part.bytes / (part.until - part.since) *
                std::max(0.0, std::min(part.until, from + width) - std::max(part.since, from));
        RC_ASSERT(std::abs(found[i] - expected) <= 1e-9 * (1 + expected));
        all += found[i];
      }
      double carried = 0;
      for (const CarriedPart& part : parts) carried += part.link == link ? part.bytes : 0;
      RC_ASSERT(std::abs(all - carried) <= 1e-9 * (1 + carried));
    }
  }));
}

TEST(LoadBins, KeepNothingWhereNoneAreAskedFor) {
  LoadBins bins(1, 0);
  bins.add(0, 0, 10, 5);
  EXPECT_TRUE(bins.bytes(0, Duration{10}).empty());
}

}  // namespace
}  // namespace trainyard
