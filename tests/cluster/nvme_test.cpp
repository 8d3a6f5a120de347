// Tests what a cluster says of a node's NVMe, and how long a device's share takes.
#include "core/cluster/nvme.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Nvme, WellKnownNodesHaveTheirDrives) {
  for (const auto& [name, drives] : {std::pair{"v100-sxm3-32:16", 8},
                                     {"a100-sxm-40:8", 4},
                                     {"a100-sxm-80:16", 8},
                                     {"h100-sxm:64", 8}}) {
    const Nvme nvme = nvme_of(parse_cluster(name));
    EXPECT_EQ(nvme.capacity.value.value, drives * 3'840'000'000'000) << name;
    EXPECT_FALSE(nvme.capacity.source.empty()) << name;
    EXPECT_EQ(nvme.write.value.value, 0) << name;  // nobody publishes it
  }
  EXPECT_EQ(nvme_of(parse_cluster("h100-sxm:8,per-node=4")).capacity.value.value, 0);
  EXPECT_EQ(nvme_of(parse_cluster("gh200:8")).capacity.value.value, 0);
}

TEST(Nvme, AClusterStatesItsOwn) {
  const Cluster stated = parse_cluster("h100-sxm:8,nvme=7TB,nvme-read=20GB/s,nvme-write=10GB/s");
  EXPECT_EQ(parse_cluster(stated.name), stated);
  const Nvme nvme = nvme_of(stated);
  EXPECT_EQ(nvme.capacity.value.value, 7'000'000'000'000);
  EXPECT_EQ(nvme.capacity.source, "given");
  EXPECT_EQ(nvme.read.value.value, 20e9);
  EXPECT_EQ(nvme.write.value.value, 10e9);
}

// All devices of a node read at once, and a node that is not full has fewer of them.
TEST(Nvme, DevicesShareANode) {
  const Bytes bytes{10'000'000'000};
  for (const int devices : {1, 4, 8, 16}) {
    const int sharing = std::min(devices, 8);
    const Cluster cluster = parse_cluster("h100-sxm:" + std::to_string(devices) +
                                          ",nvme-read=20GB/s,nvme-write=10GB/s");
    EXPECT_EQ(nvme_read_time(bytes, cluster), std::chrono::milliseconds(500) * sharing);
    EXPECT_EQ(nvme_write_time(bytes, cluster), std::chrono::seconds(sharing));
    EXPECT_EQ(nvme_read_time(Bytes{}, cluster), Duration{});
  }
}

}  // namespace
}  // namespace trainyard
