#include "planners/partition/stage_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>

#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using Ticks = std::int64_t;

// Prices a split stage by stage as the contract says, without prefix sums.
struct Priced {
  Ticks bottleneck = 0, latency = 0, step = 0;
  std::int64_t missing = 0;
};

struct Cut {
  int layers = 1, devices = 1;
};

Ticks message(const PartitionProblem& p, int layer, int link) {
  if (p.links.empty()) return 0;
  const Bytes bytes = p.kinds[p.layers[static_cast<std::size_t>(layer)]].output;
  return (bytes / p.links[static_cast<std::size_t>(link)] + p.latency).count();
}

Priced price(const PartitionProblem& p, const std::vector<int>& order,
             const std::vector<Cut>& cuts) {
  Priced priced;
  int layer = 0, device = 0;
  for (std::size_t s = 0; s < cuts.size(); ++s) {
    const int end = layer + cuts[s].layers, k = cuts[s].devices;
    const int behind = static_cast<int>(cuts.size() - s) - 1;
    const int live =
        p.live.empty()
            ? std::min(p.microbatches, behind + 1)
            : p.live[std::min<std::size_t>(static_cast<std::size_t>(behind), p.live.size() - 1)];
    Ticks slowest = 0;
    std::int64_t room = std::numeric_limits<std::int64_t>::max(), needed = 0, gradients = 0,
                 workspace = 0;
    for (int d = device; d < device + k; ++d) {
      const ChainDevice& on =
          p.devices[static_cast<std::size_t>(order[static_cast<std::size_t>(d)])];
      Ticks sum = 0;
      for (int l = layer; l < end; ++l) {
        const PassTimes& t = p.kinds[p.layers[static_cast<std::size_t>(l)]]
                                 .times[static_cast<std::size_t>(on.device_class)];
        sum += t.forward.count() + t.backward.count();
      }
      slowest = std::max(slowest, sum), room = std::min(room, on.memory.value);
    }
    for (int l = layer; l < end; ++l) {
      const ChainLayer& kind = p.kinds[p.layers[static_cast<std::size_t>(l)]];
      needed += kind.state.value + kind.activations.value * ((live + k - 1) / k);
      workspace = std::max(workspace, kind.workspace.value);
      gradients += kind.gradients.value;
    }
    const Ticks in = layer > 0 ? message(p, layer - 1, device - 1) : 0;
    const Ticks out = s + 1 < cuts.size() ? message(p, end - 1, device + k - 1) : 0;
    Ticks pace = (slowest + (p.blocking_sends ? in + out : 0) + k - 1) / k;
    if (k > 1 && p.reduce_bandwidth.value > 0) {
      const Ticks ring =
          seconds(2.0 * (k - 1) / k * static_cast<double>(gradients) / p.reduce_bandwidth.value)
              .count();
      pace = std::max(pace, (ring + p.accumulated - 1) / p.accumulated);
    }
    if (!p.blocking_sends) pace = std::max(pace, 2 * out);
    priced.bottleneck = std::max(priced.bottleneck, pace);
    priced.latency += slowest + 2 * out;
    priced.missing = std::max(priced.missing, needed + workspace - room);
    layer = end, device += k;
  }
  priced.step = priced.latency + (p.microbatches - 1) * priced.bottleneck;
  return priced;
}

using Key = std::tuple<std::int64_t, Ticks, Ticks>;
Key key_of(const Priced& p, PartitionObjective objective) {
  if (p.missing > 0) return {p.missing, 0, 0};
  return objective == PartitionObjective::Step ? Key{0, p.step, p.bottleneck}
                                               : Key{0, p.bottleneck, p.latency};
}

void each_cut(const PartitionProblem& p, std::vector<Cut>& cuts, int layers, int devices,
              const std::function<void()>& use) {
  if (layers == 0 && devices == 0) use();
  for (int l = 1; l <= layers; ++l)
    for (int k = 1; k <= std::min(devices, p.replicas); ++k) {
      cuts.push_back({l, k});
      each_cut(p, cuts, layers - l, devices - k, use);
      cuts.pop_back();
    }
}

