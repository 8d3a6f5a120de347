#include "core/training/halp/halp_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/drawn_normal.h"
#include "core/base/error.h"
#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kFeatures = 11, kWeights = 12, kNoise = 13;  // streams of random numbers

// f(w) = mean of (x_i w - y_i)^2 / 2.
struct LeastSquares {
  explicit LeastSquares(const HalpQuestion& q)
      : samples(static_cast<std::size_t>(q.samples)), width(static_cast<std::size_t>(q.weights)) {
    const Random x(q.seed, kFeatures), w(q.seed, kWeights), noise(q.seed, kNoise);
    features.resize(samples * width), labels.resize(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      labels[i] = q.noise * drawn_normal(noise, i);
      for (std::size_t j = 0; j < width; ++j) {
        features[i * width + j] = drawn_normal(x, i * width + j);
        labels[i] += features[i * width + j] * drawn_normal(w, j);
      }
    }
  }

  void add_gradient(std::size_t i, std::span<const double> w, double factor,
                    std::span<double> into) const {
    const double* const x = features.data() + i * width;
    double residual = -labels[i];
    for (std::size_t j = 0; j < width; ++j) residual += x[j] * w[j];
    for (std::size_t j = 0; j < width; ++j) into[j] += factor * residual * x[j];
  }

  std::vector<double> hessian() const {
    std::vector<double> h(width * width);
    for (std::size_t i = 0; i < samples; ++i)
      for (std::size_t j = 0; j < width; ++j)
        for (std::size_t k = 0; k < width; ++k)
          h[j * width + k] +=
              features[i * width + j] * features[i * width + k] / static_cast<double>(samples);
    return h;
  }

  std::size_t samples, width;
  std::vector<double> features, labels;
};

// Solves h x = b for a positive definite h by Gaussian elimination.
std::vector<double> solve(std::vector<double> h, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t r = p + 1; r < n; ++r) {
      const double factor = h[r * n + p] / h[p * n + p];
      for (std::size_t c = p; c < n; ++c) h[r * n + c] -= factor * h[p * n + c];
      b[r] -= factor * b[p];
    }
  for (std::size_t p = n; p-- > 0;) {
    for (std::size_t c = p + 1; c < n; ++c) b[p] -= h[p * n + c] * b[c];
    b[p] /= h[p * n + p];
  }
  return b;
}

// The largest eigenvalue of h + shift I in size, less the shift, by powers.
double extreme_eigenvalue(const std::vector<double>& h, std::size_t n, double shift) {
  constexpr int kPowers = 2000;
  std::vector<double> v(n), next(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 1 + 0.1 * static_cast<double>(i);
  double found = 0;
  for (int k = 0; k < kPowers; ++k) {
    double size = 0, along = 0;
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = shift * v[i];
      for (std::size_t j = 0; j < n; ++j) next[i] += h[i * n + j] * v[j];
      size += v[i] * v[i], along += next[i] * v[i];
    }
    found = along / size;
    const double scale = 1 / std::sqrt(size);
    for (std::size_t i = 0; i < n; ++i) v[i] = next[i] * scale;
  }
  return found - shift;
}

std::string words_of(const std::vector<int>& bits) {
  std::string text;
  for (std::size_t i = 0; i < bits.size(); ++i)
    text += (i == 0 ? "" : i + 1 == bits.size() ? " and " : ", ") + std::to_string(bits[i]);
  return text;
}

}  // namespace

const HalpRow& HalpStudy::row(int bits) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [bits](const HalpRow& one) { return one.bits == bits; });
  if (found == rows.end())
    throw Error(Error::Kind::Internal, fmt::format("no run of {} bits", bits));
  return *found;
}

HalpStudy study_halp(const HalpQuestion& q) {
  HalpStudy study;
  study.question = q;
  const LeastSquares problem(q);
  const std::vector<double> h = problem.hessian(), start(problem.width);
  std::vector<double> downhill(problem.width);
  for (std::size_t i = 0; i < problem.samples; ++i)
    problem.add_gradient(i, start, -1 / static_cast<double>(problem.samples), downhill);
  const std::vector<double> solution = solve(h, downhill);
  study.most_curvature = extreme_eigenvalue(h, problem.width, 0);
  study.least_curvature = extreme_eigenvalue(h, problem.width, -study.most_curvature);
  const FiniteSum sum{
      q.samples, q.weights,
      [&](std::int64_t term, std::span<const double> w, double factor, std::span<double> into) {
        problem.add_gradient(static_cast<std::size_t>(term), w, factor, into);
      }};
  std::size_t done = 0;
  const auto run = [&](Descent how, int bits) {
    if (q.stop.stop_requested()) throw Error(Error::Kind::Cancelled, "the study was stopped");
    HalpRun found =
        descend(sum, how, {{bits, q.mu, q.inner, 1}, q.rate, q.rounds, q.seed}, start, solution);
    if (q.progress)
      q.progress(static_cast<double>(++done) / static_cast<double>(2 * q.bits.size() + 1));
    return found;
  };
  study.floats = run(Descent::Svrg, Halp{}.bits);
  for (const int bits : q.bits)
    study.rows.push_back({bits, run(Descent::BitCentred, bits), run(Descent::FixedGrid, bits)});
  return study;
}

std::vector<std::string> halp_sentences(const HalpStudy& study) {
  std::vector<std::string> text;
  std::vector<int> diverge, stall;
  const HalpRow* best = nullptr;
  for (const HalpRow& row : study.rows) {
    const Convergence how = row.centred.convergence();
    if (how == Convergence::Diverges) diverge.push_back(row.bits);
    if (how == Convergence::Stalls) stall.push_back(row.bits);
    if (how != Convergence::Converges) continue;
    if (best == nullptr || row.centred.error() < best->centred.error()) best = &row;
  }
  if (best != nullptr)
    text.push_back(fmt::format(
        "With {} bits HALP's error after the last of {} full gradients is {:.1e} of the first one, "
        "where floats have {:.1e} and a grid that stays has {:.1e}.",
        best->bits, best->centred.rounds.size(), best->centred.error(), study.floats.error(),
        best->fixed.error()));
  if (!diverge.empty())
    text.push_back(
        fmt::format("HALP diverges with {} bits: the full gradient is larger in the end "
                    "than at first.",
                    words_of(diverge)));
  if (!stall.empty())
    text.push_back(
        fmt::format("HALP stalls with {} bits: its rounds do not make the full gradient "
                    "smaller one after the other.",
                    words_of(stall)));
  for (const HalpRow& row : study.rows)
    if (row.centred.convergence() == Convergence::Converges && row.centred.clipped() > 0)
      text.push_back(
          fmt::format("With {} bits {} offsets lay beyond the grid and were clipped; a "
                      "smaller mu widens it.",
                      row.bits, row.centred.clipped()));
  if (study.question.mu > study.least_curvature)
    text.push_back(
        fmt::format("The grid assumes a curvature of {:g}, and the least one is {:.3g}: "
                    "it need not cover the solution.",
                    study.question.mu, study.least_curvature));
  return text;
}

}  // namespace trainyard
