#include "core/training/optimizers/optimizer_step.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "core/base/random.h"
#include "core/plan/plan.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

constexpr std::size_t kElements = 2500;  // more than two stretches, and a rest

constexpr WeightUpdate kUpdates[] = {WeightUpdate::Direct, WeightUpdate::Master,
                                     WeightUpdate::Nearest, WeightUpdate::Stochastic,
                                     WeightUpdate::Kahan};

float number(std::uint64_t stream, std::size_t i) {
  return static_cast<float>(2 * Random(11, stream).uniform(i) - 1);
}
std::vector<float> numbers(std::uint64_t stream) {
  std::vector<float> made(kElements);
  for (std::size_t i = 0; i < kElements; ++i) made[i] = number(stream, i);
  return made;
}

/// A tensor with its state, as one device holds it, of any weight update.
class Tensor {
 public:
  Tensor(const OptimizerRule& rule, WeightUpdate how, std::vector<float> weights, DType half)
      : how_(how), half_(how == WeightUpdate::Direct ? DType::F32 : half), wide_(weights) {
    const std::size_t n = weights.size(), slots = rule.slots().size();
    narrow_.resize(n);
    half_ == DType::F16 ? to_f16(wide_, narrow_.data()) : to_bf16(wide_, narrow_.data());
    state_.assign(slots, std::vector<float>(n));  // bf16 state uses half of it
    for (std::vector<float>& slot : state_) slots_.push_back(slot.data());
    by_tensor_ = kept_by_tensor(rule.name(), 0, n);
    name_ = rule.name();
  }

  ParameterPart part(const std::vector<float>& gradients) {
    ParameterPart whole;
    whole.elements = static_cast<std::int64_t>(wide_.size());
    whole.weights = how_ == WeightUpdate::Direct ? static_cast<void*>(wide_.data())
                                                 : static_cast<void*>(narrow_.data());
    whole.weight_type = half_;
    whole.gradients = gradients.data();
    whole.master = how_ == WeightUpdate::Master ? wide_.data() : nullptr;
    whole.state = slots_;
    whole.tensor_state = by_tensor_.data();
    whole.id = 5;
    return whole;
  }
  /// The elements [first, first + count) as a part of their own.
  ParameterPart piece(const std::vector<float>& gradients, std::size_t first, std::size_t count) {
    ParameterPart piece = part(gradients);
    const std::size_t wide = sizeof(float), narrow = sizeof(std::uint16_t);
    const auto moved = [&](void* from, std::size_t each) {
      return static_cast<void*>(static_cast<char*>(from) + first * each);
    };
    piece.elements = static_cast<std::int64_t>(count);
    piece.first = static_cast<std::int64_t>(first);
    piece.weights = moved(piece.weights, how_ == WeightUpdate::Direct ? wide : narrow);
    piece.gradients = gradients.data() + first;
    if (piece.master != nullptr) piece.master += first;
    pieces_.clear();
    for (void* slot : slots_) pieces_.push_back(moved(slot, is_pure_bf16(how_) ? narrow : wide));
    piece.state = pieces_;
    const auto [kept, is_new] = by_piece_.try_emplace(first);
    if (is_new) kept->second = kept_by_tensor(name_, first, count);
    piece.tensor_state = kept->second.data();
    return piece;
  }

  std::vector<float> weights() const {
    if (how_ == WeightUpdate::Direct) return wide_;
    std::vector<float> all(narrow_.size());
    half_ == DType::F16 ? from_f16(narrow_, all.data()) : from_bf16(narrow_, all.data());
    return all;
  }
  const std::vector<float>& master() const { return wide_; }  // or weights, where they are wide

 private:
  std::vector<std::byte> kept_by_tensor(std::string_view optimizer, std::size_t first,
                                        std::size_t count) const {
    return std::vector<std::byte>(static_cast<std::size_t>(
        tensor_state_bytes(optimizer, {}, static_cast<std::int64_t>(first),
                           static_cast<std::int64_t>(count), is_pure_bf16(how_) ? 2 : 4)
            .value));
  }