Key brute_force(const PartitionProblem& p, PartitionObjective objective) {
  std::vector<int> order(p.devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::optional<Key> best;
  do {
    std::vector<Cut> cuts;
    each_cut(p, cuts, static_cast<int>(p.layers.size()), static_cast<int>(p.devices.size()), [&] {
      const Key key = key_of(price(p, order, cuts), objective);
      if (!best || key < *best) best = key;
    });
  } while (p.search_order && std::next_permutation(order.begin(), order.end()));
  return *best;
}

PartitionProblem random_problem(std::uint64_t seed) {
  const Random random(seed, 71);
  std::uint64_t at = 0;
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return random.between(at++, low, high);
  };
  PartitionProblem p;
  const auto count = static_cast<int>(draw(1, 4));
  const auto classes = static_cast<int>(draw(1, 3));
  p.replicas = draw(0, 1) == 0 ? 1 : static_cast<int>(draw(1, 4));
  const auto layers = static_cast<int>(draw(count, 10));
  const auto kinds = static_cast<int>(draw(1, layers));
  // Draws few different values, because ties are where a partitioner goes wrong.
  const std::int64_t most = draw(0, 1) == 0 ? 4 : 1000;
  for (int k = 0; k < kinds; ++k) {
    ChainLayer kind;
    for (int c = 0; c < classes; ++c)
      kind.times.push_back({Duration{draw(0, most)}, Duration{draw(1, 2 * most)}});
    kind.state = {draw(0, 20)}, kind.activations = {draw(0, 10)}, kind.workspace = {draw(0, 9)};
    kind.gradients = {draw(0, 2000)}, kind.output = {draw(0, 300)};
    p.kinds.push_back(std::move(kind));
  }
  for (int l = 0; l < layers; ++l)
    p.layers.push_back(static_cast<std::uint32_t>(draw(0, kinds - 1)));
  const bool limited = draw(0, 2) > 0;
  for (int d = 0; d < count; ++d)
    p.devices.push_back({static_cast<int>(draw(0, classes - 1)),
                         {limited ? draw(20, 40 + 60 * layers / count) : 1'000'000}});
  if (draw(0, 2) > 0)
    for (int d = 0; d + 1 < count; ++d) p.links.push_back({1e9 * static_cast<double>(draw(1, 5))});
  p.latency = Duration{draw(0, 5)};
  p.blocking_sends = draw(0, 1) == 0;
  p.microbatches = static_cast<int>(draw(1, 12));
  if (draw(0, 2) == 0)
    for (int s = 0; s < 3; ++s) p.live.push_back(static_cast<int>(draw(0, 6)));
  p.accumulated = static_cast<int>(draw(1, 4));
  if (draw(0, 3) > 0) p.reduce_bandwidth = {1e9 * static_cast<double>(draw(1, 10))};
  p.search_order = draw(0, 2) == 0;
  return p;
}

