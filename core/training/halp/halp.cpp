#include "core/training/halp/halp.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kTerms = 1, kRoundings = 2;  // streams of random numbers

double length_of(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

double grid_step(double norm, double mu, int bits) {
  return norm / (mu * static_cast<double>(largest_offset(bits)));
}

std::int64_t offset_words(std::int64_t elements, int bits) {
  return (elements * bits + kOffsetWordBits - 1) / kOffsetWordBits;
}

std::int64_t HalpRun::clipped() const {
  std::int64_t sum = 0;
  for (const HalpRound& round : rounds) sum += round.clipped;
  return sum;
}

std::int64_t HalpRun::contractions() const {
  std::int64_t count = 0;
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    const double next = k + 1 < rounds.size() ? rounds[k + 1].gradient_norm : last_norm;
    if (next < rounds[k].gradient_norm) ++count;
  }
  return count;
}

Convergence HalpRun::convergence() const {
  if (rounds.empty() || !std::isfinite(last_norm)) return Convergence::Diverges;
  const double first = rounds.front().gradient_norm;
  if (last_norm > first) return Convergence::Diverges;
  const bool within = std::all_of(rounds.begin(), rounds.end(),
                                  [&](const HalpRound& r) { return r.gradient_norm <= first; });
  const bool most = 2 * contractions() > static_cast<std::int64_t>(rounds.size());
  return within && most ? Convergence::Converges : Convergence::Stalls;
}

std::string_view to_string(Convergence how) {
  switch (how) {
    case Convergence::Converges:
      return "converges";
    case Convergence::Stalls:
      return "stalls";
    case Convergence::Diverges:
      return "diverges";
  }
  return "";
}

HalpRun descend(const FiniteSum& sum, Descent how, const DescentQuestion& q,
                std::span<const double> start, std::span<const double> solution) {
  const auto d = static_cast<std::size_t>(sum.dimensions);
  const double from = distance(start, solution);
  const Random terms(q.seed, kTerms), roundings(q.seed, kRoundings);
  std::vector<double> anchor(start.begin(), start.end()), full(d), w(d), step(d);
  HalpRun run;
  double grid = 0;
  const auto take_full_gradient = [&] {
    std::fill(full.begin(), full.end(), 0.0);
    for (std::int64_t i = 0; i < sum.terms; ++i)
      sum.add_gradient(i, anchor, 1 / static_cast<double>(sum.terms), full);
    return length_of(full);
  };
  std::uint64_t drawn = 0, rounded = 0;
  double norm = take_full_gradient();
  for (std::int64_t k = 0; k < q.rounds; ++k) {
    if (!std::isfinite(norm)) break;
    if (how == Descent::BitCentred || (how == Descent::FixedGrid && k == 0))
      grid = grid_step(norm, q.halp.mu, q.halp.bits);
    HalpRound round{norm, grid, 0, 0};
    const std::span<const double> centre = how == Descent::FixedGrid ? start : anchor;
    w = anchor;
    for (std::int64_t t = 0; t < q.halp.inner; ++t) {
      const std::int64_t term = terms.between(drawn++, 0, sum.terms - 1);
      step = full;
      sum.add_gradient(term, w, 1, step);
      sum.add_gradient(term, anchor, -1, step);
      for (std::size_t i = 0; i < d; ++i) {
        const double next = w[i] - q.rate * step[i];
        if (how == Descent::Svrg || !std::isfinite(next)) {
          w[i] = next;
          continue;
        }
        const Offset z =
            round_to_grid(next - centre[i], grid, q.halp.bits, roundings.uniform(rounded++));
        round.clipped += z.clipped ? 1 : 0;
        w[i] = centre[i] + grid * static_cast<double>(z.code);
      }
    }
    anchor = w;
    round.distance = distance(anchor, solution) / from;
    norm = take_full_gradient();
    if (!std::isfinite(round.distance)) break;
    run.rounds.push_back(round);
  }
  run.last_norm = norm;
  return run;
}

}  // namespace trainyard
