// Every flip is evaluated on both of its sides, by estimate().
#include "planners/sensitivity/flip.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "core/timeline/compare.h"
#include "tests/planners/random_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

bool wins(const Result& a, const Result& b) {
  if (a.verdict.fits != b.verdict.fits) return a.verdict.fits;
  return a.verdict.fits && a.step.value < b.step.value;
}

struct Pair {
  Scenario winner, runner_up;
};

Pair ordered(const Scenario& a, const Scenario& b, const Flip& f) {
  Pair pair{a, b};
  for (Scenario* s : {&pair.winner, &pair.runner_up}) s->plan = complete(*s);
  if (f.swapped) std::swap(pair.winner, pair.runner_up);
  return pair;
}

bool flipped_at(const Pair& pair, const Lever& lever, double factor) {
  return wins(estimate(with_lever(pair.runner_up, lever, factor)),
              estimate(with_lever(pair.winner, lever, factor)));
}

// Another plan for the same batch; the same one where nothing else is legal.
Scenario other_plan(const Scenario& scenario, std::uint64_t seed) {
  const std::vector<std::string> turns = {
      "tp=2 dp=rest",  "pp=2 dp=rest",   "recompute=full", "zero=3",      "zero=0",
      "micro-batch=4", "recompute=none", "tp=8 dp=rest",   "overlap=off", "tensor-overlap=on"};
  Scenario other = scenario;
  other.plan.batch = complete(scenario).batch;
  for (std::uint64_t draw = 0; draw < 3; ++draw) {
    Scenario turned = other;
    apply_words(turned.plan, turns[Random(seed).bits(draw) % turns.size()]);
    if (!has_errors(check(turned))) other = turned;
  }
  return other;
}

TEST(Flip, HoldsOnBothSidesOfRandomPairs) {
  int points = 0, none = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(60, 8); ++seed) {
    const Scenario a = testing::random_plan(seed), b = other_plan(a, seed);
    const Flip f = flip(a, b, testing::costs());
    const Pair pair = ordered(a, b, f);
    EXPECT_FALSE(wins(estimate(pair.runner_up), estimate(pair.winner)));
    EXPECT_EQ(f.winner.step, estimate(pair.winner).step.value);
    none += f.points.empty();
    for (const FlipPoint& p : f.points) {
      ++points;
      EXPECT_TRUE(flipped_at(pair, p.lever, p.factor)) << p.sentence;
      EXPECT_FALSE(flipped_at(pair, p.lever, p.short_of)) << p.sentence;
      EXPECT_EQ(p.runner_up, estimate(with_lever(pair.runner_up, p.lever, p.factor)).step.value);
      EXPECT_EQ(p.winner, estimate(with_lever(pair.winner, p.lever, p.factor)).step.value);
      const double apart = std::abs(std::log(p.factor / p.short_of));
      if (p.lever.kind != LeverKind::GlobalBatch && p.lever.kind != LeverKind::Sequence) {
        EXPECT_LT(apart, std::log(1.0011)) << p.sentence;
      }
      // From the plan as it is, what does not flip comes first.
      EXPECT_LE(std::abs(std::log(p.short_of)), std::abs(std::log(p.factor)) + 1e-9);
    }
  }
  EXPECT_GT(points, static_cast<int>(testing::cases(60, 5)));
  EXPECT_GE(none, static_cast<int>(testing::cases(1, 0)));
}

