// The optimizers that keep state by tensor follow their formulas, written here in doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "core/base/random.h"
#include "core/training/optimizers/dynamic_codes.h"
#include "core/training/optimizers/optimizer_step.h"
#include "tests/support/dense_eigenvalues.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using Numbers = std::vector<double>;

Numbers drawn(std::uint64_t stream, std::size_t count) {
  Numbers made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = static_cast<double>(static_cast<float>(2 * Random(31, stream).uniform(i) - 1));
  return made;
}
std::vector<float> narrow(const Numbers& x) { return {x.begin(), x.end()}; }

double length(const Numbers& x) {
  double sum = 0;
  for (const double each : x) sum += each * each;
  return std::sqrt(sum);
}

/// One tensor of 4-byte weights and what a rule keeps of it.
struct Trained {
  Trained(std::string_view optimizer, const MatrixShape& of, std::size_t elements,
          const Training& settings)
      : rule(optimizer_rule(optimizer, settings, WeightUpdate::Direct)),
        shape(of),
        weights(narrow(drawn(0, elements))),
        by_tensor(static_cast<std::size_t>(
            tensor_state_bytes(optimizer, of, 0, static_cast<std::int64_t>(elements), 4).value)) {
    for (std::size_t s = 0; s < rule->slots().size(); ++s) slots.emplace_back(elements);
  }
  void step(const Numbers& gradients, std::int64_t t, double rate) {
    const std::vector<float> sums = narrow(gradients);
    std::vector<void*> state;
    for (std::vector<float>& slot : slots) state.push_back(slot.data());
    ParameterPart part;
    part.elements = static_cast<std::int64_t>(weights.size());
    part.weights = weights.data(), part.gradients = sums.data(), part.state = state;
    part.shape = shape, part.tensor_state = by_tensor.data();
    rule->apply(part, {.t = t, .rate = rate, .gradient_scale = 0.25}, {});
  }
  float kept(std::size_t byte) const {
    float number = 0;
    std::memcpy(&number, by_tensor.data() + byte, sizeof number);
    return number;
  }

  std::unique_ptr<OptimizerRule> rule;
  MatrixShape shape;
  std::vector<float> weights;
  std::vector<std::byte> by_tensor;
  std::vector<std::vector<float>> slots;
};

Training usual_training() {
  Training training;
  training.weight_decay = 0.1;
  return training;
}

// --- codes ---

// Numbers of a list by its definition: in each of seven decades the middles of equal parts.
std::set<double> listed(bool has_sign) {
  std::set<double> made = {0, 1};
  for (int decade = 0; decade < 7; ++decade) {
    const double low = 0.1 * std::pow(10.0, decade - 6), high = 10 * low;
    const int parts = has_sign ? 1 << decade : 2 << decade;
    for (int part = 0; part < parts; ++part) {
      const double from = low + (high - low) * part / parts,
                   to = low + (high - low) * (part + 1) / parts;
      made.insert((from + to) / 2);
      if (has_sign) made.insert(-(from + to) / 2);
    }
  }
  return made;
}

TEST(DynamicCodes, AreTheMiddlesOfPartsOfSevenDecades) {
  for (const bool has_sign : {false, true}) {
    const DynamicCodes codes(has_sign);
    const std::set<double> expected = listed(has_sign);
    ASSERT_EQ(expected.size(), 256u);
    std::uint8_t code = 0;
    for (const double number : expected) {
      EXPECT_NEAR(codes.number(code), number, 1e-7 * std::abs(number));
      EXPECT_EQ(codes.code(codes.number(code)), code);
      ++code;
    }
  }
}