TEST(StagePartition, EqualsBruteForceOnRandomChains) {
  int tight = 0, shared = 0, mixed = 0, ordered = 0, hopeless = 0, apart = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const PartitionProblem p = random_problem(seed);
    std::optional<Partition> other;
    for (const auto objective : {PartitionObjective::Bottleneck, PartitionObjective::Step}) {
      const Partition found = partition(p, objective);
      std::vector<Cut> cuts;
      int layer = 0, device = 0;
      for (const PartitionStage& s : testing::non_empty(found.stages)) {
        ASSERT_EQ(s.first_layer, layer) << seed;
        ASSERT_EQ(s.first_device, device) << seed;
        layer += s.layers, device += s.devices;
        cuts.push_back({s.layers, s.devices});
        shared += s.devices > 1;
      }
      ASSERT_EQ(layer, static_cast<int>(p.layers.size())) << seed;
      ASSERT_EQ(device, static_cast<int>(p.devices.size())) << seed;
      const Priced priced = price(p, found.order, cuts);
      ASSERT_EQ(found.bottleneck.count(), priced.bottleneck) << seed;
      ASSERT_EQ(found.latency.count(), priced.latency) << seed;
      ASSERT_EQ(found.step.count(), priced.step) << seed;
      ASSERT_EQ(found.missing.value, std::max<std::int64_t>(0, priced.missing)) << seed;
      ASSERT_EQ(key_of(priced, objective), brute_force(p, objective)) << seed;
      hopeless += found.missing.value > 0;
      if (other && other->bottleneck != found.bottleneck) ++apart;
      other = found;
    }
    PartitionProblem roomy = p;
    for (ChainDevice& d : roomy.devices) d.memory = {1'000'000'000};
    tight += other->missing.value == 0 && partition(roomy).step < other->step;
    mixed += std::any_of(p.devices.begin(), p.devices.end(), [&](const ChainDevice& d) {
      return d.device_class != p.devices.front().device_class;
    });
    ordered += !std::is_sorted(other->order.begin(), other->order.end());
  }
  // Each of these cases occurred in enough instances.
  EXPECT_GT(tight, 40);
  EXPECT_GT(shared, 40);
  EXPECT_GT(mixed, 100);
  EXPECT_GT(ordered, 20);
  EXPECT_GT(hopeless, 20);
  EXPECT_GT(apart, 10);
}

ChainLayer layer(std::int64_t time, std::int64_t state = 0, std::int64_t activations = 0) {
  return {{{Duration{time}, Duration{2 * time}}}, {state}, {activations}, {}, {}, {}};
}

PartitionProblem equal_devices(std::vector<ChainLayer> kinds, std::vector<std::uint32_t> layers,
                               int devices, std::int64_t memory = 1'000'000) {
  PartitionProblem p;
  p.kinds = std::move(kinds), p.layers = std::move(layers);
  p.devices.assign(static_cast<std::size_t>(devices), {0, {memory}});
  p.microbatches = 16;
  return p;
}

std::vector<int> layers_of(const Partition& p) {
  std::vector<int> found;
  for (const PartitionStage& s : p.stages) found.push_back(s.layers);
  return found;
}

TEST(StagePartition, FortyLayersOnSixteenStagesAreTwoOrThreeEach) {
  const PartitionProblem p = equal_devices({layer(10)}, std::vector<std::uint32_t>(40, 0), 16);
  EXPECT_EQ(layers_of(partition(p)),
            (std::vector<int>{2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}));
}

TEST(StagePartition, AHeavyHeadHasFewerLayersBesideIt) {
  std::vector<std::uint32_t> chain(16, 0);
  chain.push_back(1);  // as long as three layers
  const Partition found = partition(equal_devices({layer(10), layer(30)}, chain, 4));
  EXPECT_EQ(layers_of(found), (std::vector<int>{4, 5, 5, 3}));
  EXPECT_EQ(found.bottleneck, Duration{150});
}

// Under 1F1B the first stage keeps four microbatches and the last one: what is short of memory has
// fewer layers in front.
TEST(StagePartition, MemoryMovesLayersToTheBack) {
  PartitionProblem p = equal_devices({layer(10, 1, 1)}, std::vector<std::uint32_t>(16, 0), 4, 17);
  EXPECT_EQ(layers_of(partition(p)), (std::vector<int>{3, 4, 4, 5}));
  for (ChainDevice& d : p.devices) d.memory = {12};
  const Partition hopeless = partition(p);
  EXPECT_EQ(layers_of(hopeless), (std::vector<int>{2, 3, 4, 7}));
  EXPECT_EQ(hopeless.missing, 2_B);
}

