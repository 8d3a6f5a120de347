#include "core/cost/kernels/concurrent_kernels.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainyard {
namespace {

WorkCount kernel(std::int32_t count, OperatorPlace place) {
  WorkCount made;
  made.count = count;
  made.place = place;
  return made;
}

std::vector<Duration> times(std::vector<std::int64_t> ns) { return {ns.begin(), ns.end()}; }

TEST(ConcurrentKernels, OfTheLongestCoreAreTheTimeOfTheirStage) {
  // Alone; stage 1 on two cores; stage 2, whose first core has a kernel twice.
  const std::vector<WorkCount> works = {kernel(1, {}),     kernel(1, {1, 0}), kernel(1, {1, 1}),
                                        kernel(1, {1, 1}), kernel(2, {2, 0}), kernel(1, {2, 1})};
  std::vector<Duration> kernels = times({5, 10, 4, 5, 6, 11});
  hide_beside_longest(works, kernels);
  EXPECT_EQ(kernels, times({5, 10, 0, 0, 6, 0}));
}

TEST(ConcurrentKernels, OfEqualCoresTheFirstCounts) {
  const std::vector<WorkCount> works = {kernel(3, {7, 0}), kernel(1, {7, 1})};
  std::vector<Duration> kernels = times({1, 3});
  hide_beside_longest(works, kernels);
  EXPECT_EQ(kernels, times({1, 0}));
}

// A layer's stages, counted for many layers at once, take as long as those of each layer.
TEST(ConcurrentKernels, OfManyLayersTakeAsLongAsOneByOne) {
  const std::vector<WorkCount> one = {kernel(1, {1, 0}), kernel(1, {1, 1}), kernel(1, {2, 0}),
                                      kernel(1, {2, 1})};
  std::vector<WorkCount> many = one;
  for (WorkCount& w : many) w.count = 12;
  std::vector<Duration> once = times({3, 8, 9, 2}), often = once;
  hide_beside_longest(one, once), hide_beside_longest(many, often);
  EXPECT_EQ(once, often);
  EXPECT_EQ(once, times({0, 8, 9, 0}));
}

}  // namespace
}  // namespace trainyard
