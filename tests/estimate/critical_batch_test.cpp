#include "core/estimate/critical_batch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/base/error.h"

namespace trainyard {
namespace {

StepOf line(std::int64_t fixed_us, std::int64_t each_us) {
  return [=](std::int64_t m) { return std::chrono::microseconds(fixed_us + each_us * m); };
}

// A step of fixed + each * m attains 95 % at m = 19 * fixed / each.
TEST(CriticalBatch, IsNineteenTimesTheFixedPart) {
  const CriticalBatch found = predicted_critical_batch(line(500, 100), 1);
  EXPECT_NEAR(found.microbatches, 95, 1e-9);
  EXPECT_NEAR(found.fixed, 500e-6, 1e-12);
  EXPECT_NEAR(found.each, 100e-6, 1e-12);
  EXPECT_FALSE(found.at_once);
}

RC_GTEST_PROP(CriticalBatch, IsFoundWhereTheLineSays, ()) {
  const StepOf step = line(*rc::gen::inRange(0, 5000), *rc::gen::inRange(10, 1000));
  const std::int64_t multiple = *rc::gen::inRange(1, 9);
  const CriticalBatch predicted = predicted_critical_batch(step, multiple);
  const CriticalBatch found = searched_critical_batch(step, multiple, predicted);
  if (found.at_once) {
    RC_ASSERT(predicted.microbatches <= static_cast<double>(multiple) * 1.001);
    return;
  }
  RC_ASSERT(std::abs(found.microbatches / predicted.microbatches - 1) < 1e-6);
}

TEST(CriticalBatch, IsSearchedBeyondAPredictionThatWasTooSmall) {
  const StepOf step = line(500, 100);
  EXPECT_NEAR(
      searched_critical_batch(step, 1, {.fixed = 0, .each = 1, .microbatches = 1}).microbatches, 95,
      0.5);
}

// 62 microbatches, which are twice as far as the prediction, are quicker than any other number.
TEST(CriticalBatch, OfAStepWithoutAPeakIsRefused) {
  const StepOf step = [](std::int64_t m) {
    return std::chrono::milliseconds(m == 8 ? 88 : m == 62 ? 682 : 12 * m);
  };
  const CriticalBatch predicted = predicted_critical_batch(step, 1);
  EXPECT_NEAR(predicted.microbatches, 15.2, 1e-9);
  EXPECT_THROW(searched_critical_batch(step, 1, predicted), Error);
}

}  // namespace
}  // namespace trainyard
