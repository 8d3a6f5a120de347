// Tests a memory that stores numbers without loss in fewer bits: what it moves is priced, and what
// it is said to hold is not.
#include <gtest/gtest.h>

#include "core/cost/cost_model.h"
#include "core/io/documents/cluster_json.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Work only_bytes(std::int64_t bytes) {
  Work work;
  work.read = work.written = {bytes / 2};
  return work;
}

TEST(MemoryCompression, AClusterStatesIt) {
  const Cluster stated = parse_cluster("h100-sxm:8,compression=0.6");
  EXPECT_EQ(stated.device.compression.value, 0.6);
  EXPECT_EQ(stated.name, "h100-sxm:8,compression=0.6");
  EXPECT_EQ(parse_cluster(stated.name), stated);
  EXPECT_EQ(read_cluster(write_cluster(stated), "again"), stated);
  EXPECT_EQ(parse_cluster("h100-sxm:8,compression=1"), parse_cluster("h100-sxm:8"));
  EXPECT_EQ(stated.device.memory, device("h100-sxm").memory);
  for (const char* wrong : {"h100-sxm:8,compression=0", "h100-sxm:8,compression=3"})
    EXPECT_NE(testing::refusal([&] {
                parse_cluster(wrong);
              }).find("compression must be above 0 and at most 2"),
              std::string::npos)
        << testing::refusal([&] { parse_cluster(wrong); });
}

// A kernel that only moves bytes takes its share of the time beyond the kernel's start.
TEST(MemoryCompression, ItsBytesArePriced) {
  const Device plain = device("h100-sxm");
  Device packed = plain;
  packed.compression = {0.6, "measured"};
  const auto roofline = roofline_cost_model();
  const Duration nothing_moved = plain.launch.value;
  const Duration before = roofline->compute(only_bytes(10'000'000'000), plain) - nothing_moved,
                 after = roofline->compute(only_bytes(10'000'000'000), packed) - nothing_moved;
  EXPECT_NEAR(static_cast<double>(after.count()), 0.6 * static_cast<double>(before.count()), 2);
}

}  // namespace
}  // namespace trainyard
