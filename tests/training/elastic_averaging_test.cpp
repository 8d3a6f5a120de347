// Tests how replicas meet: means, and the law by which a centre and its replicas near each other.
#include "core/training/elastic_averaging.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "core/methods/parallel/relaxed_synchrony.h"

namespace trainyard {
namespace {

struct Meeting {
  std::vector<std::vector<float>> replicas;  // each of one number or more
  std::vector<std::vector<float>> centres;   // a copy for each

  void pull(double elasticity) {
    std::vector<float> sum(replicas.front().size(), 0);
    for (const std::vector<float>& one : replicas)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
    for (std::size_t r = 0; r < replicas.size(); ++r)
      pull_together(replicas[r], centres[r], sum, static_cast<std::int64_t>(replicas.size()),
                    elasticity);
  }
  // The distance from the centre to the mean of the replicas, of the first number.
  double distance() const {
    double sum = 0;
    for (const std::vector<float>& one : replicas) sum += one[0];
    return sum / static_cast<double>(replicas.size()) - centres[0][0];
  }
};

Meeting around(std::size_t replicas, float centre, float distance, float apart) {
  Meeting made;
  for (std::size_t r = 0; r < replicas; ++r) {
    const float aside = apart * (static_cast<float>(r) - static_cast<float>(replicas - 1) / 2);
    made.replicas.push_back({centre + distance + aside});
    made.centres.push_back({centre});
  }
  return made;
}

TEST(ElasticAveraging, TheMeanIsRoundedOnce) {
  std::vector<float> numbers = {9, 9, 9};
  const std::vector<float> sum = {3, 1, -7.5f};
  take_mean(numbers, sum, 3);
  EXPECT_EQ(numbers, (std::vector<float>{1, 1.f / 3, -2.5f}));
}

// Two replicas at 1 and 3 about a centre at 0, of which each moves by a quarter: 0.75 and 2.25; the
// centre by a quarter of 1 and of 3.
TEST(ElasticAveraging, ReplicasAndCentreMoveFromWhereTheyWere) {
  Meeting two{{{1}, {3}}, {{0}, {0}}};
  two.pull(0.5);
  EXPECT_EQ(two.replicas, (std::vector<std::vector<float>>{{0.75f}, {2.25f}}));
  EXPECT_EQ(two.centres, (std::vector<std::vector<float>>{{1}, {1}}));
}

// d' = (1 - (P + 1) a) d, and the distances of replicas from their mean become 1 - a of theirs.
RC_GTEST_PROP(ElasticAveraging, DistancesFollowTheCouplingLaw, ()) {
  const auto replicas = *rc::gen::inRange<std::size_t>(2, 65);
  const double elasticity = *rc::gen::inRange(1, 2000) / 1000.0;
  Meeting meeting = around(replicas, 0.25f, 1, 0.125f);
  const double apart = meeting.replicas[1][0] - meeting.replicas[0][0];
  meeting.pull(elasticity);
  const auto p = static_cast<double>(replicas);
  RC_ASSERT(std::abs(meeting.distance() - (1 - (p + 1) * elasticity / p)) < 1e-5);
  RC_ASSERT(std::abs(meeting.replicas[1][0] - meeting.replicas[0][0] -
                     (1 - elasticity / p) * apart) < 1e-5);
  for (const std::vector<float>& copy : meeting.centres) RC_ASSERT(copy == meeting.centres[0]);
}

// B-GRD-05: without gradients, the distance fades below the limit and grows above it; where it
// switches is found by halving, from 40 exchanges at each elasticity.
TEST(ElasticAveraging, GrowsFromTheLimitOn) {
  for (std::size_t replicas = 2; replicas <= 64; ++replicas) {
    const auto radius = [&](double elasticity) {
      Meeting meeting = around(replicas, 0, 1, 0);
      for (int i = 0; i < 40; ++i) meeting.pull(elasticity);
      return std::pow(std::abs(meeting.distance()), 1.0 / 40);
    };
    double low = 0.5, high = 3;
    ASSERT_LT(radius(low), 1);
    ASSERT_GT(radius(high), 1);
    while (high - low > 1e-4) (radius((low + high) / 2) < 1 ? low : high) = (low + high) / 2;
    const double limit = elasticity_limit(static_cast<std::int64_t>(replicas));
    EXPECT_NEAR(low, limit, 0.01 * limit) << replicas << " replicas";
  }
}

}  // namespace
}  // namespace trainyard
