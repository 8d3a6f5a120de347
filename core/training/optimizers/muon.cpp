// Muon makes the momentum of every hidden matrix orthogonal before it takes it as a step, so that
// all directions in which a layer can change count alike. Five Newton-Schulz steps
//
//   X = U / |U|;   A = X X',  B = b A + c A A,  X <- a X + B X     a, b, c = 3.4445,
//   -4.7750, 2.0315
//
// bring the singular values of U near 1. Vectors, tables and heads are trained by AdamW. The
// orthogonal step is made 0.2 sqrt(max(rows, columns)) times as large, which is the size of AdamW's
// usual step, so that one rate and one decay serve both kinds of parameters. The products need room
// for the matrix twice and its smaller square twice while one matrix is updated; like the room that
// kernels take, the memory of a plan does not count it.
//
// Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024; the scale is that
// of Liu et al., "Muon is Scalable for LLM Training", arXiv 2502.16982 2025.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/training/optimizers/stretch_rule.h"
#include "core/training/optimizers/whole_tensor.h"

namespace trainyard {
namespace {

constexpr float kLinear = 3.4445F, kCubic = -4.7750F, kQuintic = 2.0315F;
constexpr double kSmallestNorm = 1e-7, kSizeOfAdamw = 0.2;

void multiply_plainly(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                      const float* b, bool b_transposed, float* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += a[i * k + l] * (b_transposed ? b[j * k + l] : b[l * n + j]);
      c[i * n + j] = sum;
    }
}

std::vector<float> turned(const float* x, std::int64_t rows, std::int64_t columns) {
  std::vector<float> made(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      made[static_cast<std::size_t>(c * rows + r)] = x[r * columns + c];
  return made;
}

// Replaces a matrix [rows, columns] by one whose singular values are near 1.
void make_orthogonal(float* u, std::int64_t rows, std::int64_t columns,
                     const MatrixProduct& multiply) {
  const auto count = static_cast<std::size_t>(rows * columns);
  const bool tall = rows > columns;
  std::vector<float> x = tall ? turned(u, rows, columns) : std::vector<float>(u, u + count);
  const std::int64_t r = std::min(rows, columns), c = std::max(rows, columns);
  const double norm = std::sqrt(square_sum(x.data(), DType::F32, rows * columns));
  const auto factor = static_cast<float>(1 / (norm + kSmallestNorm));
  for (float& number : x) number *= factor;
  std::vector<float> squares(static_cast<std::size_t>(r * r)), fourths(squares.size()), more(count);
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    multiply(r, r, c, x.data(), x.data(), true, squares.data());
    multiply(r, r, r, squares.data(), squares.data(), false, fourths.data());
    for (std::size_t i = 0; i < squares.size(); ++i)
      squares[i] = kCubic * squares[i] + kQuintic * fourths[i];
    multiply(r, c, r, squares.data(), x.data(), false, more.data());
    for (std::size_t i = 0; i < count; ++i) x[i] = kLinear * x[i] + more[i];
  }
  if (tall) x = turned(x.data(), columns, rows);
  std::copy(x.begin(), x.end(), u);
}

// The velocity is stored as moments of the weight update are, without a compensation of its own.
WeightUpdate velocity_update(WeightUpdate how) {
  if (!is_pure_bf16(how)) return WeightUpdate::Direct;
  return how == WeightUpdate::Stochastic ? how : WeightUpdate::Nearest;
}

Training without_decay(Training training) {
  training.weight_decay = 0;
  return training;
}

class Muon final : public OptimizerRule {
 public:
  Muon(const Training& training, WeightUpdate how)
      : how_(how),
        velocity_(momentum(without_decay(training), velocity_update(how))),
        descent_(sgd(training, how)),
        adamw_(adamw(training, how)) {}
  std::string_view name() const override { return kMuon; }
  std::vector<std::string_view> slots() const override {
    std::vector<std::string_view> names = {"momentum"};
    if (how_ == WeightUpdate::Kahan) names.emplace_back("compensation");
    return names;
  }

  void apply(const ParameterPart& part, const StepFacts& facts,
             const TensorNorms& norms) const override {
    void* const compensation = how_ == WeightUpdate::Kahan ? part.state[1] : nullptr;
    if (!part.shape.hidden) {
      void* const state[] = {part.state[0], part.tensor_state, compensation};
      ParameterPart by_adamw = part;
      by_adamw.state = std::span<void* const>(state).first(compensation != nullptr ? 3 : 2);
      return adamw_->apply(by_adamw, facts, norms);
    }
    const std::int64_t rows = part.shape.rows, columns = part.shape.columns;
    assert(part.elements == part.shape.matrices * rows * columns);
    std::vector<float> step = momentum_step(part, facts);
    const MatrixProduct plain = multiply_plainly;
    const MatrixProduct& multiply = facts.product != nullptr ? *facts.product : plain;
    for (std::int64_t first = 0; first < part.elements; first += rows * columns)
      make_orthogonal(step.data() + first, rows, columns, multiply);
    const auto size =
        static_cast<float>(kSizeOfAdamw * std::sqrt(static_cast<double>(std::max(rows, columns))));
    for (float& number : step) number *= size;
    descend_along(*descent_, part, facts, step, compensation);
  }

 private:
  // Advances the velocity and returns the step that momentum would take at a rate of 1: weights
  // that are 0 become the negative of it.
  std::vector<float> momentum_step(const ParameterPart& part, const StepFacts& facts) const {
    const auto count = static_cast<std::size_t>(part.elements);
    const bool pure = is_pure_bf16(how_);
    std::vector<float> moved(count);
    std::vector<std::uint16_t> halves(pure ? count : 0);
    ParameterPart still = part;
    still.weights = pure ? static_cast<void*>(halves.data()) : moved.data();
    still.weight_type = pure ? DType::BF16 : DType::F32;
    still.master = still.derived = nullptr;
    still.updated = nullptr;
    still.state = part.state.first(1);
    StepFacts unit = facts;
    unit.rate = 1, unit.missed = 0, unit.derived = {};
    velocity_->apply(still, unit, {});
    if (pure) from_bf16(halves, moved.data());
    for (float& number : moved) number = -number;
    return moved;
  }

  WeightUpdate how_;
  std::unique_ptr<OptimizerRule> velocity_, descent_, adamw_;
};

}  // namespace

std::unique_ptr<OptimizerRule> muon(const Training& training, WeightUpdate how) {
  return std::make_unique<Muon>(training, how);
}

}  // namespace trainyard
