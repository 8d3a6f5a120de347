// Tests recomputation on chains: the schedule found is what an exhaustive search finds, published
// counts are reproduced, and no published schedule beats it.
#include "planners/recompute/recompute_chain.h"

#include <gtest/gtest.h>

#include <map>
#include <queue>
#include <random>
#include <tuple>

#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Chain equal(int layers, std::int64_t input, std::int64_t tape, int forward = 1, int backward = 2) {
  Chain chain;
  chain.layers.assign(static_cast<std::size_t>(layers),
                      {Duration{forward}, Duration{backward}, Bytes{input}, Bytes{tape}});
  chain.output = Bytes{input};
  return chain;
}

Chain drawn_chain(std::uint64_t seed, int layers, std::int64_t most) {
  const Random random(seed);
  std::uint64_t i = 0;
  Chain chain;
  for (int l = 0; l < layers; ++l)
    chain.layers.push_back(
        {Duration{random.between(i, 0, 9)}, Duration{random.between(i + 1, 0, 9)},
         Bytes{random.between(i + 2, 0, most)}, Bytes{random.between(i + 3, 0, most)}}),
        i += 4;
  chain.output = Bytes{random.between(i, 0, most)};
  return chain;
}

// Every schedule in which what is kept stays until its backward, the quickest first (Dijkstra).
// Gives -1 where none fits.
std::int64_t brute_force(const Chain& chain, std::int64_t limit) {
  const int n = static_cast<int>(chain.layers.size());
  // Inputs and tapes kept, boundary that passes (31: none), gradient (31: none).
  using State = std::tuple<std::uint32_t, std::uint32_t, int, int>;
  constexpr int kNone = 31;
  const auto boundary = [&](int b) {
    return (b < n ? chain.layers[static_cast<std::size_t>(b)].input : chain.output).value;
  };
  std::map<State, std::int64_t> best;
  using Entry = std::pair<std::int64_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto reach = [&](std::int64_t time, const State& s) {
    const auto [at, is_new] = best.try_emplace(s, time);
    if (!is_new && at->second <= time) return;
    at->second = time;
    queue.emplace(time, s);
  };
  reach(0, {0, 0, 0, kNone});
  while (!queue.empty()) {
    const auto [time, state] = queue.top();
    queue.pop();
    if (best.at(state) < time) continue;
    const auto [inputs, tapes, passing, gradient] = state;
    if (gradient == 0) return time;
    std::int64_t held = gradient == kNone ? 0 : boundary(gradient);
    for (int l = 0; l < n; ++l) {
      const RecomputeLayerCost& layer = chain.layers[static_cast<std::size_t>(l)];
      if ((inputs >> l & 1U) != 0) held += layer.input.value;
      if ((tapes >> l & 1U) != 0) held += layer.tape.value;
    }
    const int last = gradient == kNone ? n - 1 : gradient - 1;
    for (int l = 0; l <= last; ++l) {
      const RecomputeLayerCost& layer = chain.layers[static_cast<std::size_t>(l)];
      const std::uint32_t bit = 1U << l;
      const bool kept = (inputs & bit) != 0;
      if (kept || passing == l)
        for (const ChainStep step :
             {ChainStep::ForwardDrop, ChainStep::ForwardKeepInput, ChainStep::ForwardKeepAll}) {
          if (kept && step == ChainStep::ForwardDrop) continue;
          const bool tape = step == ChainStep::ForwardKeepAll && (tapes & bit) == 0;
          const std::int64_t need = held + (kept ? 0 : layer.input.value) +
                                    (tape ? layer.tape.value : 0) + boundary(l + 1);
          if (need > limit) continue;
          const bool out = l + 1 == n && gradient == kNone;
          reach(time + layer.forward.count(),
                {step == ChainStep::ForwardDrop ? inputs : inputs | bit, tape ? tapes | bit : tapes,
                 out ? kNone : l + 1, out ? n : gradient});
        }
      if (gradient == l + 1 && kept && (tapes & bit) != 0 && held + boundary(l) <= limit)
        reach(time + layer.backward.count(), {inputs & ~bit, tapes & ~bit, kNone, l});
    }
  }
  return -1;
}

std::int64_t least_bytes(const Chain& chain) {
  const auto front = chain_front(chain, Bytes{1'000'000});
  return front.front().peak.value;
}

