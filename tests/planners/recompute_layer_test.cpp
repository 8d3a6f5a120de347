// Compares what a layer may keep, and mixes of policies, with every possibility.
#include "planners/recompute/recompute_layer.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "planners/recompute/integer_program.h"
#include "planners/recompute/policy_mix.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

std::vector<LayerNode> drawn_layer(std::uint64_t seed, int nodes) {
  const Random random(seed);
  std::uint64_t i = 0;
  std::vector<LayerNode> list;
  for (int n = 0; n < nodes; ++n) {
    LayerNode node;
    node.time = Duration{random.between(i++, 0, 9)};
    node.needed = random.between(i++, 0, 2) != 0;
    if (node.needed) node.kept = Bytes{random.between(i++, 0, 9)};
    if (random.between(i++, 0, 1) == 0) node.output = Bytes{random.between(i++, 1, 9)};
    for (int in = 0; in < n; ++in)
      if (random.between(i++, 0, 3) == 0) node.inputs.push_back(in);
    list.push_back(node);
  }
  return list;
}

// Bytes and time of keeping those nodes, as the executor finds them.
std::pair<std::int64_t, std::int64_t> cost_of(const std::vector<LayerNode>& nodes,
                                              std::uint32_t kept) {
  std::int64_t bytes = 0, time = 0;
  std::uint32_t read = 0;
  for (std::size_t n = nodes.size(); n-- > 0;) {
    const bool read_again = (read >> n & 1U) != 0;
    if (!nodes[n].needed && !read_again) continue;
    if ((kept >> n & 1U) != 0) {
      bytes += nodes[n].kept.value + (read_again ? nodes[n].output.value : 0);
      continue;
    }
    time += nodes[n].time.count();
    for (const int in : nodes[n].inputs) read |= 1U << in;
  }
  return {bytes, time};
}

TEST(RecomputeLayer, FrontIsThatOfEverySet) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const int count = 1 + static_cast<int>(seed % 11);
    const std::vector<LayerNode> nodes = drawn_layer(seed, count);
    const std::vector<KeptSet> front = kept_sets(nodes);
    ASSERT_FALSE(front.empty());
    for (const KeptSet& set : testing::non_empty(front)) {
      std::uint32_t mask = 0;
      for (const int n : set.nodes) mask |= 1U << n;
      EXPECT_EQ(cost_of(nodes, mask), std::pair(set.bytes.value, set.time.count()));
    }
    for (std::uint32_t mask = 0; mask < 1U << count; ++mask) {
      const std::pair<std::int64_t, std::int64_t> cost = cost_of(nodes, mask);
      EXPECT_TRUE(std::any_of(front.begin(), front.end(), [&](const KeptSet& set) {
        return set.bytes.value <= cost.first && set.time.count() <= cost.second;
      })) << seed;
    }
    for (std::size_t i = 1; i < front.size(); ++i) {
      EXPECT_LT(front[i - 1].bytes, front[i].bytes);
      EXPECT_GT(front[i - 1].time, front[i].time);
    }
  }
}

// The same sets by the solver, at each budget of the front: keep or run again, and what runs again
// has its inputs.
TEST(RecomputeLayer, FrontIsThatOfTheIntegerProgram) {
  for (std::uint64_t seed = 500; seed < 504; ++seed) {
    const std::vector<LayerNode> nodes = drawn_layer(seed, 12);
    const std::vector<KeptSet> front = kept_sets(nodes);
    for (std::size_t f = 0; f < front.size(); f += 1 + front.size() / 4) {
      IntegerProgram program;
      std::vector<int> kept, again, whole;
      for (const LayerNode& node : nodes) {
        kept.push_back(program.binary(0));
        whole.push_back(program.binary(0));  // its output beside what backward reads
        again.push_back(program.binary(static_cast<double>(node.time.count())));
      }
      IntegerProgram::Terms bytes;
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].needed) program.row(1, 2, {{kept[n], 1}, {again[n], 1}});
        for (const int in : nodes[n].inputs) {
          const auto i = static_cast<std::size_t>(in);
          program.at_most({{again[n], 1}, {whole[i], -1}, {again[i], -1}}, 0);
          program.at_most({{whole[i], 1}, {kept[i], -1}}, 0);
        }
        if (nodes[n].kept.value > 0)
          bytes.emplace_back(kept[n], static_cast<double>(nodes[n].kept.value));
        if (nodes[n].output.value > 0)
          bytes.emplace_back(whole[n], static_cast<double>(nodes[n].output.value));
      }
      program.at_most(std::move(bytes), static_cast<double>(front[f].bytes.value));
      const IntegerProgram::Answer answer = program.solve(10'000);
      ASSERT_EQ(answer.state, IntegerProgram::Answer::State::Optimal);
      EXPECT_NEAR(answer.cost, static_cast<double>(front[f].time.count()), 1e-6) << seed;
    }
  }
}

std::int64_t every_mix(const std::vector<MixGroup>& groups, std::size_t g, int left,
                       std::int64_t room) {
  if (room < 0) return INT64_MAX / 4;
  if (g == groups.size()) return 0;
  if (left == 0)
    return every_mix(groups, g + 1, g + 1 < groups.size() ? groups[g + 1].layers : 0, room);
  std::int64_t best = INT64_MAX / 4;
  for (const MixPolicy& p : groups[g].policies)
    best = std::min(best, p.time + every_mix(groups, g, left - 1, room - p.bytes));
  return best;
}

TEST(PolicyMix, IsTheBestOfEveryMix) {
  int fits = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Random random(seed);
    std::uint64_t i = 0;
    std::vector<MixGroup> groups(static_cast<std::size_t>(random.between(i++, 1, 2)));
    for (MixGroup& group : groups) {
      group.layers = static_cast<int>(random.between(i++, 1, 4));
      group.policies.resize(static_cast<std::size_t>(random.between(i++, 1, 4)));
      for (MixPolicy& p : group.policies)
        p = {random.between(i, 0, 20), random.between(i + 1, 0, 20)}, i += 2;
    }
    const std::int64_t limit = random.between(i, 0, 80);
    const std::int64_t expected = every_mix(groups, 0, groups[0].layers, limit);
    const Mix mix = best_mix(groups, limit);
    if (expected >= INT64_MAX / 4) {
      EXPECT_TRUE(mix.counts.empty()) << seed;
      continue;
    }
    ++fits;
    EXPECT_EQ(mix.time, expected) << seed;
    EXPECT_TRUE(mix.exact);
    EXPECT_LE(mix.bytes, limit);
    EXPECT_LE(mix.bound, static_cast<double>(mix.time) + 1e-6);
    std::int64_t bytes = 0, time = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      int layers = 0;
      for (std::size_t p = 0; p < groups[g].policies.size(); ++p) {
        layers += mix.counts[g][p];
        bytes += mix.counts[g][p] * groups[g].policies[p].bytes;
        time += mix.counts[g][p] * groups[g].policies[p].time;
      }
      EXPECT_EQ(layers, groups[g].layers);
    }
    EXPECT_EQ(bytes, mix.bytes);
    EXPECT_EQ(time, mix.time);
  }
  EXPECT_GT(fits, 150);
}

}  // namespace
}  // namespace trainyard
