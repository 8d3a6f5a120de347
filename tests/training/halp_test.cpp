// Tests HALP's grid and its packing by laws, the whole algorithm on least squares against the bars
// of NUM-04, the optimizer against the algorithm in double, and the order of its samples.
#include "core/training/halp/halp.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/random.h"
#include "core/training/halp/anchored_data.h"
#include "core/training/halp/anchored_state.h"
#include "core/training/halp/halp_study.h"
#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {
namespace {

RC_GTEST_PROP(HalpGrid, RoundsToOneOfTheTwoNeighbours, ()) {
  const int bits = *rc::gen::inRange(2, 17);
  const double step = *rc::gen::inRange(1, 1000) * 1e-3;
  const auto most = static_cast<double>(largest_offset(bits));
  const double number = step * most * (*rc::gen::inRange(-1500, 1501) * 1e-3);
  const double uniform = *rc::gen::inRange(0, 1000) * 1e-3;
  const Offset found = round_to_grid(number, step, bits, uniform);
  RC_ASSERT(std::abs(found.code) <= largest_offset(bits));
  if (found.clipped) {
    RC_ASSERT(std::abs(number) > step * most);
    RC_ASSERT(found.code == (number > 0 ? 1 : -1) * largest_offset(bits));
  } else {
    RC_ASSERT(std::abs(step * static_cast<double>(found.code) - number) <= step * (1 + 1e-9));
  }
}

// Over equally many draws of each share of [0, 1) the mean is the number, to one share.
TEST(HalpGrid, RoundsToTheNumberOnAverage) {
  constexpr int kDraws = 1000;
  for (const double number : {0.0, 0.3, -0.77, 1.5, -2.999}) {
    double sum = 0;
    for (int i = 0; i < kDraws; ++i)
      sum += static_cast<double>(round_to_grid(number, 1, 4, (i + 0.5) / kDraws).code);
    EXPECT_NEAR(sum / kDraws, number, 1.0 / kDraws);
  }
  EXPECT_EQ(round_to_grid(5, 0, 8, 0.5).code, 0);
  EXPECT_DOUBLE_EQ(grid_step(12.7, 0.1, 8), 1);  // |g| / (mu 127)
  EXPECT_EQ(largest_offset(2), 1);
  EXPECT_EQ(largest_offset(16), 32767);
}

RC_GTEST_PROP(HalpOffsets, AreReadAsTheyWereWrittenAndLeaveOthersAlone, ()) {
  const int bits = *rc::gen::inRange(2, 17);
  const auto count = *rc::gen::inRange<std::int64_t>(1, 100);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(offset_words(count, bits)));
  RC_ASSERT(static_cast<std::int64_t>(words.size()) * 32 - count * bits < 32);
  std::vector<std::int64_t> plain(static_cast<std::size_t>(count));
  const auto writes = *rc::gen::container<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(
      rc::gen::arbitrary<std::pair<std::uint32_t, std::uint32_t>>());
  for (const auto& [place, number] : writes) {
    const std::int64_t at = place % count,
                       code = static_cast<std::int64_t>(number % (2 * largest_offset(bits) + 1)) -
                              largest_offset(bits);
    plain[static_cast<std::size_t>(at)] = code;
    set_offset(words, bits, at, code);
  }
  for (std::int64_t i = 0; i < count; ++i)
    RC_ASSERT(offset_at(words, bits, i) == plain[static_cast<std::size_t>(i)]);
}

// --- the bars of NUM-04: 1000 samples, 10 weights, a rate of 0.01, 1500 inner steps ---

const HalpStudy& halp_bars() {
  static const HalpStudy study = study_halp({});
  return study;
}

TEST(HalpBars, EightBitsReachWhatFloatsDoAndPassAFixedGrid) {
  const HalpStudy& study = halp_bars();
  const HalpRow& row = study.row(8);
  EXPECT_LE(row.centred.error(), 10 * study.floats.error());
  EXPECT_LE(row.centred.error(), 1e-4 * row.fixed.error());
  EXPECT_LT(study.floats.error(), 1e-7);
  EXPECT_EQ(row.centred.convergence(), Convergence::Converges);
}

TEST(HalpBars, TwoAndThreeBitsAreFlaggedAsDiverging) {
  EXPECT_EQ(halp_bars().row(2).centred.convergence(), Convergence::Diverges);
  EXPECT_EQ(halp_bars().row(3).centred.convergence(), Convergence::Diverges);
  EXPECT_GT(halp_bars().row(2).centred.error(), 1);
  EXPECT_EQ(halp_bars().row(6).centred.convergence(), Convergence::Converges);
  EXPECT_NE(halp_sentences(halp_bars())[1].find("diverges with 2 and 3 bits"), std::string::npos)
      << halp_sentences(halp_bars())[1];
}

