// Tests that Adasum by halves of vectors is the tree over whole ones, and has the same bits
// wherever the devices of a group are.
#include "backends/cpu/execution/exchange/adasum_exchange.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "core/training/adasum.h"
#include "tests/support/thread_processes.h"

namespace trainyard {
namespace {

using testing::finish_here;

using MemberVectors = std::vector<std::vector<float>>;  // by member

struct AdasumCase {
  std::vector<std::int64_t> tensors;
  std::int64_t mean_ranks = 1;
  std::vector<std::size_t> process;  // by member, rising
  MemberVectors vectors;
};

// Vectors have something in common, and tensors have sizes of their own.
AdasumCase adasum_case(std::size_t members, std::vector<std::int64_t> tensors, unsigned seed) {
  AdasumCase c{std::move(tensors), 1, std::vector<std::size_t>(members, 0), MemberVectors(members)};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (const std::int64_t n : c.tensors) {
    const float size = std::exp(3 * normal(random));
    for (std::int64_t i = 0; i < n; ++i) {
      const float common = normal(random);
      for (std::vector<float>& v : c.vectors) v.push_back(size * (common + normal(random)));
    }
  }
  return c;
}

AdasumCase any_adasum_case() {
  const auto levels = *rc::gen::inRange<std::size_t>(0, 5);
  AdasumCase c = adasum_case(
      std::size_t{1} << levels,
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 99)),
      *rc::gen::arbitrary<unsigned>());
  c.mean_ranks = std::int64_t{1} << *rc::gen::inRange<std::size_t>(0, levels + 1);
  for (std::size_t m = 1; m < c.process.size(); ++m)
    c.process[m] = c.process[m - 1] + *rc::gen::inRange<std::size_t>(0, 2);
  return c;
}

struct CombinedVectors {
  MemberVectors vectors;
  double squares = 0;  // as the last process has found it
  friend bool operator==(const CombinedVectors&, const CombinedVectors&) = default;
};

AdasumVectors vectors_here(const AdasumCase& c, const Company& company, MemberVectors& into) {
  AdasumVectors v{std::vector<float*>(company.members, nullptr), c.tensors, c.mean_ranks};
  for (std::size_t m = 0; m < company.members; ++m)
    if (company.here(m)) v.of[m] = into[m].data();
  return v;
}

CombinedVectors by_halves(const AdasumCase& c, const std::vector<std::size_t>& process) {
  CombinedVectors found{c.vectors};
  testing::on_threads(process, [&](const Company& company) {
    double squares = 0;
    finish_here(adasum_halves(company, vectors_here(c, company, found.vectors), squares));
    finish_here(adasum_gather(company, vectors_here(c, company, found.vectors)));
    if (company.here(0)) found.squares = squares;
  });
  return found;
}

CombinedVectors by_whole_vectors(const AdasumCase& c, const std::vector<std::size_t>& process) {
  CombinedVectors found{c.vectors};
  testing::on_threads(process, [&](const Company& company) {
    double squares = 0;
    finish_here(adasum_whole(company, vectors_here(c, company, found.vectors), squares));
    if (company.here(0)) found.squares = squares;
  });
  return found;
}

CombinedVectors by_tree(const AdasumCase& c) {
  CombinedVectors found{c.vectors};
  std::vector<std::span<float>> ranks(found.vectors.begin(), found.vectors.end());
  found.squares = adasum_tree(ranks, c.tensors, c.mean_ranks);
  for (std::vector<float>& v : found.vectors) v = found.vectors[0];
  return found;
}

// The largest difference of two tensors' numbers over the length of the second.
double apart_by(const AdasumCase& c, const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  std::size_t at = 0;
  for (const std::int64_t n : c.tensors) {
    double apart = 0, length = 0;
    for (const std::size_t end = at + static_cast<std::size_t>(n); at < end; ++at) {
      apart = std::max(apart, std::abs(double{a[at]} - double{b[at]}));
      length += double{b[at]} * double{b[at]};
    }
    if (length > 0) most = std::max(most, apart / std::sqrt(length));
  }
  return most;
}

RC_GTEST_PROP(AdasumExchange, HalvesOfVectorsGiveWhatTheTreeGives, ()) {
  const AdasumCase c = any_adasum_case();
  const CombinedVectors tree = by_tree(c),
                        halves = by_halves(c, std::vector(c.process.size(), std::size_t{0}));
  for (std::size_t m = 0; m < c.vectors.size(); ++m) {
    RC_ASSERT(halves.vectors[m] == halves.vectors[0]);
    RC_ASSERT(apart_by(c, halves.vectors[m], tree.vectors[0]) <= 1e-6);
  }
  if (c.mean_ranks < static_cast<std::int64_t>(c.vectors.size()))
    RC_ASSERT(std::abs(halves.squares - tree.squares) <= 1e-6 * tree.squares);
}

RC_GTEST_PROP(AdasumExchange, GivesTheSameBitsWhereverItsMembersAre, ()) {
  const AdasumCase c = any_adasum_case();
  const std::vector<std::size_t> alone(c.process.size(), 0);
  RC_ASSERT(by_halves(c, c.process) == by_halves(c, alone));
  RC_ASSERT(by_whole_vectors(c, c.process) == by_whole_vectors(c, alone));
  RC_ASSERT(by_whole_vectors(c, alone) == by_tree(c));
}

// B-GRD-01 (1): 8 processes of one rank each.
TEST(AdasumExchange, EightProcessesGiveTheSerialTree) {
  const AdasumCase c = adasum_case(8, {1000, 1, 37, 4096}, 1);
  const CombinedVectors tree = by_tree(c), apart = by_halves(c, {0, 1, 2, 3, 4, 5, 6, 7});
  for (const std::vector<float>& v : apart.vectors)
    EXPECT_LE(apart_by(c, v, tree.vectors[0]), 1e-5);
}

}  // namespace
}  // namespace trainyard
