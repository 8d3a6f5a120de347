// Tests the stages of a node's input, what its caches take from them, and the words of a step that
// waits.
#include "core/result/input_cost.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/cluster/host.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::non_empty;
using testing::scenario;
using testing::Settings;

Scenario input_scenario(const std::vector<std::string>& words, std::int64_t devices = 16) {
  Settings settings(words.begin(), words.end());
  settings.insert(settings.begin(), "global-batch=2048");
  Scenario s = scenario(gpt(), devices, settings);
  s.plan = complete(s);
  return s;
}

Duration stage_time(const InputCost& cost, std::string_view name) {
  for (const InputStage& stage : cost.stages)
    if (stage.name == name) return stage.time;
  ADD_FAILURE() << "there is no stage " << name;
  return {};
}

// Two nodes of eight devices: a node needs half of the 2,048 samples, a device 128.
TEST(InputCost, StagesAreSamplesOverRates) {
  const Scenario s = input_scenario({"input=storage", "input.cores=16", "input.decoding=5ms",
                                     "input.sample=100kB", "input.storage-rate=1GB/s"});
  const InputCost cost = *input_cost(s, seconds(0.1));
  EXPECT_EQ(cost.samples, 1024);
  EXPECT_EQ(stage_time(cost, "storage"), seconds(1024 * 100e3 / 1e9));
  EXPECT_EQ(stage_time(cost, "disk"), Duration{});
  EXPECT_EQ(stage_time(cost, "decoding"), seconds(1024 * 5e-3 / 16));
  EXPECT_EQ(stage_time(cost, "copy"), host_copy_time(Bytes{128 * 150'528}, s.cluster));
  EXPECT_EQ(cost.slowest_stage(), "decoding");
  EXPECT_EQ(cost.waiting, seconds(0.32) - seconds(0.1));
  EXPECT_EQ(input_time(s), seconds(0.32));
  EXPECT_EQ(cost.sentence,
            "the step waits 220 ms for input: decoding 1024 samples on 16 cores takes 320 ms; 52 "
            "cores would keep up, or input=cached from the second epoch on");
  EXPECT_EQ(input_cost(s, seconds(1))->sentence,
            "keeps up with the step: decoding 1024 samples on 16 cores takes 320 ms");
}

// A node's part of the data set is 1,000 samples: 400 decoded ones fit in memory, 300 on disk.
TEST(InputCost, CachesTakeTheirShareFromTheSecondEpochOn) {
  const std::vector<std::string> words = {
      "input=cached",      "input.samples=2000", "input.sample=100kB",   "input.decoded=200kB",
      "input.memory=80MB", "input.disk=30MB",    "input.disk-rate=1GB/s"};
  const InputCost cost = *input_cost(input_scenario(words), {});
  EXPECT_DOUBLE_EQ(cost.memory_share, 0.4);
  EXPECT_DOUBLE_EQ(cost.disk_share, 0.3);
  EXPECT_EQ(cost.memory.value, 80'000'000);
  EXPECT_EQ(cost.disk.value, 30'000'000);
  EXPECT_NEAR(to_seconds(stage_time(cost, "storage")), 1024 * 0.3 * 100e3 / 1.25e9, 2e-9);
  EXPECT_NEAR(to_seconds(stage_time(cost, "disk")), 1024 * 0.3 * 100e3 / 1e9, 2e-9);
  EXPECT_NEAR(to_seconds(stage_time(cost, "decoding")), 1024 * 0.6 * 4e-3 / 24, 2e-9);
  std::vector<std::string> first = words, storage = words;
  first.emplace_back("input.epoch=first"), storage.emplace_back("input=storage");
  const InputCost one = *input_cost(input_scenario(first), {}),
                  without = *input_cost(input_scenario(storage), {});
  EXPECT_EQ(one.memory_share + one.disk_share, 0);
  for (std::size_t i = 0; i < non_empty(one.stages).size(); ++i)
    EXPECT_EQ(one.stages[i].time, without.stages[i].time) << one.stages[i].name;
}

// With the memory that the sentence names, decoding takes as long as the step.
TEST(InputCost, NamesTheCacheThatWouldKeepUp) {
  const std::vector<std::string> words = {"input=cached", "input.samples=2000",
                                          "input.decoded=200kB", "input.memory=40MB"};
  EXPECT_EQ(input_cost(input_scenario(words), seconds(0.064))->sentence,
            "the step waits 72.5 ms for input: decoding 819 samples on 24 cores takes 137 ms; 52 "
            "cores would keep up, or 119 MiB of memory for the cache; 20.0 % of samples are in "
            "memory, 80.0 % on disk");
  std::vector<std::string> more = words;
  more.emplace_back("input.memory=125MB");
  EXPECT_EQ(input_time(input_scenario(more)), seconds(1024 * 0.375 * 4e-3 / 24));
}

TEST(InputCost, NodesReadForTheReplicasThatBeginInThem) {
  const auto samples = [](const std::vector<std::string>& words) {
    std::vector<std::string> all = words;
    all.emplace_back("input=storage");
    return input_cost(input_scenario(all), {})->samples;
  };
  EXPECT_EQ(samples({"tp=8"}), 1024);          // a replica a node
  EXPECT_EQ(samples({"tp=8", "pp=2"}), 2048);  // one replica, whose first stage is the first node
  EXPECT_EQ(samples({"pp=4"}), 2048);          // the first stages of four replicas fill half a node
  EXPECT_EQ(samples({"cp=2"}), 1024);          // two ranks share the samples of a replica
  EXPECT_EQ(samples({"pp=4", "rank-order=tp-pp-cp-ep-dp"}), 1024);  // two whole replicas a node
}

// A device without a link to a host, as a core of this machine, is copied nothing.
TEST(InputCost, WithoutALinkThereIsNoCopy) {
  Scenario s = input_scenario({"input=storage"});
  ASSERT_EQ(input_cost(s, {})->stages.size(), 4u);
  s.cluster.device.host_link = {};
  EXPECT_EQ(input_cost(s, {})->stages.size(), 3u);
}

TEST(InputCost, APlanThatSaysNothingWaitsForNothing) {
  EXPECT_FALSE(input_cost(input_scenario({}), {}));
  EXPECT_EQ(input_time(input_scenario({})), Duration{});
  EXPECT_FALSE(input_cost(input_scenario({"input.cores=1"}), {}));
}

RC_GTEST_PROP(InputCost, MoreOfAnythingIsNeverSlower, ()) {
  const auto amount = [](const char* key, std::int64_t low, std::int64_t high, const char* unit) {
    return std::tuple{std::string(key), *rc::gen::inRange(low, high), std::string(unit)};
  };
  const std::vector<std::tuple<std::string, std::int64_t, std::string>> amounts = {
      amount("memory", 0, 500'000, "MB"), amount("disk", 0, 500'000, "MB"),
      amount("storage-rate", 1, 20'000, "MB/s"), amount("disk-rate", 1, 20'000, "MB/s"),
      amount("cores", 1, 200, "")};
  std::vector<std::string> words = {*rc::gen::element<std::string>("input=storage", "input=cached"),
                                    *rc::gen::element<std::string>("tp=1", "tp=8", "pp=4", "cp=2")};
  for (const auto& [key, value, unit] : amounts)
    words.push_back("input." + key + "=" + std::to_string(value) + unit);
  const Duration before = input_time(input_scenario(words));
  const auto& [key, value, unit] = amounts[*rc::gen::inRange<std::size_t>(0, amounts.size())];
  words.push_back("input." + key + "=" +
                  std::to_string(value + *rc::gen::inRange<std::int64_t>(0, 200'000)) + unit);
  const InputCost after = *input_cost(input_scenario(words), seconds(0.05));
  // A disk that holds more is read more, and the storage, which is read beside it, less.
  if (key != "disk") RC_ASSERT(input_time(input_scenario(words)) <= before);
  for (const InputStage& stage : after.stages)
    RC_ASSERT(seconds(0.05) + after.waiting >= stage.time);
  words.emplace_back("input.epoch=first");
  const Duration first = input_time(input_scenario(words));
  words.emplace_back("input=storage");
  RC_ASSERT(first == input_time(input_scenario(words)));
}

RC_GTEST_PROP(InputCost, ADiskAsFastAsTheStorageIsNeverSlowerThanNone, ()) {
  const std::int64_t storage = *rc::gen::inRange(1, 20'000),
                     disk = storage + *rc::gen::inRange(0, 20'000);
  std::vector<std::string> words = {
      "input=cached", "input.memory=" + std::to_string(*rc::gen::inRange(0, 200)) + "GB",
      "input.storage-rate=" + std::to_string(storage) + "MB/s",
      "input.disk-rate=" + std::to_string(disk) + "MB/s",
      "input.disk=" + std::to_string(*rc::gen::inRange(0, 200)) + "GB"};
  const Duration with = input_time(input_scenario(words));
  words.emplace_back("input.disk=0B");
  RC_ASSERT(with <= input_time(input_scenario(words)));
}

}  // namespace
}  // namespace trainyard
