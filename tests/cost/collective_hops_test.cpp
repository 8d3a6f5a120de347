#include "core/cost/collectives/collective_hops.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "core/base/error.h"

namespace trainyard {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CollectiveKind;
using Vectors = std::vector<std::vector<float>>;

constexpr Kind kKindsWithHops[] = {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather,
                                   Kind::Broadcast, Kind::Reduce,        Kind::Gather,
                                   Kind::Scatter};

std::vector<Algorithm> hop_algorithms(Kind kind, std::int64_t ranks) {
  std::vector<Algorithm> list;
  for (int i = 0; i <= static_cast<int>(Algorithm::InNetwork); ++i)
    if (!no_hops(kind, static_cast<Algorithm>(i), ranks)) list.push_back(static_cast<Algorithm>(i));
  return list;
}

// All messages of a round leave before any of them arrives.
void carry_out(const CollectiveHops& collective, Vectors& vectors) {
  const auto& hops = collective.hops;
  for (auto at = hops.begin(); at != hops.end();) {
    const Vectors before = vectors;
    for (const int round = at->round; at != hops.end() && at->round == round; ++at)
      for (std::int64_t i = at->first; i < at->first + at->count; ++i) {
        const auto e = static_cast<std::size_t>(i);
        vectors[at->to][e] = before[at->from][e] + (at->adds ? before[at->to][e] : 0.0F);
      }
  }
}

std::vector<double> exact_sums(const Vectors& vectors) {
  std::vector<double> sums(vectors.front().size(), 0.0);
  for (const auto& one : vectors)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(one[i]);
  return sums;
}

// Values are positive, so that no sum is small beside its terms.
Vectors any_vectors(std::int64_t ranks, std::int64_t elements) {
  Vectors vectors(static_cast<std::size_t>(ranks));
  for (auto& one : vectors)
    for (std::int64_t i = 0; i < elements; ++i)
      one.push_back(static_cast<float>(*rc::gen::inRange(1, 1'000'000)) / 1000.0F);
  return vectors;
}

TEST(CollectiveHops, EveryAlgorithmLeavesTheSameSumsOnEveryRank) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
    const auto elements = *rc::gen::inRange<std::int64_t>(1, 60);
    const Vectors given = any_vectors(ranks, elements);
    const std::vector<double> sums = exact_sums(given);
    for (const Algorithm algorithm : hop_algorithms(Kind::AllReduce, ranks)) {
      Vectors vectors = given;
      carry_out(collective_hops(Kind::AllReduce, algorithm, ranks, elements), vectors);
      for (const auto& one : vectors)
        for (std::size_t i = 0; i < sums.size(); ++i)
          RC_ASSERT(std::abs(static_cast<double>(one[i]) / sums[i] - 1) <= 1e-6);
    }
  }));
}

TEST(CollectiveHops, AReduceScatterAndAnAllGatherAreAnAllReduce) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
    const auto elements = *rc::gen::inRange<std::int64_t>(1, 60);
    const Vectors given = any_vectors(ranks, elements);
    for (const Algorithm algorithm : hop_algorithms(Kind::ReduceScatter, ranks)) {
      Vectors parts = given, whole = given;
      carry_out(collective_hops(Kind::ReduceScatter, algorithm, ranks, elements), parts);
      carry_out(collective_hops(Kind::AllGather, algorithm, ranks, elements), parts);
      carry_out(collective_hops(Kind::AllReduce, algorithm, ranks, elements), whole);
      RC_ASSERT(parts == whole);
    }
  }));
}

TEST(CollectiveHops, ABroadcastGivesEveryRankWhatTheRootHas) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
    const auto elements = *rc::gen::inRange<std::int64_t>(1, 60);
    const Vectors given = any_vectors(ranks, elements);
    for (const Algorithm algorithm : hop_algorithms(Kind::Broadcast, ranks)) {
      Vectors vectors = given;
      carry_out(collective_hops(Kind::Broadcast, algorithm, ranks, elements), vectors);
      for (const auto& one : vectors) RC_ASSERT(one == given.front());
    }
  }));
}

TEST(CollectiveHops, AReduceGivesTheRootTheSum) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
    const auto elements = *rc::gen::inRange<std::int64_t>(1, 60);
    const Vectors given = any_vectors(ranks, elements);
    const std::vector<double> sums = exact_sums(given);
    for (const Algorithm algorithm : hop_algorithms(Kind::Reduce, ranks)) {
      Vectors vectors = given;
      carry_out(collective_hops(Kind::Reduce, algorithm, ranks, elements), vectors);
      for (std::size_t i = 0; i < sums.size(); ++i)
        RC_ASSERT(std::abs(static_cast<double>(vectors[0][i]) / sums[i] - 1) <= 1e-6);
    }
  }));
}