TEST(HalpBars, TheGridShrinksInTheMedianAndErrorsFallWithBits) {
  HalpQuestion q;
  q.bits = {8};
  std::vector<std::vector<double>> steps(static_cast<std::size_t>(q.rounds));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    q.seed = seed;
    const HalpStudy study = study_halp(q);
    for (std::size_t k = 0; k < steps.size(); ++k)
      steps[k].push_back(study.row(8).centred.rounds[k].step);
  }
  double before = 0;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    std::sort(steps[k].begin(), steps[k].end());
    const double median = steps[k][steps[k].size() / 2];
    if (k > 0) {
      EXPECT_LT(median, before) << k;
    }
    before = median;
  }
  double error = 1e300;
  for (const int bits : {3, 4, 5, 6, 8}) {
    EXPECT_LT(halp_bars().row(bits).centred.error(), error) << bits;
    error = halp_bars().row(bits).centred.error();
  }
}

TEST(HalpBars, ClippedOffsetsAreCountedWhereMuIsTooLarge) {
  HalpQuestion q;
  q.bits = {8};
  q.mu = 100;
  const HalpStudy narrow = study_halp(q);
  EXPECT_GT(narrow.row(8).centred.clipped(), 1000);
  EXPECT_EQ(halp_bars().row(12).centred.clipped(), 0);
  EXPECT_EQ(study_halp(q).row(8).centred.error(), narrow.row(8).centred.error());
}

TEST(HalpBars, RunsThatLeaveTheRangeOfNumbersDivergeInFiniteRounds) {
  HalpQuestion q;
  q.samples = 50, q.weights = 3, q.inner = 500, q.rounds = 200;
  q.bits = {2, 8};
  q.rate = 100;
  const HalpStudy study = study_halp(q);
  EXPECT_EQ(study.floats.convergence(), Convergence::Diverges);
  for (const HalpRow& row : study.rows) {
    EXPECT_EQ(row.centred.convergence(), Convergence::Diverges);
    for (const HalpRound& round : row.centred.rounds) {
      EXPECT_TRUE(std::isfinite(round.distance));
      EXPECT_TRUE(std::isfinite(round.step));
    }
  }
}

// --- the optimizer ---

// One tensor of weights w of the loss sum(c (w - target)^2) / 2, whose gradients are c (w -
// target).
struct HalpTensor {
  static constexpr std::size_t kCount = 37;
  HalpTensor(const Training& t, const Halp& h)
      : training(t),
        halp(h),
        rule(optimizer_rule("halp", t, WeightUpdate::Direct, h)),
        state(static_cast<std::size_t>(tensor_state_bytes("halp", {}, 0, kCount, 4, h.bits).value)),
        weights(kCount),
        target(kCount) {
    for (std::size_t i = 0; i < kCount; ++i) {
      weights[i] = static_cast<float>(Random(3).uniform(i));
      target[i] = static_cast<float>(Random(4).uniform(i));
    }
  }
  AnchoredState anchored() { return {state.data(), kCount, halp.bits}; }
  // A backend, too, takes means over the weights' and the anchor's microbatches together.
  void step(std::int64_t t) {
    std::vector<float> gradients(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double curvature =
          0.5 + 0.1 * static_cast<double>((t + static_cast<std::int64_t>(i)) % 5);
      const double from = halp.is_pass(t) ? double{target[i]} : double{anchored().anchor[i]};
      gradients[i] =
          static_cast<float>(curvature * (double{weights[i]} - from) / (halp.is_pass(t) ? 1 : 2));
    }
    ParameterPart part;
    part.elements = kCount;
    part.weights = weights.data(), part.gradients = gradients.data();
    part.tensor_state = state.data(), part.id = 7;
    rule->apply(part, {.t = t, .rate = training.rate}, {});
  }

  Training training;
  Halp halp;
  std::unique_ptr<OptimizerRule> rule;
  std::vector<std::byte> state;
  std::vector<float> weights, target;
};