// A stage that is faster alone on two devices than any cut: PipeDream's case.
TEST(StagePartition, SharesTheHeavyFrontOfAConvnet) {
  PartitionProblem p = equal_devices({layer(100), layer(10)}, {0, 1, 1, 1, 1}, 3);
  p.replicas = 2;
  const Partition found = partition(p, PartitionObjective::Bottleneck);
  ASSERT_EQ(found.stages.size(), 2u);
  EXPECT_EQ(found.stages[0].devices, 2);
  EXPECT_EQ(found.bottleneck, Duration{150});
  // The all-reduce of its gradients takes longer than that, so sharing does not pay.
  p.kinds[0].gradients = {1'000'000};
  p.reduce_bandwidth = {1e9};
  EXPECT_EQ(partition(p, PartitionObjective::Bottleneck).bottleneck, Duration{300});
  // Reduced once in many microbatches, sharing pays.
  p.accumulated = 100'000;
  EXPECT_EQ(partition(p, PartitionObjective::Bottleneck).bottleneck, Duration{150});
}

// The slower device has the fewer layers, and where order is free it stands where messages are
// small.
TEST(StagePartition, MixedDevicesDivideBySpeed) {
  ChainLayer kind = layer(10);
  kind.times.push_back({Duration{20}, Duration{40}});
  PartitionProblem p = equal_devices({kind}, std::vector<std::uint32_t>(9, 0), 2);
  p.devices[1].device_class = 1;
  EXPECT_EQ(layers_of(partition(p)), (std::vector<int>{6, 3}));
  p.search_order = true;
  p.kinds.push_back(kind);
  p.kinds[0].output = {100}, p.layers[2] = 1, p.links = {{1e9}};
  const Partition found = partition(p);
  EXPECT_EQ(found.order, (std::vector<int>{1, 0}));
  EXPECT_EQ(layers_of(found), (std::vector<int>{3, 6}));
}

std::string refused(PartitionProblem p) {
  try {
    partition(p);
  } catch (const Error& e) {
    return e.place().text + ": " + e.what();
  }
  return "";
}

TEST(StagePartition, RefusesWhatHasNoSplit) {
  PartitionProblem p = equal_devices({layer(1)}, {0, 0, 0}, 4);
  EXPECT_EQ(refused(p), "layers: 3 layers cannot fill 4 stages: each needs at least one");
  p.replicas = 2;
  EXPECT_EQ(refused(p), "");
  p.layers[1] = 7;
  EXPECT_EQ(refused(p), "layers: expected kinds below 1, found 7");
  p.layers[1] = 0, p.links = {{1e9}};
  EXPECT_EQ(refused(p), "links: expected none or 3, one between two devices, found 1");
  p.links.clear(), p.devices[2].device_class = 1;
  EXPECT_EQ(refused(p), "kinds[0].times: expected times of 2 classes of devices, found 1");
  p.devices[2].device_class = 0, p.microbatches = 0;
  EXPECT_EQ(refused(p), "microbatches: expected at least 1, found 0");
  p.microbatches = 1'000'000'000, p.kinds[0].times[0].forward = std::chrono::hours(100);
  EXPECT_NE(refused(p).find("31 years"), std::string::npos);
  p.microbatches = 1, p.devices.clear();
  EXPECT_EQ(refused(p), "devices: expected at least 1, found 0");
}

TEST(StagePartition, OrdersAtMostFourKindsOfDevices) {
  ChainLayer kind = layer(10);
  for (int c = 1; c < 5; ++c) kind.times.push_back(kind.times[0]);
  PartitionProblem p = equal_devices({kind}, std::vector<std::uint32_t>(12, 0), 6);
  for (int d = 0; d < 6; ++d) p.devices[static_cast<std::size_t>(d)].device_class = d % 5;
  p.search_order = true;
  EXPECT_EQ(refused(p), "devices: expected devices of at most 4 kinds to put in order, found 5");
}

}  // namespace
}  // namespace trainyard
