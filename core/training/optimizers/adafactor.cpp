// Adafactor keeps the second moment of a matrix as the means of its rows R and of its columns C,
// V = R C / mean(R), and that of a vector whole. There is no first moment, and the second one
// forgets less and less: beta = 1 - t^-0.8. The whole step is made smaller where the root mean
// square of its elements exceeds 1. Shazeer and Stern, "Adafactor: Adaptive Learning Rates with
// Sublinear Memory Cost", ICML 2018, algorithms 4 and 5, with the rate of the training and decay
// that does not pass through the moment. The paper's relative step falls as schedule=inverse-root
// does.
//
// The experts of a layer are a matrix each, with a step of its own size.
#include <cassert>
#include <cmath>
#include <cstring>

#include "core/training/optimizers/stretch_rule.h"
#include "core/training/optimizers/whole_tensor.h"

namespace trainyard {
namespace {

constexpr double kForgetting = 0.8, kLargestStep = 1.0;
constexpr float kSquareFloor = 1e-30F;  // added to each square, the paper's epsilon 1

// The second moment on its way through an update; the state may lie at any address.
class Factors {
 public:
  Factors(std::byte* state, std::size_t count) : state_(state), numbers_(count) {
    std::memcpy(numbers_.data(), state_, count * sizeof(float));
  }
  void add(std::size_t i, double beta, double square) {
    numbers_[i] = static_cast<float>(beta * static_cast<double>(numbers_[i]) + (1 - beta) * square);
  }
  float operator[](std::size_t i) const { return numbers_[i]; }
  double mean() const {
    double sum = 0;
    for (const float number : numbers_) sum += static_cast<double>(number);
    return sum / static_cast<double>(numbers_.size());
  }
  void store() const { std::memcpy(state_, numbers_.data(), numbers_.size() * sizeof(float)); }
  std::byte* end() const { return state_ + numbers_.size() * sizeof(float); }

 private:
  std::byte* state_;
  std::vector<float> numbers_;
};

double square_of(float g) { return static_cast<double>(g * g + kSquareFloor); }

void limit_step(float* step, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += static_cast<double>(step[i]) * static_cast<double>(step[i]);
  const double size = std::sqrt(sum / static_cast<double>(count));
  if (!(size > kLargestStep)) return;
  const auto factor = static_cast<float>(kLargestStep / size);
  for (std::size_t i = 0; i < count; ++i) step[i] *= factor;
}

// Turns the gradient of a vector into its step.
void scale_vector(std::vector<float>& g, double beta, std::byte* state) {
  Factors moment(state, g.size());
  for (std::size_t i = 0; i < g.size(); ++i) {
    moment.add(i, beta, square_of(g[i]));
    g[i] /= std::sqrt(moment[i]);
  }
  moment.store();
  limit_step(g.data(), g.size());
}

// Turns the gradient of a matrix into its step, and returns where its state ends.
std::byte* scale_matrix(float* g, std::size_t rows, std::size_t columns, double beta,
                        std::byte* state) {
  std::vector<double> of_row(rows), of_column(columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const double square = square_of(g[r * columns + c]);
      of_row[r] += square, of_column[c] += square;
    }
  Factors row(state, rows), column(row.end(), columns);
  for (std::size_t r = 0; r < rows; ++r) row.add(r, beta, of_row[r] / static_cast<double>(columns));
  for (std::size_t c = 0; c < columns; ++c)
    column.add(c, beta, of_column[c] / static_cast<double>(rows));
  const double mean = row.mean();
  for (std::size_t r = 0; r < rows; ++r) {
    const double share = static_cast<double>(row[r]) / mean;
    for (std::size_t c = 0; c < columns; ++c)
      g[r * columns + c] = static_cast<float>(static_cast<double>(g[r * columns + c]) /
                                              std::sqrt(share * static_cast<double>(column[c])));
  }
  row.store(), column.store();
  limit_step(g, rows * columns);
  return column.end();
}

class Adafactor final : public OptimizerRule {
 public:
  Adafactor(const Training& training, WeightUpdate how) : how_(how), descent_(sgd(training, how)) {}
  std::string_view name() const override { return kAdafactor; }
  std::vector<std::string_view> slots() const override { return descent_->slots(); }

  void apply(const ParameterPart& part, const StepFacts& facts, const TensorNorms&) const override {
    std::vector<float> step = scaled_gradient(part, facts);
    const double beta = 1 - std::pow(static_cast<double>(facts.t + 1), -kForgetting);
    auto* state = static_cast<std::byte*>(part.tensor_state);
    const auto rows = static_cast<std::size_t>(part.shape.rows),
               columns = static_cast<std::size_t>(part.shape.columns);
    assert(rows == 0 ||
           step.size() == static_cast<std::size_t>(part.shape.matrices) * rows * columns);
    if (rows == 0)
      scale_vector(step, beta, state);
    else
      for (std::size_t first = 0; first < step.size(); first += rows * columns)
        state = scale_matrix(step.data() + first, rows, columns, beta, state);
    descend_along(*descent_, part, facts, step,
                  how_ == WeightUpdate::Kahan ? part.state.front() : nullptr);
  }

 private:
  WeightUpdate how_;
  std::unique_ptr<OptimizerRule> descent_;
};

}  // namespace

std::unique_ptr<OptimizerRule> adafactor(const Training& training, WeightUpdate how) {
  return std::make_unique<Adafactor>(training, how);
}

}  // namespace trainyard