TEST(CollectiveHops, AGatherGivesTheRootAllPartsAndAScatterGivesThemBack) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
    const auto elements = *rc::gen::inRange<std::int64_t>(1, 60);
    const Vectors given = any_vectors(ranks, elements);
    const auto part_is_of = [&](const std::vector<float>& one, const std::vector<float>& source,
                                std::size_t rank) {
      const ElementRange part = collective_part(elements, rank, static_cast<std::size_t>(ranks));
      for (std::int64_t i = part.first; i < part.first + part.count; ++i)
        RC_ASSERT(one[static_cast<std::size_t>(i)] == source[static_cast<std::size_t>(i)]);
    };
    Vectors vectors = given;
    carry_out(collective_hops(Kind::Gather, Algorithm::Tree, ranks, elements), vectors);
    for (std::size_t r = 0; r < given.size(); ++r) part_is_of(vectors[0], given[r], r);
    Vectors back = given;
    back[0] = vectors[0];
    carry_out(collective_hops(Kind::Scatter, Algorithm::Tree, ranks, elements), back);
    for (std::size_t r = 0; r < given.size(); ++r) part_is_of(back[r], vectors[0], r);
  }));
}

TEST(CollectiveHops, ARankSendsAndReceivesOneMessageARoundAtMost) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 17);
    for (const Kind kind : kKindsWithHops)
      for (const Algorithm algorithm : hop_algorithms(kind, ranks)) {
        const CollectiveHops made = collective_hops(kind, algorithm, ranks, 100);
        std::vector<int> sent(made.ranks, -1), received(made.ranks, -1);
        for (const Hop& hop : made.hops) {
          RC_ASSERT(sent[hop.from] < hop.round);
          RC_ASSERT(received[hop.to] < hop.round);
          sent[hop.from] = received[hop.to] = hop.round;
        }
      }
  }));
}

// B-GRD-07 asks for 1 %; where the parts are equal the two are one sum in another order.
TEST(CollectiveHops, PricedMessageByMessageTheyTakeTheirClosedForm) {
  constexpr LinkCost kLink{.alpha = 5e-6, .beta = 1 / 12.5e9, .gamma = 1 / 40e9};
  for (std::int64_t ranks = 1; ranks <= 256; ranks *= 2)
    for (const std::int64_t elements :
         {std::int64_t{256}, std::int64_t{1} << 16, std::int64_t{1} << 24})
      for (const Kind kind : kKindsWithHops)
        for (const Algorithm algorithm : hop_algorithms(kind, ranks)) {
          const double n = 4 * static_cast<double>(elements);
          const double closed = collective_seconds(kind, algorithm, n, ranks, kLink);
          const double hops =
              hops_seconds(collective_hops(kind, algorithm, ranks, elements), 4, kLink);
          EXPECT_NEAR(hops, closed, 1e-9 * closed)
              << to_string(kind) << " by " << to_string(algorithm) << ", p = " << ranks;
        }
}

TEST(CollectiveHops, RingsTreesAndGridsOfAnyNumberOfRanksTakeTheirClosedFormToo) {
  constexpr LinkCost kLink{.alpha = 5e-6, .beta = 1 / 12.5e9, .gamma = 1 / 40e9};
  for (const std::int64_t ranks : {3, 6, 10, 12, 15, 18})
    for (const Algorithm algorithm : hop_algorithms(Kind::AllReduce, ranks)) {
      const std::int64_t elements = ranks * ranks * 1000;
      const double closed =
          collective_seconds(Kind::AllReduce, algorithm, 4.0 * double(elements), ranks, kLink);
      EXPECT_NEAR(
          hops_seconds(collective_hops(Kind::AllReduce, algorithm, ranks, elements), 4, kLink),
          closed, 1e-9 * closed)
          << to_string(algorithm) << ", p = " << ranks;
    }
}

std::string refusal_of(Kind kind, Algorithm algorithm, std::int64_t ranks) {
  try {
    collective_hops(kind, algorithm, ranks, 100);
  } catch (const Error& error) {
    return describe(error);
  }
  return "";
}

TEST(CollectiveHops, RanksThatAnAlgorithmCannotUseAreRefused) {
  EXPECT_EQ(refusal_of(Kind::AllReduce, Algorithm::HalvingDoubling, 6),
            "all-reduce by halving-doubling: expected a power of two of ranks, found 6");
  EXPECT_EQ(refusal_of(Kind::AllReduce, Algorithm::Torus, 7),
            "all-reduce by torus: expected ranks that are a product of two numbers, found 7");
  EXPECT_EQ(refusal_of(Kind::Broadcast, Algorithm::Ring, 4),
            "broadcast by ring: expected one of tree, scatter-gather");
  EXPECT_EQ(refusal_of(Kind::AllToAll, Algorithm::Pairwise, 4),
            "all-to-all by pairwise: it has no list of messages");
}

}  // namespace
}  // namespace trainyard