// Between two values of a batch that flips there is none that both plans can have.
TEST(Flip, ABatchIsFoundToTheNextThatBothCanHave) {
  const Scenario
      a = open({"llama-3-70b", "h100-sxm:64", "", {"tp=8", "pp=4", "global-batch=128", "zero=1"}}),
      b = open({"llama-3-70b", "h100-sxm:64", "", {"tp=4", "pp=8", "global-batch=128", "zero=1"}});
  const Flip f = flip(a, b, testing::costs());
  const Pair pair = ordered(a, b, f);
  const auto batch = std::find_if(f.points.begin(), f.points.end(), [](const FlipPoint& p) {
    return p.lever.kind == LeverKind::GlobalBatch;
  });
  ASSERT_NE(batch, f.points.end());
  const auto value = [&](double factor) { return std::llround(128 * factor); };
  const std::int64_t at = value(batch->factor), beside = value(batch->short_of);
  for (std::int64_t n = std::min(at, beside) + 1; n < std::max(at, beside); ++n) {
    bool both = true;
    for (Scenario s : {pair.winner, pair.runner_up}) {
      s.plan.batch.global = n;
      both = both && !has_errors(check(s));
    }
    EXPECT_FALSE(both) << n;
  }
}

TEST(Flip, CausesAreTheDifferenceOfTheBreakdowns) {
  const Scenario a = open({"llama-3-70b", "h100-sxm:64", "", {"tp=8", "pp=4", "zero=1"}});
  Scenario b = a;
  apply_words(b.plan, "recompute=full");
  const Flip f = flip(a, b, testing::costs());
  Duration sum{};
  for (const NamedPart& part : testing::non_empty(breakdown_parts())) {
    const Duration more = f.runner_up.breakdown.*part.part - f.winner.breakdown.*part.part;
    sum += more;
    const bool listed = std::any_of(f.causes.begin(), f.causes.end(),
                                    [&](const FlipCause& c) { return c.name == part.name; });
    EXPECT_EQ(listed, more > Duration{}) << part.name;
  }
  EXPECT_EQ(sum, f.runner_up.step - f.winner.step);
  for (const FlipCause& c : testing::non_empty(f.causes))
    if (c.enough) {
      EXPECT_EQ(f.runner_up.step - (c.runner_up - c.falls_to), f.winner.step);
    }
}

// A plan that does not fit wins as soon as the device holds it; the memory is that of the estimate.
TEST(Flip, MemoryFlipsWhereTheLargerPlanFits) {
  const Scenario a = open({"llama-3-8b", "h100-sxm:8", "", {"zero=3", "recompute=full"}});
  Scenario b = a;
  apply_words(b.plan, "recompute=none micro-batch=4 global-batch=32");
  Scenario first = a;
  apply_words(first.plan, "micro-batch=4 global-batch=32");
  const Flip f = flip(first, b, testing::costs());
  ASSERT_FALSE(f.runner_up.fits);
  const auto memory = std::find_if(f.points.begin(), f.points.end(), [](const FlipPoint& p) {
    return p.lever.kind == LeverKind::MemoryCapacity;
  });
  ASSERT_NE(memory, f.points.end());
  const double needed = static_cast<double>(f.runner_up.reserved.value),
               has = static_cast<double>(a.cluster.device.memory.value.value);
  EXPECT_GE(has * memory->factor, needed * 0.9999);
}

TEST(Flip, SaysThatNoFigureFlips) {
  const Scenario a = open({"llama-3-70b", "h100-sxm:64", "", {"tp=8", "pp=4", "zero=1"}});
  const Flip f = flip(a, a, testing::costs());
  EXPECT_TRUE(f.points.empty());
  EXPECT_NE(f.sentence.find("no single figure"), std::string::npos);
}

TEST(Flip, RivalsShareModelClusterAndBatch) {
  const Scenario a = open({"llama-3-70b", "h100-sxm:64", "", {"tp=8", "pp=4", "global-batch=64"}});
  EXPECT_THROW(
      flip(a, open({"llama-3-8b", "h100-sxm:64", "", {"global-batch=64"}}), testing::costs()),
      Error);
  EXPECT_THROW(
      flip(a, open({"llama-3-70b", "h100-sxm:64", "", {"tp=8", "pp=4", "global-batch=32"}}),
           testing::costs()),
      Error);
}

}  // namespace
}  // namespace trainyard
