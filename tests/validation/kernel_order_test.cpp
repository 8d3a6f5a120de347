#include "core/validation/kernel_order.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

// Times rise with the bytes and fall with the FLOPs; trees have the last two the wrong way round.
TEST(KernelOrder, ComparesEachPriceWithTheMeasuredTimes) {
  Calibration c;
  KernelResiduals residuals;
  const Duration learned[] = {1us, 2us, 4us, 3us};
  for (std::size_t i = 0; i < 4; ++i) {
    Work work;
    work.flops = {static_cast<double>(9 - i)};
    work.read = {static_cast<std::int64_t>(10 + i)};
    work.m = static_cast<std::int64_t>(i);
    c.kernels.push_back({work, Duration{std::chrono::microseconds(1 + i)}, 0, 1});
    residuals.kernels.push_back({i, c.kernels[i].time, 5us, {}, learned[i]});
  }
  residuals.kernels.push_back({0, 50us, 1us, {}, {}});  // trees were not asked: it is not counted
  const KernelOrder order = kernel_order(c, residuals);
  EXPECT_EQ(order.kernels, 4u);
  EXPECT_DOUBLE_EQ(*order.flops, -1);
  EXPECT_DOUBLE_EQ(*order.bytes, 1);
  EXPECT_FALSE(order.formula);  // it orders nothing
  EXPECT_DOUBLE_EQ(*order.learned, 1 - 6 * 2.0 / (4 * 15));
  const KernelOrder some =
      kernel_order(c, residuals, [](const KernelTiming& t) { return t.work.m < 3; });
  EXPECT_EQ(some.kernels, 3u);
  EXPECT_DOUBLE_EQ(*some.learned, 1);
}

}  // namespace
}  // namespace trainyard