  WeightUpdate how_;
  DType half_;
  std::vector<float> wide_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::vector<float>> state_;
  std::vector<void*> slots_, pieces_;
  std::string name_;
  std::vector<std::byte> by_tensor_;
  std::map<std::size_t, std::vector<std::byte>> by_piece_;  // by its first element
};

Training usual() {
  Training training;
  training.weight_decay = 0.01;
  return training;
}

void step(const OptimizerRule& rule, Tensor& tensor, const std::vector<float>& gradients,
          const StepFacts& facts) {
  const ParameterPart part = tensor.part(gradients);
  rule.apply(part, facts, rule.norms(part, facts));
}

std::vector<float> trained(std::string_view optimizer, WeightUpdate how, const Training& training,
                           int steps, DType half = DType::BF16) {
  const auto rule = optimizer_rule(optimizer, training, how);
  Tensor tensor(*rule, how, numbers(0), half);
  for (int t = 0; t < steps; ++t)
    step(*rule, tensor, numbers(1 + static_cast<std::uint64_t>(t)), {t, 0.01, 0.25});
  return tensor.weights();
}

/// One parameter's update in double, from the papers' formulas; state in s[0], s[1].
using Formula = std::function<double(double w, double g, double* s, int t, const Training&)>;

double adam_direction(double g, double* s, int t, const Training& k) {
  s[0] = k.beta1 * s[0] + (1 - k.beta1) * g;
  s[1] = k.beta2 * s[1] + (1 - k.beta2) * g * g;
  const double m = s[0] / (1 - std::pow(k.beta1, t + 1)), v = s[1] / (1 - std::pow(k.beta2, t + 1));
  return m / (std::sqrt(v) + k.epsilon);
}

void expect_formula(std::string_view optimizer, const Training& training, const Formula& formula) {
  const std::vector<float> found = trained(optimizer, WeightUpdate::Direct, training, 5);
  const std::vector<float> start = numbers(0);
  for (std::size_t i = 0; i < kElements; ++i) {
    double w = start[i], state[2] = {0, 0};
    for (int t = 0; t < 5; ++t)
      w = formula(w, double{number(1 + static_cast<std::uint64_t>(t), i)} * 0.25, state, t,
                  training);
    EXPECT_NEAR(found[i], w, 3e-6) << optimizer << " " << i;
  }
}

TEST(OptimizerStep, FollowsItsFormula) {
  const Training k = usual();
  constexpr double kRate = 0.01;
  expect_formula("sgd", k, [](double w, double g, double*, int, const Training& x) {
    return w - kRate * (g + x.weight_decay * w);
  });
  expect_formula("momentum", k, [](double w, double g, double* s, int, const Training& x) {
    s[0] = x.momentum * s[0] + g + x.weight_decay * w;
    return w - kRate * s[0];
  });
  Training nesterov = k;
  nesterov.nesterov = true;
  expect_formula("momentum", nesterov, [](double w, double g, double* s, int, const Training& x) {
    g += x.weight_decay * w;
    s[0] = x.momentum * s[0] + g;
    return w - kRate * (g + x.momentum * s[0]);
  });
  expect_formula("adam", k, [](double w, double g, double* s, int t, const Training& x) {
    return w - kRate * adam_direction(g + x.weight_decay * w, s, t, x);
  });
  expect_formula("adamw", k, [](double w, double g, double* s, int t, const Training& x) {
    return w - kRate * (adam_direction(g, s, t, x) + x.weight_decay * w);
  });
  expect_formula("adagrad", k, [](double w, double g, double* s, int, const Training& x) {
    g += x.weight_decay * w;
    s[0] += g * g;
    return w - kRate * g / (std::sqrt(s[0]) + x.epsilon);
  });
  expect_formula("lion", k, [](double w, double g, double* s, int, const Training& x) {
    const double mixed = x.beta1 * s[0] + (1 - x.beta1) * g;
    s[0] = x.beta2 * s[0] + (1 - x.beta2) * g;
    return w - kRate * ((mixed > 0 ? 1 : mixed < 0 ? -1 : 0) + x.weight_decay * w);
  });
}

