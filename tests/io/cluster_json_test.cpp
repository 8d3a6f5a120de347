#include "core/io/documents/cluster_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>

#include "core/io/bytes/files.h"
#include "tests/support/refusal.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

std::string cluster_refusal(const std::string& text) {
  return testing::refusal([&] { read_cluster(text, "c.json"); });
}

std::string with(const std::string& members) {
  return R"({"schema": "trainyard/cluster@1", )" + members + "}";
}

TEST(ClusterJson, LevelsMayBeLeftOut) {
  EXPECT_EQ(read_cluster(with(R"("device": "h100", "count": 64)"), "c.json"),
            parse_cluster("h100:64"));
}

TEST(ClusterJson, ADeviceOfOnesOwnOnTheBaseOfAnother) {
  const Cluster c = read_cluster(
      with(
          R"("count": 8, "device": {"base": "h100", "id": "ours", "memory": "94 GiB", "power": {"value": "500 W", "source": "lab"}})"),
      "c.json");
  EXPECT_EQ(c.device.id, "ours");
  EXPECT_EQ(c.device.memory.value, 94_GiB);
  EXPECT_EQ(c.device.memory.source, "given in the cluster file");
  EXPECT_EQ(c.device.power.source, "lab");
  EXPECT_EQ(c.device.peaks, device("h100").peaks);
}

TEST(ClusterJson, IdlePowerMayBeLeftOut) {
  const auto device_with = [](const std::string& members) {
    return read_cluster(with(R"("count": 8, "device": {"base": "h100")" + members + "}"), "c.json")
        .device;
  };
  EXPECT_EQ(device_with("").idle_power, device("h100").idle_power);
  const Device own = device_with(R"(, "idle_power": {"value": "95 W", "source": "lab"})");
  EXPECT_EQ(own.idle_power.value.value, 95);
  EXPECT_EQ(own.idle_power.source, "lab");
  const Cluster c = make_cluster(own, 8);
  EXPECT_EQ(read_cluster(write_cluster(c), "again"), c);
}

TEST(ClusterJson, ThreeLevels) {
  const Cluster c = read_cluster(with(R"("device": "h100", "count": 64, "levels": [
    {"name": "node", "size": 8, "bandwidth": "450 GB/s", "latency": "4 us"},
    {"name": "pod", "size": 32, "topology": "rail", "bandwidth": "50 GB/s", "latency": "8 us"},
    {"name": "site", "size": 64, "topology": "fat-tree", "oversubscription": 4, "reduces": true, "bandwidth": "50 GB/s", "latency": "12 us"}])"),
                                 "c.json");
  EXPECT_EQ(level_of(c, 32), 1u);
  EXPECT_EQ(level_of(c, 33), 2u);
  EXPECT_EQ(c.levels[2].oversubscription, 4);
  EXPECT_TRUE(c.levels[2].reduces);
  EXPECT_EQ(read_cluster(write_cluster(c), "again"), c);
}

TEST(ClusterJson, WritesWhatItReads) {
  EXPECT_TRUE(rc::check([] {
    const auto all = devices();
    Cluster c = make_cluster(all[*rc::gen::inRange<std::size_t>(0, all.size())],
                             *rc::gen::inRange<int>(1, 4) * 288);
    if (*rc::gen::arbitrary<bool>())
      c.device.memory = {{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000)}, "here"};
    if (*rc::gen::arbitrary<bool>()) c.device.price_low.reset();
    if (*rc::gen::arbitrary<bool>()) c.device.id = "ours";
    if (*rc::gen::arbitrary<bool>())
      c.device.efficiency.product = {*rc::gen::inRange(1, 100) / 100.0, "fit"};
    const std::string text = write_cluster(c);
    RC_ASSERT(read_cluster(text, "c.json") == c);
    RC_ASSERT(write_cluster(read_cluster(text, "c.json")) == text);
  }));
}

TEST(ClusterJson, ShippedClustersAreCanonical) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/assets/clusters")) {
    const std::string text = read_file(entry.path().string());
    EXPECT_EQ(write_cluster(read_cluster(text, entry.path().string())), text) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 7);
}

TEST(ClusterJson, Refusals) {
  EXPECT_EQ(cluster_refusal(with(R"("device": "h100x", "count": 8)")),
            "c.json#/device: no device is called \"h100x\"; did you mean \"h100\"?");
  EXPECT_EQ(cluster_refusal(with(R"("device": "h100", "count": 12)")),
            "c.json#: 12 devices do not fill nodes of 8; write a count of 8 or 16, or per-node= a "
            "divisor of 12");
  EXPECT_EQ(cluster_refusal(
                with(R"("device": {"base": "h100", "efficiency": {"product": 1.5}}, "count": 8)")),
            "c.json#/device/efficiency/product: expected a share above 0 and at most 1");
  EXPECT_EQ(
      cluster_refusal(
          with(R"("device": {"base": "h100", "peaks": {"bf17": "1 TFLOP/s"}}, "count": 8)")),
      "c.json#/device/peaks/bf17: \"bf17\" is no number format; expected fp32, tf32, fp16, bf16, "
      "fp8, nvfp4, int8 or fp64");
  EXPECT_EQ(cluster_refusal(with(R"("device": "h100", "count": 8, "levels": [])")),
            "c.json#: a cluster needs at least one level of links");
  EXPECT_EQ(
      cluster_refusal(with(
          R"("device": "h100", "count": 64, "levels": [{"name": "node", "size": 8, "bandwidth": "0 GB/s", "latency": "4 us"}])")),
      "c.json#: level \"node\" needs a bandwidth above 0\nc.json#: the top level joins 8 devices, "
      "but there are 64");
}

}  // namespace
}  // namespace trainyard