TEST(DynamicCodes, RoundToTheNearest) {
  for (const bool has_sign : {false, true}) {
    const DynamicCodes codes(has_sign);
    for (std::size_t i = 0; i < 5000; ++i) {
      const double size = std::pow(10.0, -7 * Random(5).uniform(2 * i)),
                   x = has_sign && Random(5).uniform(2 * i + 1) < 0.5 ? -size : size;
      const auto number = static_cast<float>(x);
      double nearest = 9;
      for (int code = 0; code < 256; ++code)
        nearest = std::min(nearest, std::abs(double{codes.number(static_cast<std::uint8_t>(code))} -
                                             double{number}));
      EXPECT_NEAR(std::abs(double{codes.number(codes.code(number))} - double{number}), nearest,
                  1e-8);
    }
    EXPECT_EQ(codes.code(2), 255);
    EXPECT_EQ(codes.code(-2), 0);
  }
}

// A search of the ends between codes finds the same code as their table: at each end and the floats
// beside it, at powers of two, outside the list, and at all sizes between.
TEST(DynamicCodes, AreThoseOfASearch) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const bool has_sign : {false, true}) {
    const DynamicCodes codes(has_sign);
    std::vector<float> ends, tried = {0.0F, 1e-30F, 1.5F, 3e38F, kInfinity};
    for (int code = 0; code < 255; ++code)
      ends.push_back((codes.number(static_cast<std::uint8_t>(code)) +
                      codes.number(static_cast<std::uint8_t>(code + 1))) /
                     2);
    for (const float end : ends)
      for (const float to : {-kInfinity, end, kInfinity}) tried.push_back(std::nextafter(end, to));
    for (int power = -30; power < 2; ++power) tried.push_back(std::ldexp(1.0F, power));
    for (std::uint64_t i = 0; i < 20000; ++i)
      tried.push_back(static_cast<float>(std::pow(10.0, -8 * Random(6).uniform(i))));
    for (const float size : tried)
      for (const float number : {size, -size})
        ASSERT_EQ(codes.code(number),
                  std::lower_bound(ends.begin(), ends.end(), number) - ends.begin())
            << number;
    EXPECT_EQ(codes.code(std::numeric_limits<float>::quiet_NaN()), 255);
    EXPECT_EQ(codes.code(-std::numeric_limits<float>::quiet_NaN()), 255);
  }
}

TEST(DynamicCodes, ABlockOfZerosStaysZero) {
  const DynamicCodes codes(true);
  const std::vector<float> zeros(7);
  std::vector<std::uint8_t> stored(7);
  EXPECT_EQ(to_codes(codes, zeros.data(), 7, stored.data()), 0);
  std::vector<float> read(7, 1.0F);
  from_codes(codes, stored.data(), 0, 7, read.data());
  EXPECT_EQ(read, zeros);
}

// --- adamw-8bit ---

// The moments of all elements as the state has them, by the list's definition.
Numbers stored_moments(const Trained& of, std::size_t moment) {
  const std::set<double> set = listed(moment == 0);
  const Numbers list(set.begin(), set.end());
  const std::size_t n = of.weights.size(), block = 256, blocks = (n + block - 1) / block;
  Numbers made(n);
  for (std::size_t i = 0; i < n; ++i)
    made[i] = list[static_cast<std::size_t>(of.by_tensor[moment * n + i])] *
              double{of.kept(2 * n + (moment * blocks + i / block) * 4)};
  return made;
}