double norm(const std::vector<float>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// LARS and LAMB in double, over the whole tensor.
TEST(OptimizerStep, LayerwiseRulesFollowTheirFormula) {
  const Training k = usual();
  std::vector<double> lars(kElements), lamb(kElements), velocity(kElements);
  std::vector<std::array<double, 2>> moments(kElements);
  const std::vector<float> start = numbers(0);
  lars.assign(start.begin(), start.end()), lamb = lars;
  const auto length = [](const std::vector<double>& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  };
  for (int t = 0; t < 5; ++t) {
    std::vector<double> g(kElements), r(kElements);
    const std::vector<float> raw = numbers(1 + static_cast<std::uint64_t>(t));
    for (std::size_t i = 0; i < kElements; ++i) g[i] = raw[i] * 0.25;
    const double local =
        k.trust * length(lars) / (length(g) + k.weight_decay * length(lars) + k.epsilon);
    for (std::size_t i = 0; i < kElements; ++i) {
      velocity[i] = k.momentum * velocity[i] + 0.01 * local * (g[i] + k.weight_decay * lars[i]);
      lars[i] -= velocity[i];
      r[i] = adam_direction(g[i], moments[i].data(), t, k) + k.weight_decay * lamb[i];
    }
    const double trust = length(lamb) / length(r);
    for (std::size_t i = 0; i < kElements; ++i) lamb[i] -= 0.01 * trust * r[i];
  }
  const std::vector<float> found_lars = trained("lars", WeightUpdate::Direct, k, 5),
                           found_lamb = trained("lamb", WeightUpdate::Direct, k, 5);
  for (std::size_t i = 0; i < kElements; ++i) {
    EXPECT_NEAR(found_lars[i], lars[i], 3e-6);
    EXPECT_NEAR(found_lamb[i], lamb[i], 3e-6);
  }
}

// GRD-02: a layer's step does not depend on the size of its gradient.
TEST(OptimizerStep, LarsIsBlindToTheScaleOfAGradient) {
  Training training;
  training.epsilon = 0;
  const auto rule = optimizer_rule("lars", training, WeightUpdate::Direct);
  std::vector<float> gradients = numbers(1), large = gradients;
  for (float& g : large) g *= 1000;
  Tensor one(*rule, WeightUpdate::Direct, numbers(0), DType::F32),
      other(*rule, WeightUpdate::Direct, numbers(0), DType::F32);
  step(*rule, one, gradients, {0, 10});
  step(*rule, other, large, {0, 10});
  std::vector<float> by(kElements), apart(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    by[i] = one.master()[i] - number(0, i);
    apart[i] = other.master()[i] - one.master()[i];
  }
  ASSERT_GT(norm(by), 0);
  EXPECT_LT(norm(apart), 0.001 * norm(by));
}

TEST(OptimizerStep, LambMovesByRateTimesTheNormOfTheWeights) {
  for (double decay : {0.0, 0.1}) {
    Training training;
    training.weight_decay = decay;
    const auto rule = optimizer_rule("lamb", training, WeightUpdate::Direct);
    Tensor tensor(*rule, WeightUpdate::Direct, numbers(0), DType::F32);
    for (int t = 0; t < 4; ++t) {
      const std::vector<float> before = tensor.weights();
      step(*rule, tensor, numbers(1 + static_cast<std::uint64_t>(t)), {t, 0.02});
      std::vector<float> by = tensor.weights();
      for (std::size_t i = 0; i < kElements; ++i) by[i] -= before[i];
      EXPECT_NEAR(norm(by) / (0.02 * norm(before)), 1, 2e-6);
    }
  }
}

TEST(OptimizerStep, WhatDoesNotAdaptOrDecayIsTakenAsItIs) {
  Training training;
  training.momentum = 0, training.weight_decay = 0.5;
  const auto rule = optimizer_rule("lars", training, WeightUpdate::Direct);
  Tensor tensor(*rule, WeightUpdate::Direct, numbers(0), DType::F32);
  const std::vector<float> gradients = numbers(1);
  ParameterPart part = tensor.part(gradients);
  part.adapts = part.decays = false;
  const StepFacts facts{0, 0.5, 1};
  rule->apply(part, facts, rule->norms(part, facts));
  const std::vector<float> start = numbers(0);
  for (std::size_t i = 0; i < kElements; ++i)
    EXPECT_EQ(tensor.master()[i], start[i] - 0.5f * gradients[i]);
}

// However a device holds a tensor, as a replica or a shard, its elements get the same bits; those
// of adamw-8bit where the cut is between two blocks. Adafactor and HALP take whole tensors.
TEST(OptimizerStep, PartsAreUpdatedAsTheWholeIs) {
  for (const Optimizer& optimizer : testing::non_empty(optimizers())) {
    if (optimizer.name == kAdafactor || optimizer.name == kHalp) continue;
    const std::size_t cut_at = optimizer.name == kAdamw8bit ? 4 * kStateBlock : 1111;
    for (WeightUpdate how : kUpdates) {
      const auto rule = optimizer_rule(optimizer.name, usual(), how);
      Tensor whole(*rule, how, numbers(0), DType::BF16), cut(*rule, how, numbers(0), DType::BF16);
      for (int t = 0; t < 3; ++t) {
        const std::vector<float> gradients = numbers(1 + static_cast<std::uint64_t>(t));
        const StepFacts facts{t, 0.01, 0.5};
        const ParameterPart part = whole.part(gradients);
        const TensorNorms norms = rule->norms(part, facts);
        rule->apply(part, facts, norms);
        if (rule->needs_norms()) {
          TensorNorms sum;
          for (const std::size_t first : {std::size_t{0}, cut_at}) {
            const TensorNorms piece = rule->norms(
                cut.piece(gradients, first, first == 0 ? cut_at : kElements - cut_at), facts);
            sum.weights += piece.weights, sum.direction += piece.direction;
          }
          EXPECT_NEAR(sum.weights, norms.weights, 1e-12 * norms.weights);
          EXPECT_NEAR(sum.direction, norms.direction, 1e-12 * norms.direction);
        }
        rule->apply(cut.piece(gradients, cut_at, kElements - cut_at), facts, norms);
        rule->apply(cut.piece(gradients, 0, cut_at), facts, norms);
      }
      EXPECT_EQ(whole.weights(), cut.weights()) << optimizer.name << " " << static_cast<int>(how);
    }
  }
}

TEST(OptimizerStep, SlotsAreWhatThePlanCounts) {
  for (const Optimizer& optimizer : testing::non_empty(optimizers())) {
    const auto bytes = [&](WeightUpdate how) {
      return optimizer_rule(optimizer.name, {}, how)->slots().size() *
             (is_pure_bf16(how) ? 2u : 4u);
    };
    const auto state = static_cast<std::size_t>(optimizer.state_bytes);
    EXPECT_EQ(bytes(WeightUpdate::Direct), state) << optimizer.name;
    EXPECT_EQ(bytes(WeightUpdate::Nearest), state / 2);
    EXPECT_EQ(bytes(WeightUpdate::Kahan), state / 2 + 2);
    EXPECT_EQ(optimizer_rule(optimizer.name, {}, WeightUpdate::Direct)->name(), optimizer.name);
  }
}

TEST(OptimizerStep, AMasterCopyIsTheFourByteRunAndItsRounding) {
  for (DType half : {DType::BF16, DType::F16}) {
    const auto rule = optimizer_rule("adam", usual(), WeightUpdate::Master);
    Tensor tensor(*rule, WeightUpdate::Master, numbers(0), half);
    for (int t = 0; t < 5; ++t)
      step(*rule, tensor, numbers(1 + static_cast<std::uint64_t>(t)), {t, 0.01, 0.25});
    const std::vector<float> direct = trained("adam", WeightUpdate::Direct, usual(), 5);
    EXPECT_EQ(tensor.master(), direct);
    for (std::size_t i = 0; i < kElements; ++i)
      EXPECT_EQ(tensor.weights()[i],
                half == DType::F16 ? from_f16(to_f16(direct[i])) : from_bf16(to_bf16(direct[i])));
  }
}

TEST(OptimizerStep, StochasticRoundingIsOfSeedTensorAndUpdate) {
  Training other = usual();
  other.seed = 2;
  const auto once = trained("momentum", WeightUpdate::Stochastic, usual(), 3);
  EXPECT_EQ(once, trained("momentum", WeightUpdate::Stochastic, usual(), 3));
  EXPECT_NE(once, trained("momentum", WeightUpdate::Stochastic, other, 3));
}

TEST(OptimizerStep, GradientsMayBeHalves) {
  const auto rule = optimizer_rule("sgd", {}, WeightUpdate::Direct);
  const std::vector<float> gradients = numbers(1);
  for (DType type : {DType::BF16, DType::F16}) {
    std::vector<std::uint16_t> halves(kElements);
    type == DType::F16 ? to_f16(gradients, halves.data()) : to_bf16(gradients, halves.data());
    Tensor tensor(*rule, WeightUpdate::Direct, numbers(0), DType::F32);
    ParameterPart part = tensor.part(gradients);
    part.gradients = halves.data(), part.gradient_type = type;
    rule->apply(part, {0, 0.5, 1}, {});
    const std::vector<float> start = numbers(0);
    for (std::size_t i = 0; i < kElements; ++i)
      EXPECT_EQ(tensor.weights()[i], start[i] - 0.5f * (type == DType::F16 ? from_f16(halves[i])
                                                                           : from_bf16(halves[i])));
  }
}

TEST(SquareSum, IsExactInDoubleAndSaysWhatIsNotFinite) {
  std::vector<float> values = numbers(1);
  EXPECT_NEAR(square_sum(values.data(), DType::F32, kElements),
              std::inner_product(values.begin(), values.end(), values.begin(), 0.0, std::plus<>(),
                                 [](double a, double b) { return a * b; }),
              1e-10);
  values[2499] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(square_sum(values.data(), DType::F32, kElements)));
  values[2499] = 3e38f, values[0] = 3e38f;
  EXPECT_TRUE(std::isfinite(square_sum(values.data(), DType::F32, kElements)));
  std::vector<std::uint16_t> halves(kElements, to_bf16(2));
  EXPECT_EQ(square_sum(halves.data(), DType::BF16, kElements), 4.0 * kElements);
}