RC_GTEST_PROP(HalpRule, IsTheAlgorithmStepByStep, ()) {
  Training training;
  training.rate = 0.2;
  training.weight_decay = *rc::gen::element(0.0, 0.1);
  const Halp halp{*rc::gen::inRange(2, 17), 0.6, *rc::gen::inRange<std::int64_t>(1, 5),
                  *rc::gen::inRange<std::int64_t>(1, 4)};
  HalpTensor tensor(training, halp);
  for (std::int64_t t = 0; t < 2 * halp.round(); ++t) {
    const std::vector<float> before = tensor.weights;
    const bool last_of_pass = halp.is_pass(t) && !halp.is_pass(t + 1);
    tensor.step(t);
    const AnchoredState now = tensor.anchored();
    const double s = *now.step;
    if (halp.is_pass(t)) RC_ASSERT(tensor.weights == before);
    if (last_of_pass) {
      double square = 0;
      for (std::size_t i = 0; i < HalpTensor::kCount; ++i) {
        RC_ASSERT(now.anchor[i] == before[i]);
        RC_ASSERT(offset_at(now.offsets, halp.bits, static_cast<std::int64_t>(i)) == 0);
        square += double{now.full_gradient[i]} * double{now.full_gradient[i]};
      }
      RC_ASSERT(std::abs(s / grid_step(std::sqrt(square), halp.mu, halp.bits) - 1) < 1e-6);
    }
    if (halp.is_pass(t)) continue;
    for (std::size_t i = 0; i < HalpTensor::kCount; ++i) {
      const std::int64_t code = offset_at(now.offsets, halp.bits, static_cast<std::int64_t>(i));
      RC_ASSERT(tensor.weights[i] ==
                static_cast<float>(double{now.anchor[i]} + s * static_cast<double>(code)));
      const double z = double{before[i]} - double{now.anchor[i]},
                   curvature =
                       0.5 + 0.1 * static_cast<double>((t + static_cast<std::int64_t>(i)) % 5),
                   next = z - 0.2 * (curvature * z + double{now.full_gradient[i]} +
                                     training.weight_decay * z),
                   most = s * static_cast<double>(largest_offset(halp.bits));
      RC_ASSERT(std::abs(std::clamp(next, -most, most) - s * static_cast<double>(code)) <=
                s + 1e-5);
    }
  }
}

// A full gradient over several steps is the mean of theirs, with the decay of the anchor.
TEST(HalpRule, TheFullGradientIsTheMeanOfItsSteps) {
  Training training;
  training.weight_decay = 0.25;
  const Halp halp{8, 1, 2, 4};
  HalpTensor tensor(training, halp);
  std::vector<double> expected(HalpTensor::kCount);
  for (std::int64_t t = 0; t < halp.pass; ++t) {
    tensor.step(t);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double curvature =
          0.5 + 0.1 * static_cast<double>((t + static_cast<std::int64_t>(i)) % 5);
      expected[i] += curvature * (double{tensor.weights[i]} - double{tensor.target[i]}) / 4;
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(tensor.anchored().full_gradient[i], expected[i] + 0.25 * double{tensor.weights[i]},
                1e-6);
}

// --- samples ---

RC_GTEST_PROP(AnchoredSamples, PairsShareSamplesOfThePassWhichComesAgain, ()) {
  struct None final : DataSource {
    std::string_view name() const override { return "none"; }
    std::string provenance() const override { return ""; }
    std::int64_t samples() const override { return 0; }
    std::int64_t evaluation_samples() const override { return 0; }
    Diagnostics check(const Model&) const override { return {}; }
    void fill(const DataRequest&, std::span<float>) const override {}
    void fill(const DataRequest&, std::span<std::int64_t>) const override {}
  };
  const None none;
  const Halp halp{8, 1, *rc::gen::inRange<std::int64_t>(1, 6),
                  *rc::gen::inRange<std::int64_t>(1, 5)};
  const auto micro = *rc::gen::inRange<std::int64_t>(1, 5);
  const std::int64_t microbatches = 2 * *rc::gen::inRange<std::int64_t>(1, 5);
  const AnchoredData data(none, halp, micro, microbatches, 9);
  const std::int64_t batch = micro * microbatches;
  for (std::int64_t step = 0; step < 3 * halp.round(); ++step)
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t at = data.of_source(step * batch + i);
      RC_ASSERT(at >= 0);
      RC_ASSERT(at < halp.pass * batch);
      RC_ASSERT(at % micro == i % micro);
      if (halp.is_pass(step))
        RC_ASSERT(at == step % halp.round() * batch + i);
      else if (i / micro % 2 == 1)
        RC_ASSERT(at == data.of_source(step * batch + i - micro));
    }
}

TEST(AnchoredSamples, InnerStepsDrawAllOfThePass) {
  struct Empty final : DataSource {
    std::string_view name() const override { return "empty"; }
    std::string provenance() const override { return ""; }
    std::int64_t samples() const override { return 0; }
    std::int64_t evaluation_samples() const override { return 0; }
    Diagnostics check(const Model&) const override { return {}; }
    void fill(const DataRequest&, std::span<float>) const override {}
    void fill(const DataRequest&, std::span<std::int64_t>) const override {}
  };
  const Empty empty;
  const AnchoredData data(empty, {8, 1, 100, 2}, 1, 4, 1);
  std::set<std::int64_t> seen;
  for (std::int64_t at = 8; at < 102 * 4; ++at) seen.insert(data.of_source(at));
  EXPECT_EQ(seen.size(), 8u);
}

}  // namespace
}  // namespace trainyard