TEST(Adamw8bit, IsAdamwFromTheMomentsThatItHasStored) {
  constexpr std::size_t kNumbers = 1000;  // three blocks and a rest
  const Training k = usual_training();
  Trained tensor("adamw-8bit", {}, kNumbers, k);
  EXPECT_EQ(tensor.by_tensor.size(), 2 * kNumbers + 8 * 4);
  for (int t = 0; t < 6; ++t) {
    const Numbers m = stored_moments(tensor, 0), v = stored_moments(tensor, 1);
    Numbers g = drawn(1 + static_cast<std::uint64_t>(t), kNumbers);
    const std::vector<float> before = tensor.weights;
    tensor.step(g, t, 0.01);
    const Numbers m_after = stored_moments(tensor, 0), v_after = stored_moments(tensor, 1);
    Numbers first(kNumbers), second(kNumbers);
    for (std::size_t i = 0; i < kNumbers; ++i) {
      g[i] *= 0.25;
      first[i] = k.beta1 * m[i] + (1 - k.beta1) * g[i];
      second[i] = k.beta2 * v[i] + (1 - k.beta2) * g[i] * g[i];
      const double direction = first[i] / (1 - std::pow(k.beta1, t + 1)) /
                               (std::sqrt(second[i] / (1 - std::pow(k.beta2, t + 1))) + k.epsilon);
      EXPECT_NEAR(tensor.weights[i],
                  before[i] - 0.01 * (direction + k.weight_decay * double{before[i]}), 3e-6)
          << t << " " << i;
    }
    // A block's codes are those nearest to its numbers over the largest of them: the parts of the
    // largest decade are 0.9 / 64 and 0.9 / 128 wide, and those below are a tenth.
    for (std::size_t i = 0; i < kNumbers; ++i) {
      double most = 0, most_second = 0;
      for (std::size_t j = i / 256 * 256; j < std::min(kNumbers, (i / 256 + 1) * 256); ++j)
        most = std::max(most, std::abs(first[j])), most_second = std::max(most_second, second[j]);
      EXPECT_NEAR(m_after[i], first[i], 0.5001 * 0.9 / 64 * most);
      EXPECT_NEAR(v_after[i], second[i], 0.5001 * 0.9 / 128 * most_second);
    }
  }
}

TEST(Adamw8bit, CutsWithinABlockChangeTheRoundingOfThatBlockOnly) {
  constexpr std::size_t kNumbers = 1024, kCut = 300;
  Trained whole("adamw-8bit", {}, kNumbers, usual_training()),
      cut("adamw-8bit", {}, kNumbers, usual_training());
  const auto bytes = [](std::int64_t first, std::int64_t count) {
    return static_cast<std::size_t>(tensor_state_bytes(kAdamw8bit, {}, first, count, 4).value);
  };
  std::vector<std::byte> low(bytes(0, kCut)), high(bytes(kCut, kNumbers - kCut));
  EXPECT_EQ(low.size() + high.size(), whole.by_tensor.size() + 8);
  for (int t = 0; t < 4; ++t) {
    const Numbers g = drawn(7 + static_cast<std::uint64_t>(t), kNumbers);
    whole.step(g, t, 0.01);
    const std::vector<float> sums = narrow(g);
    const auto piece = [&](std::int64_t first, std::int64_t count, std::vector<std::byte>& state) {
      ParameterPart part;
      part.elements = kNumbers;
      part.weights = cut.weights.data(), part.gradients = sums.data();
      ParameterPart one = piece_of(part, first, count);
      one.tensor_state = state.data();
      cut.rule->apply(one, {.t = t, .rate = 0.01, .gradient_scale = 0.25}, {});
    };
    piece(kCut, kNumbers - kCut, high);
    piece(0, kCut, low);
  }
  std::size_t differ = 0;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (i / 256 == kCut / 256)
      differ += whole.weights[i] != cut.weights[i];
    else
      EXPECT_EQ(whole.weights[i], cut.weights[i]) << i;
  }
  EXPECT_GT(differ, 0u);
}

// --- adafactor ---

