#include "planners/tuning/flow2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr double kFirstStep = 0.1, kLeastStep = 1e-4;

[[noreturn]] void refuse_dimension(const Dimension& d, const std::string& message) {
  throw Error(Error::Kind::InvalidInput, message, {d.name});
}

bool is_whole(double value) { return std::floor(value) == value; }

std::vector<double> starts(const std::vector<Dimension>& space) {
  std::vector<double> place;
  for (const Dimension& d : space) place.push_back(normalised(d, d.start));
  return place;
}

}  // namespace

void check_space(const std::vector<Dimension>& space) {
  for (const Dimension& d : space) {
    if (!std::isfinite(d.low) || !std::isfinite(d.high) || d.low > d.high)
      refuse_dimension(d, fmt::format("expected bounds that rise, found {}..{}", d.low, d.high));
    if (d.log && !(d.low > 0))
      refuse_dimension(
          d, fmt::format("expected bounds above 0 on a logarithmic scale, found {}", d.low));
    if (d.kind == Dimension::Kind::Integer && (!is_whole(d.low) || !is_whole(d.high)))
      refuse_dimension(d, fmt::format("expected whole bounds, found {}..{}", d.low, d.high));
    if (!(d.start >= d.low && d.start <= d.high))
      refuse_dimension(
          d, fmt::format("expected a start from {} to {}, found {}", d.low, d.high, d.start));
  }
}

double normalised(const Dimension& d, double value) {
  if (d.high == d.low) return 0;
  const double place = d.log ? std::log(value / d.low) / std::log(d.high / d.low)
                             : (value - d.low) / (d.high - d.low);
  return std::clamp(place, 0.0, 1.0);
}

double value_at(const Dimension& d, double place) {
  place = std::clamp(place, 0.0, 1.0);
  double value = d.log ? d.low * std::pow(d.high / d.low, place) : d.low + (d.high - d.low) * place;
  if (d.kind == Dimension::Kind::Integer) value = std::round(value);
  return std::clamp(value, d.low, d.high);
}

Flow2::Flow2(const std::vector<Dimension>& space, Random random)
    : Flow2(space, starts(space), random) {}

Flow2::Flow2(const std::vector<Dimension>& space, std::vector<double> place, Random random)
    : space_(space), random_(random), place_(std::move(place)), proposal_(place_) {
  const double root = std::sqrt(static_cast<double>(space_.size()));
  step_ = kFirstStep * root;
  // On a coarse grid, steps must be long enough to leave a cell.
  if (step_ < least_step()) step_ = std::min(root, 2 * least_step());
}

SearchPoint Flow2::propose() {
  if (told_ == 0) {
    proposal_ = place_;
  } else {
    const bool opposite = !other_side_.empty();
    const std::vector<double> step = opposite ? other_side_ : direction();
    other_side_.clear();
    for (std::size_t i = 0; i < place_.size(); ++i)
      proposal_[i] = std::clamp(place_[i] + (opposite ? -step[i] : step[i]), 0.0, 1.0);
    if (!opposite) other_side_ = step;
  }
  SearchPoint point;
  for (std::size_t i = 0; i < space_.size(); ++i)
    point.push_back(value_at(space_[i], proposal_[i]));
  return point;
}

void Flow2::told(const Loss& loss) {
  ++told_;
  if (told_ == 1 || loss < best_loss_) {
    place_ = proposal_;
    best_.clear();
    for (std::size_t i = 0; i < space_.size(); ++i) best_.push_back(value_at(space_[i], place_[i]));
    best_loss_ = loss;
    other_side_.clear();
    worse_ = 0, found_at_ = told_;
    return;
  }
  const auto patience = std::int64_t{1} << std::min<std::size_t>(9, space_.size());
  if (++worse_ < patience) return;
  worse_ = 0;
  const std::int64_t before = shrunk_at_ > 0 ? shrunk_at_ : found_at_;
  shrunk_at_ = told_;
  step_ *= std::sqrt(static_cast<double>(before) / static_cast<double>(told_));
}

// A uniform direction on the sphere: a normalised vector of normal variates.
std::vector<double> Flow2::direction() {
  std::vector<double> step;
  double squares = 0;
  for (std::size_t i = 0; i < space_.size(); ++i) {
    // The Box-Muller transform; 1 - u is never 0.
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform(drawn_)));
    const double angle = 2 * std::numbers::pi * random_.uniform(drawn_ + 1);
    drawn_ += 2;
    step.push_back(radius * std::cos(angle));
    squares += step.back() * step.back();
  }
  const double factor = squares > 0 ? step_ / std::sqrt(squares) : 0;
  for (double& s : step) s *= factor;
  return step;
}

double Flow2::least_step() const {
  double least = 1;
  bool grid = false;
  for (std::size_t i = 0; i < space_.size(); ++i) {
    const Dimension& d = space_[i];
    if (d.kind != Dimension::Kind::Integer || d.low == d.high) continue;
    grid = true;
    const double value = best_.empty() ? d.start : best_[i];
    least = std::min(
        least, d.log ? std::log1p(1 / value) / std::log(d.high / d.low) : 1 / (d.high - d.low));
  }
  const double root = std::sqrt(static_cast<double>(space_.size()));
  return (grid ? least : kLeastStep) * root;
}

}  // namespace trainyard