TEST(OptimizerStep, AnUnknownNameIsRefused) {
  try {
    optimizer_rule("adm", {}, WeightUpdate::Direct);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "no optimizer is called \"adm\"; did you mean \"adam\"?");
  }
}

// --- NUM-02: least squares of 20 numbers, 16 rows an update, noise of 0.1 on the labels ---

struct LeastSquares {
  static constexpr std::size_t kNumbers = 20, kRows = 16;
  std::vector<float> truth = std::vector<float>(kNumbers);
  LeastSquares() {
    for (std::size_t i = 0; i < kNumbers; ++i) truth[i] = normal(Random(21), i);
  }
  static float normal(const Random& random, std::uint64_t i) {
    return static_cast<float>(std::sqrt(-2 * std::log(1 - random.uniform(2 * i))) *
                              std::cos(2 * 3.141592653589793 * random.uniform(2 * i + 1)));
  }
  /// The mean gradient of half the squared error over the rows of update t.
  std::vector<float> gradient(const std::vector<float>& w, int t) const {
    const Random random(22, static_cast<std::uint64_t>(t));
    std::vector<float> sum(kNumbers);
    for (std::size_t row = 0; row < kRows; ++row) {
      float x[kNumbers], miss = 0.1f * normal(random, 10'000 + row);
      for (std::size_t i = 0; i < kNumbers; ++i) {
        x[i] = normal(random, row * kNumbers + i);
        miss += x[i] * (truth[i] - w[i]);
      }
      for (std::size_t i = 0; i < kNumbers; ++i) sum[i] -= miss * x[i] / kRows;
    }
    return sum;
  }
  double excess(const std::vector<float>& w) const {  // rows are standard normal
    double sum = 0;
    for (std::size_t i = 0; i < kNumbers; ++i)
      sum += (double{w[i]} - truth[i]) * (double{w[i]} - truth[i]);
    return sum / 2;
  }
};

struct Outcome {
  double excess = 0, lost = 0;
};

Outcome least_squares(WeightUpdate how, double rate, int steps) {
  const LeastSquares problem;
  const auto rule = optimizer_rule("sgd", {}, how);
  Tensor tensor(*rule, how, std::vector<float>(LeastSquares::kNumbers), DType::BF16);
  Outcome outcome;
  std::int64_t lost = 0, updates = 0;
  int counted = 0;
  for (int t = 0; t < steps; ++t) {
    const std::vector<float> weights = tensor.weights();
    std::vector<float> g = problem.gradient(weights, t);
    if (is_pure_bf16(how))
      for (float& x : g) x = from_bf16(to_bf16(x));
    if (how == WeightUpdate::Nearest || how == WeightUpdate::Stochastic)
      for (std::size_t i = 0; i < g.size(); ++i, ++updates)
        lost += is_lost(how, weights[i], from_bf16(to_bf16(static_cast<float>(rate) * g[i])));
    step(*rule, tensor, g, {t, rate, 1});
    if (t >= steps - steps / 10) outcome.excess += problem.excess(tensor.weights()), ++counted;
  }
  outcome.excess /= counted;
  outcome.lost = updates > 0 ? static_cast<double>(lost) / static_cast<double>(updates) : 0;
  return outcome;
}

TEST(WeightUpdates, RoundingOfTheUpdateIsWhatHurts) {
  constexpr int kSteps = 20'000;
  const Outcome fp32 = least_squares(WeightUpdate::Direct, 1e-3, kSteps),
                nearest = least_squares(WeightUpdate::Nearest, 1e-3, kSteps),
                stochastic = least_squares(WeightUpdate::Stochastic, 1e-3, kSteps),
                kahan = least_squares(WeightUpdate::Kahan, 1e-3, kSteps);
  const auto record = [](const char* how, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    RecordProperty(how, text);  // --gtest_output=xml: writes them down
  };
  record("fp32", fp32.excess), record("nearest", nearest.excess);
  record("stochastic", stochastic.excess), record("kahan", kahan.excess);
  record("lost", nearest.lost);
  EXPECT_GE(nearest.excess / stochastic.excess, 100) << nearest.excess << " " << stochastic.excess;
  EXPECT_GE(stochastic.excess / kahan.excess, 3) << kahan.excess;
  EXPECT_LE(kahan.excess, 50 * fp32.excess) << fp32.excess;
  EXPECT_GE(nearest.lost, 0.5);
  EXPECT_EQ(stochastic.lost, 0);
}

TEST(WeightUpdates, ALostUpdateLeavesNoTrace) {
  EXPECT_TRUE(is_lost(WeightUpdate::Nearest, 1, 0x1p-10f));
  EXPECT_FALSE(is_lost(WeightUpdate::Nearest, 1, 0x1p-7f));
  EXPECT_FALSE(is_lost(WeightUpdate::Nearest, 1, 0));
  EXPECT_FALSE(is_lost(WeightUpdate::Stochastic, 1, 0x1p-10f));
  EXPECT_FALSE(is_lost(WeightUpdate::Kahan, 1, 0x1p-10f));
  EXPECT_FALSE(is_lost(WeightUpdate::Direct, 1, 0x1p-20f));
  EXPECT_FALSE(is_lost(WeightUpdate::Nearest, 1, 0x1p-30f));  // lost in 4 bytes too
}

// Ten updates of a quarter of the weight's spacing: only the compensation keeps them.
TEST(WeightUpdates, KahanAddsUpWhatIsTooSmallForTheWeight) {
  const auto rule = optimizer_rule("sgd", {}, WeightUpdate::Kahan);
  Tensor kahan(*rule, WeightUpdate::Kahan, {1.0f}, DType::BF16),
      nearest(*rule, WeightUpdate::Nearest, {1.0f}, DType::BF16);
  const auto plain = optimizer_rule("sgd", {}, WeightUpdate::Nearest);
  for (int t = 0; t < 16; ++t) {
    step(*rule, kahan, {-0x1p-9f}, {t, 1, 1});
    step(*plain, nearest, {-0x1p-9f}, {t, 1, 1});
  }
  EXPECT_EQ(nearest.weights()[0], 1);
  EXPECT_EQ(kahan.weights()[0], 1 + 16 * 0x1p-9f);
}

}  // namespace
}  // namespace trainyard