// The step of algorithm 4 for one matrix, or of algorithm 5 for a vector (rows 0).
struct FactoredMoment {
  Numbers rows, columns;
  Numbers step(const Numbers& g, std::size_t r, std::size_t c, int t) {
    const double beta = 1 - std::pow(t + 1, -0.8), floor = 1e-30;
    Numbers u(g.size());
    if (r == 0) {
      rows.resize(g.size());
      for (std::size_t i = 0; i < g.size(); ++i) {
        rows[i] = beta * rows[i] + (1 - beta) * (g[i] * g[i] + floor);
        u[i] = g[i] / std::sqrt(rows[i]);
      }
    } else {
      // The paper has sums: R 1 and 1 C, of which V = R C / (1 R).
      rows.resize(r), columns.resize(c);
      Numbers row(r), column(c);
      for (std::size_t i = 0; i < g.size(); ++i) {
        row[i / c] += g[i] * g[i] + floor;
        column[i % c] += g[i] * g[i] + floor;
      }
      double sum = 0;
      for (std::size_t i = 0; i < r; ++i) sum += rows[i] = beta * rows[i] + (1 - beta) * row[i];
      for (std::size_t j = 0; j < c; ++j) columns[j] = beta * columns[j] + (1 - beta) * column[j];
      for (std::size_t i = 0; i < g.size(); ++i)
        u[i] = g[i] / std::sqrt(rows[i / c] * columns[i % c] / sum);
    }
    const double size = length(u) / std::sqrt(static_cast<double>(u.size()));
    for (double& each : u) each /= std::max(1.0, size);
    return u;
  }
};

TEST(Adafactor, FollowsItsFormulaForVectorsMatricesAndExperts) {
  const MatrixShape shapes[] = {{}, {1, 12, 20, true}, {1, 20, 12, false}, {3, 8, 10, true}};
  for (const MatrixShape& shape : testing::non_empty(shapes)) {
    const auto r = static_cast<std::size_t>(shape.rows),
               c = static_cast<std::size_t>(shape.columns), each = r == 0 ? 240 : r * c,
               n = each * static_cast<std::size_t>(shape.matrices);
    Training k = usual_training();
    Trained tensor("adafactor", shape, n, k);
    EXPECT_EQ(tensor.by_tensor.size(),
              4 * (r == 0 ? n : static_cast<std::size_t>(shape.matrices) * (r + c)));
    Numbers w = drawn(0, n);
    std::vector<FactoredMoment> moments(static_cast<std::size_t>(shape.matrices));
    for (int t = 0; t < 6; ++t) {
      Numbers g = drawn(1 + static_cast<std::uint64_t>(t), n);
      // Gradients that grow make steps that are to be limited.
      for (double& one : g) one = static_cast<double>(static_cast<float>(one * (1 + t * t)));
      tensor.step(g, t, 0.02);
      for (double& one : g) one *= 0.25;
      for (std::size_t m = 0; m < moments.size(); ++m) {
        const auto from = g.begin() + static_cast<std::ptrdiff_t>(m * each);
        const Numbers u =
            moments[m].step(Numbers(from, from + static_cast<std::ptrdiff_t>(each)), r, c, t);
        for (std::size_t i = 0; i < each; ++i)
          w[m * each + i] -= 0.02 * (u[i] + k.weight_decay * w[m * each + i]);
      }
    }
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(tensor.weights[i], w[i], 3e-6) << i;
  }
}

TEST(Adafactor, LimitsTheRootMeanSquareOfAStep) {
  Trained tensor("adafactor", {}, 100, {});
  tensor.step(Numbers(100, 1e-3), 0, 0.5);
  const std::vector<float> before = tensor.weights;
  tensor.step(Numbers(100, 50.0), 1, 0.5);
  Numbers by(100);
  for (std::size_t i = 0; i < 100; ++i) by[i] = double{tensor.weights[i]} - double{before[i]};
  EXPECT_NEAR(length(by) / 10, 0.5, 1e-5);  // the rate times 1
}

// --- muon ---

Numbers product(const Numbers& a, const Numbers& b, std::size_t m, std::size_t n, std::size_t k) {
  Numbers c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t l = 0; l < k; ++l)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
  return c;
}
Numbers turned(const Numbers& a, std::size_t m, std::size_t n) {
  Numbers b(a.size());
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) b[j * m + i] = a[i * n + j];
  return b;
}

