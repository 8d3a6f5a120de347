// Tests how much of a run's communication is found beside computation.
#include "core/validation/recorded/recorded_overlap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/io/traces/chrome_trace_import.h"
#include "tests/support/collective_trace.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::CollectiveTrace;

std::vector<RecordedOverlap> overlaps(const CollectiveTrace& t) {
  return recorded_overlaps(parse_chrome_trace(t.text(), "r.json"));
}

TEST(RecordedOverlap, IsOfEachKindAndGroup) {
  CollectiveTrace t(0);
  t.kernel("gemm", 7, 0, 100, "");
  t.kernel("gemm", 8, 50, 100, "");  // another stream: computed from 0 to 150
  t.kernel("Memcpy HtoD", 9, 150, 1000, "");
  t.collective("allreduce", 8, "Float", 2, "[0, 1]", 100, 100);       // half of it
  t.collective("allreduce", 8, "Float", 4, "[0, 1, 2, 3]", 10, 100);  // all of it
  t.collective("_allgather_base", 8, "Float", 2, "[0, 1]", 200, 50);  // none
  const auto found = overlaps(t);
  ASSERT_EQ(found.size(), 3u);
  const std::tuple<CollectiveKind, std::int64_t, Duration, double> expected[] = {
      {CollectiveKind::AllReduce, 2, 100us, 0.5},
      {CollectiveKind::AllReduce, 4, 100us, 0},
      {CollectiveKind::AllGather, 2, 50us, 1}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(
        std::tuple(*found[i].of.collective, found[i].of.ranks, found[i].time, found[i].of.share),
        expected[i]);
  }
}

TEST(RecordedOverlap, WithoutStatedKindsItIsOfAllCommunication) {
  CollectiveTrace t(0);
  t.kernel("gemm", 7, 0, 100, "");
  t.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, 80, 40, "");
  const auto found = overlaps(t);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].of.collective);
  EXPECT_EQ(found[0].time, 40us);
  EXPECT_DOUBLE_EQ(found[0].of.share, 0.5);
  CollectiveTrace alone(0);
  alone.kernel("gemm", 7, 0, 100, "");
  EXPECT_TRUE(overlaps(alone).empty());
}

// The first step of several warms up, and times are of one step.
TEST(RecordedOverlap, IsOfAStep) {
  CollectiveTrace t(0);
  for (int step = 0; step < 3; ++step) {
    t.step(step, step * 1000, 1000);
    t.kernel("gemm", 7, step * 1000, 100, "");
    t.collective("allreduce", 8, "Float", 2, "[0, 1]", step * 1000 + (step == 0 ? 500 : 50), 100);
  }
  const auto found = overlaps(t);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].time, 100us);
  EXPECT_DOUBLE_EQ(found[0].of.share, 0.5);
}

// Counting microseconds one by one gives the same.
RC_GTEST_PROP(RecordedOverlap, IsWhatCountingSays, ()) {
  constexpr int kLength = 200;
  CollectiveTrace t(0);
  bool computed[2 * kLength] = {};
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    const int from = *rc::gen::inRange(0, kLength), length = *rc::gen::inRange(0, kLength);
    t.kernel("gemm", 100 + i, from, length, "");
    for (int at = from; at < from + length; ++at) computed[at] = true;
  }
  int all = 0, exposed = 0;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    const int from = *rc::gen::inRange(0, kLength), length = *rc::gen::inRange(1, kLength);
    t.collective("allreduce", 8, "Float", 2, "[0, 1]", from, length);
    for (int at = from; at < from + length; ++at) ++all, exposed += !computed[at];
  }
  const auto found = overlaps(t);
  RC_ASSERT(found.size() == 1u);
  RC_ASSERT(found[0].time == std::chrono::microseconds(all));
  RC_ASSERT(found[0].of.share == static_cast<double>(exposed) / all);
}

}  // namespace
}  // namespace trainyard