void expect_as_brute_force(const Chain& chain, std::int64_t limit) {
  const std::int64_t expected = brute_force(chain, limit);
  if (expected < 0) {
    EXPECT_THROW(best_chain_schedule(chain, Bytes{limit}), Error);
    return;
  }
  const ChainSchedule found = best_chain_schedule(chain, Bytes{limit});
  EXPECT_EQ(found.time.count(), expected) << "limit " << limit;
  EXPECT_LE(found.peak.value, limit);
  const ChainRun run = run_chain(chain, found.actions);
  EXPECT_EQ(run.time, found.time);
  EXPECT_EQ(run.peak, found.peak);
}

// Every limit of small chains, in both directions of each step of the front.
TEST(RecomputeChain, IsWhatAnExhaustiveSearchFindsAtEveryLimit) {
  for (std::uint64_t seed = 0; seed < testing::cases(120, 6); ++seed) {
    const Chain chain = drawn_chain(seed, 1 + static_cast<int>(seed % 6), seed % 3 == 0 ? 3 : 12);
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const ChainPoint& point : testing::non_empty(chain_front(chain, Bytes{1'000})))
      for (const std::int64_t limit : {point.peak.value - 1, point.peak.value})
        if (limit >= 0) expect_as_brute_force(chain, limit);
  }
}

TEST(RecomputeChain, IsWhatAnExhaustiveSearchFindsOnTwelveLayers) {
  for (std::uint64_t seed = 0; seed < testing::cases(4, 1); ++seed) {
    const Chain chain = drawn_chain(1000 + seed, static_cast<int>(testing::cases(9, 7) + seed), 6);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::int64_t least = least_bytes(chain);
    expect_as_brute_force(chain, least);
    expect_as_brute_force(chain, least + 1);
  }
}

TEST(RecomputeChain, FrontNeverRisesAndEndsWithNothingRunTwice) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Chain chain = drawn_chain(seed, 20, 50);
    const std::vector<ChainPoint> front = chain_front(chain, Bytes{100'000});
    Duration once{};
    for (const RecomputeLayerCost& l : chain.layers) once += l.forward + l.backward;
    EXPECT_EQ(front.back().time, once);
    for (std::size_t i = 1; i < front.size(); ++i) {
      EXPECT_LT(front[i - 1].peak, front[i].peak);
      EXPECT_GT(front[i - 1].time, front[i].time);
    }
  }
}

// Rounding bytes up never claims that something fits if it does not.
TEST(RecomputeChain, CountingInPartsStaysWithinTheLimit) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Chain chain = drawn_chain(seed, 20, 5'000);
    const Bytes limit = Bytes{least_bytes(chain)} * 2;
    const ChainSchedule exact = best_chain_schedule(chain, limit),
                        coarse = best_chain_schedule(chain, limit, {.parts = 500});
    EXPECT_LE(coarse.peak, limit);
    EXPECT_LE(exact.time, coarse.time);
    EXPECT_LE(static_cast<double>(coarse.time.count()),
              1.05 * static_cast<double>(exact.time.count()));
  }
}

// Chen et al.: k segments hold k + n / k.
TEST(RecomputeChain, SquareRootOfNIsPublished) {
  for (const auto& [n, segments, peak] : {std::tuple{16, 4, 8}, {64, 8, 16}, {100, 10, 20}}) {
    EXPECT_EQ(chen_segments(n), segments);
    EXPECT_EQ(chen_peak(n, segments), peak);
    const ChainRun run = run_chain(equal(n, 1, 0), chen_schedule(n, segments));
    // The first input of the segment at work is one of the k.
    EXPECT_EQ(run.stored.value, peak - 1);
    EXPECT_EQ(run.forwards, 2 * n - n / segments);  // the last segment runs once
  }
  EXPECT_LE(run_chain(equal(64, 1, 0), chen_schedule(64, 8)).peak.value, 18);
  EXPECT_EQ(chen_peak(1000, chen_segments(1000)), 64);
}

TEST(RecomputeChain, BinomialCountsArePublished) {
  EXPECT_EQ(revolve_reach(3, 2), 10);
  EXPECT_EQ(revolve_reach(1'000'000, 1'000'000), INT64_MAX);
  for (const auto& [n, s, t] :
       {std::tuple{10, 3, 15}, {20, 3, 45}, {50, 5, 122}, {100, 6, 280}, {7, 7, 6}, {7, 1, 21}})
    EXPECT_EQ(revolve_forwards(n, s), t) << n << " " << s;
}

// t(n, s) = min over k of k + t(n - k, s - 1) + t(k, s), by definition.
TEST(RecomputeChain, BinomialCountsAreThoseOfTheRecursion) {
  std::map<std::pair<int, int>, std::int64_t> t;
  for (int s = 1; s <= 12; ++s)
    for (int n = 1; n <= 120; ++n) {
      std::int64_t least = n == 1 ? 0 : std::int64_t{n} * (n - 1) / 2;
      for (int k = 1; k < n && s > 1; ++k)
        least = std::min(least, k + t[{n - k, s - 1}] + t[{k, s}]);
      t[{n, s}] = least;
      EXPECT_EQ(revolve_forwards(n, s), least) << n << " " << s;
    }
}

// With room for s inputs, one that is at work and one tape, the best schedule runs as many forwards
// as the formula says, and the published schedule is one of them.
TEST(RecomputeChain, EqualLayersTakeAsManyForwardsAsRevolve) {
  const Random random(7);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const int n = static_cast<int>(random.between(2 * i, 1, 60)),
              s = static_cast<int>(random.between(2 * i + 1, 1, 8));
    constexpr std::int64_t kTape = 1000;  // no second one fits
    const Chain chain = equal(n, 1, kTape);
    const std::int64_t forwards = n + revolve_forwards(n, s);
    const ChainRun published = run_chain(chain, revolve_schedule(n, s));
    EXPECT_EQ(published.forwards, forwards) << n << " " << s;
    const Bytes limit{s + 1 + kTape + 2};
    EXPECT_LE(published.peak, limit);
    const ChainSchedule best = best_chain_schedule(chain, limit);
    EXPECT_EQ(run_chain(chain, best.actions).forwards, forwards) << n << " " << s;
  }
}

TEST(RecomputeChain, NoPublishedScheduleIsQuickerAtAnyLimit) {
  for (const std::int64_t tape : {0, 1, 3, 10})
    for (const int n : {5, 16, testing::sanitized() ? 17 : 33}) {
      const Chain chain = equal(n, 2, tape);
      std::vector<ChainRun> published;
      for (int k = 1; k <= n; ++k) published.push_back(run_chain(chain, chen_schedule(n, k)));
      for (int s = 1; s <= n; ++s) published.push_back(run_chain(chain, revolve_schedule(n, s)));
      for (const ChainRun& limit : testing::non_empty(published)) {
        const Duration best = best_chain_schedule(chain, limit.peak).time;
        for (const ChainRun& other : testing::non_empty(published))
          if (other.peak <= limit.peak) {
            EXPECT_LE(best, other.time) << n << " " << tape;
          }
      }
    }
}

std::string refusal(const Chain& chain, const std::vector<ChainAction>& actions) {
  try {
    run_chain(chain, actions);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(RecomputeChain, RefusesActionsThatFindNothing) {
  using S = ChainStep;
  const Chain two = equal(2, 1, 1);
  EXPECT_EQ(refusal(two, {{S::ForwardDrop, 1}}),
            "action 0, forward of layer 1: expected its input");
  EXPECT_EQ(refusal(two, {{S::ForwardDrop, 0}, {S::ForwardDrop, 1}, {S::Backward, 1}}),
            "action 2, backward of layer 1: expected its input and its tape");
  EXPECT_EQ(refusal(two, {{S::ForwardKeepAll, 0}, {S::Backward, 0}}),
            "action 1, backward of layer 0: expected the gradient of its output");
  EXPECT_EQ(refusal(two, {{S::ForwardDrop, 0}, {S::ForwardKeepAll, 1}, {S::Backward, 1}}),
            "expected a backward of every layer, found none of layer 0");
  EXPECT_EQ(refusal(two, {{S::ForwardDrop, 2}}),
            "action 0, forward of layer 2: expected a layer of the chain");
}

TEST(RecomputeChain, SaysWhatTheLeastNeeds) {
  try {
    best_chain_schedule(equal(4, 1024, 2048), Bytes{4096});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "no schedule fits in 4.00 KiB: the least needs 6.00 KiB");
  }
  EXPECT_THROW(best_chain_schedule({}, Bytes{1}), Error);
}

}  // namespace
}  // namespace trainyard