// Newton-Schulz on the matrix itself, never turned: X <- a X + b (X X') X + c (X X')^2 X.
Numbers orthogonal(Numbers x, std::size_t rows, std::size_t columns) {
  const double norm = length(x) + 1e-7;
  for (double& each : x) each /= norm;
  for (int step = 0; step < 5; ++step) {
    const Numbers a = product(x, turned(x, rows, columns), rows, rows, columns),
                  ax = product(a, x, rows, columns, rows),
                  aax = product(a, ax, rows, columns, rows);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = 3.4445 * x[i] - 4.7750 * ax[i] + 2.0315 * aax[i];
  }
  return x;
}

TEST(Muon, FollowsItsFormulaForHiddenMatricesAndExperts) {
  for (const bool nesterov : {false, true})
    for (const MatrixShape& shape :
         {MatrixShape{1, 12, 20, true}, MatrixShape{1, 20, 12, true}, MatrixShape{2, 8, 8, true}}) {
      const auto r = static_cast<std::size_t>(shape.rows),
                 c = static_cast<std::size_t>(shape.columns), each = r * c,
                 n = each * static_cast<std::size_t>(shape.matrices);
      Training k = usual_training();
      k.nesterov = nesterov, k.momentum = 0.95;
      Trained tensor("muon", shape, n, k);
      EXPECT_EQ(tensor.by_tensor.size(), 0u);
      Numbers w = drawn(0, n), velocity(n);
      for (int t = 0; t < 4; ++t) {
        const Numbers g = drawn(1 + static_cast<std::uint64_t>(t), n);
        tensor.step(g, t, 0.02);
        Numbers u(n);
        for (std::size_t i = 0; i < n; ++i) {
          velocity[i] = k.momentum * velocity[i] + 0.25 * g[i];
          u[i] = nesterov ? 0.25 * g[i] + k.momentum * velocity[i] : velocity[i];
        }
        for (std::size_t first = 0; first < n; first += each) {
          const auto from = u.begin() + static_cast<std::ptrdiff_t>(first);
          const Numbers o =
              orthogonal(Numbers(from, from + static_cast<std::ptrdiff_t>(each)), r, c);
          const double size = 0.2 * std::sqrt(static_cast<double>(std::max(r, c)));
          for (std::size_t i = 0; i < each; ++i)
            w[first + i] -= 0.02 * (size * o[i] + k.weight_decay * w[first + i]);
        }
      }
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(tensor.weights[i], w[i], 2e-5) << i;
    }
}

// With the scale taken out, the singular values of a step lie in the band around 1 in which the
// polynomial of the paper ends: its three coefficients keep [0.68, 1.13] within itself.
TEST(Muon, StepsAlikeInAllDirections) {
  constexpr std::size_t kRows = 8, kColumns = 32;
  Training still;
  Trained tensor("muon", {1, kRows, kColumns, true}, kRows * kColumns, still);
  const std::vector<float> before = tensor.weights;
  tensor.step(drawn(3, kRows * kColumns), 0, 1);
  Numbers o(kRows * kColumns);
  for (std::size_t i = 0; i < o.size(); ++i)
    o[i] = (double{before[i]} - double{tensor.weights[i]}) / (0.2 * std::sqrt(32.0));
  const Numbers square = product(o, turned(o, kRows, kColumns), kRows, kRows, kColumns);
  testing::SquareMatrix matrix(kRows);
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kRows; ++j) matrix.at(i, j) = square[i * kRows + j];
  for (const double eigenvalue : testing::eigenvalues(matrix)) {
    EXPECT_GT(std::sqrt(eigenvalue), 0.65);
    EXPECT_LT(std::sqrt(eigenvalue), 1.15);
  }
}

