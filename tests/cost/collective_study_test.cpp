#include "core/cost/collectives/collective_study.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

std::vector<MessageTiming> messages_of(double alpha, double beta, std::int64_t most) {
  std::vector<MessageTiming> list;
  for (std::int64_t n = 1024; n <= most; n *= 2)
    list.push_back({Bytes{n}, seconds(alpha + beta * static_cast<double>(n))});
  return list;
}

TEST(CollectiveStudy, AFitFindsTheLineThatMessagesLieOn) {
  EXPECT_TRUE(rc::check([] {
    const double alpha = 1e-6 * *rc::gen::inRange(1, 1000);
    const double beta = 1e-12 * *rc::gen::inRange(10, 10'000);
    const LinkCost link = fit_messages(messages_of(alpha, beta, 16 << 20));
    RC_ASSERT(std::abs(link.alpha / alpha - 1) < 0.01);
    RC_ASSERT(std::abs(link.beta / beta - 1) < 0.01);
  }));
}

TEST(CollectiveStudy, AFitHasNoNegativeStartAndNoNegativeRate) {
  const std::vector<MessageTiming> bent = {{Bytes{1024}, 1us}, {Bytes{4096}, 40us}};
  EXPECT_EQ(fit_messages(bent).alpha, 0);
  EXPECT_GT(fit_messages(bent).beta, 0);
  const std::vector<MessageTiming> falling = {{Bytes{1024}, 4us}, {Bytes{4096}, 2us}};
  EXPECT_EQ(fit_messages(falling).beta, 0);
  EXPECT_GT(fit_messages(falling).alpha, 0);
}

// A machine of the model itself: what is measured is the closed form, so the price must be it.
TEST(CollectiveStudy, MessagesOfOneLineArePricedAsTheClosedForm) {
  constexpr LinkCost kLink{.alpha = 4e-6, .beta = 2e-10, .gamma = 1e-10};
  CollectiveStudy study;
  study.ranks = 4;
  study.busy = messages_of(kLink.alpha, kLink.beta, 1 << 20);
  study.alone = messages_of(0.9 * kLink.alpha, 0.9 * kLink.beta, 1 << 20);
  study.adding = messages_of(0, kLink.gamma, 1 << 20);
  const auto formula = [&](CollectiveAlgorithm algorithm, std::int64_t bytes) {
    return collective_seconds(CollectiveKind::AllReduce, algorithm, static_cast<double>(bytes), 4,
                              kLink);
  };
  constexpr std::int64_t kShort = 4096, kLong = 1 << 20;
  for (const CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::Ring, CollectiveAlgorithm::RecursiveDoubling,
        CollectiveAlgorithm::HalvingDoubling, CollectiveAlgorithm::Tree})
    for (const std::int64_t bytes : {kShort, kLong})
      study.rows.push_back({algorithm, Bytes{bytes}, seconds(formula(algorithm, bytes)), {}, {}});
  price_collectives(study);
  ASSERT_EQ(study.links.size(), 2u);
  for (const CollectiveTiming& row : study.rows) {
    const double exact = formula(row.algorithm, row.bytes.value);
    if (row.algorithm == CollectiveAlgorithm::Tree) {
      EXPECT_EQ(row.priced, row.priced_alone);
      continue;
    }
    EXPECT_NEAR(to_seconds(row.priced), exact, 0.01 * exact) << to_string(row.algorithm);
    EXPECT_LT(row.priced_alone, row.priced);
  }
  EXPECT_EQ(fastest_priced(study, Bytes{kShort}).algorithm, CollectiveAlgorithm::RecursiveDoubling);
  EXPECT_EQ(fastest_priced(study, Bytes{kLong}).algorithm, CollectiveAlgorithm::HalvingDoubling);
  EXPECT_EQ(fastest_measured(study, Bytes{kLong}).algorithm, CollectiveAlgorithm::HalvingDoubling);
}

}  // namespace
}  // namespace trainyard