TEST(Muon, TrainsTheRestByAdamw) {
  constexpr std::size_t kNumbers = 300;
  for (const MatrixShape& shape : {MatrixShape{}, MatrixShape{1, 15, 20, false}}) {
    Trained rest("muon", shape, kNumbers, usual_training()),
        adamw("adamw", {}, kNumbers, usual_training());
    EXPECT_EQ(rest.by_tensor.size(), 4 * kNumbers);
    for (int t = 0; t < 4; ++t) {
      const Numbers g = drawn(1 + static_cast<std::uint64_t>(t), kNumbers);
      rest.step(g, t, 0.01), adamw.step(g, t, 0.01);
    }
    EXPECT_EQ(rest.weights, adamw.weights);
  }
}

// --- weights of every format ---

TEST(TensorOptimizers, AMasterCopyIsTheFourByteRunAndItsRounding) {
  const MatrixShape shape{1, 20, 30, true};
  constexpr std::size_t kNumbers = 600;
  for (const char* name : {"adamw-8bit", "adafactor", "muon"}) {
    Trained direct(name, shape, kNumbers, usual_training());
    const auto rule = optimizer_rule(name, usual_training(), WeightUpdate::Master);
    std::vector<float> master = direct.weights, slot(kNumbers);
    std::vector<std::uint16_t> weights(kNumbers);
    std::vector<std::byte> state(direct.by_tensor.size());
    for (int t = 0; t < 4; ++t) {
      const Numbers g = drawn(1 + static_cast<std::uint64_t>(t), kNumbers);
      direct.step(g, t, 0.01);
      const std::vector<float> sums = narrow(g);
      void* const slots[] = {slot.data()};
      ParameterPart part;
      part.elements = kNumbers, part.shape = shape;
      part.weights = weights.data(), part.weight_type = DType::BF16, part.master = master.data();
      part.gradients = sums.data(), part.tensor_state = state.data();
      part.state = std::span<void* const>(slots).first(rule->slots().size());
      rule->apply(part, {.t = t, .rate = 0.01, .gradient_scale = 0.25}, {});
    }
    EXPECT_EQ(master, direct.weights) << name;
    EXPECT_EQ(state, direct.by_tensor) << name;
    for (std::size_t i = 0; i < kNumbers; ++i) ASSERT_EQ(weights[i], to_bf16(master[i]));
  }
}

TEST(TensorOptimizers, PureBf16StaysNearTheFourByteRun) {
  const MatrixShape shape{1, 20, 30, true};
  constexpr std::size_t kNumbers = 600;
  for (const char* name : {"adamw-8bit", "adafactor", "muon"})
    for (const WeightUpdate how :
         {WeightUpdate::Nearest, WeightUpdate::Stochastic, WeightUpdate::Kahan}) {
      Trained direct(name, shape, kNumbers, usual_training());
      const auto rule = optimizer_rule(name, usual_training(), how);
      std::vector<std::uint16_t> weights(kNumbers);
      to_bf16(direct.weights, weights.data());
      std::vector<std::vector<std::uint16_t>> slots(rule->slots().size(),
                                                    std::vector<std::uint16_t>(kNumbers));
      std::vector<void*> at;
      for (auto& slot : slots) at.push_back(slot.data());
      std::vector<std::byte> state(direct.by_tensor.size());
      for (int t = 0; t < 4; ++t) {
        const Numbers g = drawn(1 + static_cast<std::uint64_t>(t), kNumbers);
        direct.step(g, t, 0.05);
        const std::vector<float> sums = narrow(g);
        ParameterPart part;
        part.elements = kNumbers, part.shape = shape, part.state = at;
        part.weights = weights.data(), part.weight_type = DType::BF16;
        part.gradients = sums.data(), part.tensor_state = state.data();
        rule->apply(part, {.t = t, .rate = 0.05, .gradient_scale = 0.25}, {});
      }
      // Four updates round weights of at most 1.3 to 8 bits.
      for (std::size_t i = 0; i < kNumbers; ++i)
        EXPECT_NEAR(from_bf16(weights[i]), direct.weights[i], 0.03)
            << name << " " << static_cast<int>(how) << " " << i;
    }
}

}  // namespace
}  // namespace trainyard
