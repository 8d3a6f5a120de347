#include "core/training/optimizers/stretch_rule.h"

#include <algorithm>
#include <cassert>

#include "core/base/random.h"
#include "core/base/vectorised.h"

namespace trainyard {
namespace {

constexpr std::size_t kStretch = 1024;
using Floats = std::array<float, kStretch>;
using Halves = std::array<std::uint16_t, kStretch>;

const float* as_floats(const void* data, DType type, std::size_t first, std::size_t count,
                       Floats& room) {
  if (type == DType::F32) return static_cast<const float*>(data) + first;
  const std::span from(static_cast<const std::uint16_t*>(data) + first, count);
  assert(type == DType::BF16 || type == DType::F16);
  type == DType::BF16 ? from_bf16(from, room.data()) : from_f16(from, room.data());
  return room.data();
}

TRAINYARD_VECTORISED void subtract(float* __restrict weights, const float* __restrict step,
                                   std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) weights[i] -= step[i];
}

TRAINYARD_VECTORISED void difference(const float* __restrict weights, const float* __restrict step,
                                     float* __restrict into, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] = weights[i] - step[i];
}

TRAINYARD_VECTORISED void predict(const float* __restrict weights, const float* __restrict step,
                                  float along, const float* __restrict of,
                                  float* __restrict derived, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) derived[i] = (weights[i] - step[i]) + along * of[i];
}

TRAINYARD_VECTORISED void follow(const float* __restrict weights, const float* __restrict step,
                                 float along, const float* __restrict of, float kept,
                                 float* __restrict derived, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    derived[i] = ((weights[i] - step[i]) - kept * (weights[i] - derived[i])) + along * of[i];
}

/// Noise has sixteen random bits per element, which are a function of seed, tensor, update, slot
/// and index alone.
class Noise {
 public:
  Noise(std::uint64_t seed, std::uint64_t id, std::int64_t t, std::uint64_t slot)
      : random_(Random(seed, id).bits(static_cast<std::uint64_t>(t)), slot) {}

  void fill(std::int64_t first, std::size_t count, std::uint16_t* into) const {
    // Four numbers share one draw.
    auto index = static_cast<std::uint64_t>(first);
    std::uint64_t drawn = random_.bits(index / 4) >> (16 * (index % 4));
    for (std::size_t i = 0; i < count; ++i, ++index, drawn >>= 16) {
      if (index % 4 == 0) drawn = random_.bits(index / 4);
      into[i] = static_cast<std::uint16_t>(drawn);
    }
  }

 private:
  Random random_;
};

inline float rounded(float x) { return from_bf16(to_bf16(x)); }

struct Compensated {
  std::uint16_t weight, compensation;
};

// y = -u - c; s = w + y; c = (s - w) - y; w = s, each rounded to bf16.
inline Compensated compensate(float weight, float step, float compensation) {
  const float y = rounded(-step - compensation);
  const float sum = rounded(weight + y);
  return {to_bf16(sum), to_bf16(rounded(sum - weight) - y)};
}

TRAINYARD_VECTORISED void compensate(std::uint16_t* __restrict weights,
                                     const float* __restrict step,
                                     std::uint16_t* __restrict compensation, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const Compensated sum = compensate(from_bf16(weights[i]), step[i], from_bf16(compensation[i]));
    weights[i] = sum.weight, compensation[i] = sum.compensation;
  }
}

/// A Carrier converts a stretch of one part to floats and stores the result.
class Carrier {
 public:
  Carrier(const ParameterPart& part, const StepFacts& facts, std::uint64_t seed, WeightUpdate how,
          std::size_t moments)
      : part_(part), facts_(facts), seed_(seed), how_(how), moments_(moments) {}

  const Stretch& bring(std::size_t first, std::size_t count) {
    first_ = first;
    stretch_.count = count;
    stretch_.weights = how_ == WeightUpdate::Master
                           ? part_.master + first
                           : as_floats(part_.weights, part_.weight_type, first, count, weights_);
    stretch_.gradients = as_floats(part_.gradients, part_.gradient_type, first, count, gradients_);
    stretch_.step = step_.data();
    bring_state();
    return stretch_;
  }

  void bring_state() {
    for (std::size_t s = 0; s < moments_; ++s) {
      if (is_pure_bf16(how_)) {
        from_bf16({halves_at(s), stretch_.count}, state_[s].data());
        stretch_.state[s] = state_[s].data();
      } else {
        stretch_.state[s] = static_cast<float*>(part_.state[s]) + first_;
      }
    }
  }

  /// Rounds the state as it is stored. Moments are rounded in the same way as the weights.
  void store_state() {
    if (!is_pure_bf16(how_)) return;
    for (std::size_t s = 0; s < moments_; ++s) {
      const std::span<const float> from(state_[s].data(), stretch_.count);
      if (how_ == WeightUpdate::Stochastic)
        stochastic(from, halves_at(s), 1 + s);
      else
        to_bf16(from, halves_at(s));
    }
  }

  // Before the weights are stored, which may overwrite those that the step was made for.
  void store_derived() {
    if (part_.derived == nullptr) return;
    const DerivedWeights& how = facts_.derived;
    const float* of = how.of_velocity ? stretch_.state[0] : step_.data();
    const auto along = static_cast<float>(how.of_velocity ? how.along * facts_.rate : how.along),
               kept = static_cast<float>(how.kept);
    float* const derived = part_.derived + first_;
    if (kept == 0)
      predict(stretch_.weights, step_.data(), along, of, derived, stretch_.count);
    else
      follow(stretch_.weights, step_.data(), along, of, kept, derived, stretch_.count);
  }

  void store_weights() {
    const std::size_t n = stretch_.count;
    void* const into = part_.updated != nullptr ? part_.updated : part_.weights;
    if (how_ == WeightUpdate::Direct) {
      float* const to = static_cast<float*>(into) + first_;
      return part_.updated != nullptr ? difference(stretch_.weights, step_.data(), to, n)
                                      : subtract(to, step_.data(), n);
    }
    auto* weights = static_cast<std::uint16_t*>(into) + first_;
    if (how_ == WeightUpdate::Master) {
      float* master = part_.master + first_;
      subtract(master, step_.data(), n);
      part_.weight_type == DType::BF16 ? to_bf16({master, n}, weights)
                                       : to_f16({master, n}, weights);
      return;
    }
    // Pure 16-bit hardware has a 16-bit step too.
    to_bf16({step_.data(), n}, noise_.data());
    from_bf16({noise_.data(), n}, step_.data());
    if (how_ == WeightUpdate::Kahan) {
      if (part_.updated != nullptr)
        std::copy_n(static_cast<const std::uint16_t*>(part_.weights) + first_, n, weights);
      return compensate(weights, step_.data(), halves_at(moments_), n);
    }
    difference(stretch_.weights, step_.data(), gradients_.data(), n);
    if (how_ == WeightUpdate::Stochastic)
      stochastic({gradients_.data(), n}, weights, 0);
    else
      to_bf16({gradients_.data(), n}, weights);
  }

 private:
  std::uint16_t* halves_at(std::size_t slot) const {
    return static_cast<std::uint16_t*>(part_.state[slot]) + first_;
  }
  void stochastic(std::span<const float> from, std::uint16_t* to, std::uint64_t slot) {
    Noise(seed_, part_.id, facts_.t, slot)
        .fill(part_.first + static_cast<std::int64_t>(first_), from.size(), noise_.data());
    to_bf16_stochastic(from, to, noise_.data());
  }

  const ParameterPart& part_;
  const StepFacts& facts_;
  std::uint64_t seed_;
  WeightUpdate how_;
  std::size_t moments_, first_ = 0;
  Stretch stretch_;
  alignas(64) Floats weights_, gradients_, step_;
  alignas(64) std::array<Floats, 2> state_;
  alignas(64) Halves noise_;
};

template <class F>
void each_stretch(std::int64_t elements, F&& f) {
  const auto all = static_cast<std::size_t>(elements);
  for (std::size_t first = 0; first < all; first += kStretch)
    f(first, std::min(kStretch, all - first));
}

// There are sixteen sums side by side, added up at the end, which vectorises and keeps a fixed
// order.
TRAINYARD_VECTORISED void add_squares(const float* __restrict numbers, std::size_t n,
                                      double* __restrict sums) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (std::size_t lane = 0; lane < 16; ++lane) {
      const auto x = static_cast<double>(numbers[i + lane]);
      sums[lane] += x * x;
    }
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    const auto x = static_cast<double>(numbers[i]);
    sums[lane] += x * x;
  }
}

class SquareSum {
 public:
  void add(const float* numbers, std::size_t n) { add_squares(numbers, n, lanes_.data()); }
  double value() const {
    double sum = 0;
    for (double lane : lanes_) sum += lane;
    return sum;
  }

 private:
  std::array<double, 16> lanes_{};
};

}  // namespace

std::vector<std::string_view> StretchRule::slots() const {
  std::vector<std::string_view> names = moments();
  if (how_ == WeightUpdate::Kahan) names.emplace_back("compensation");
  return names;
}

TensorNorms StretchRule::norms(const ParameterPart& part, const StepFacts& facts) const {
  if (!needs_norms()) return {};
  SquareSum weights, directions;
  Carrier carrier(part, facts, seed_of(training_, RandomSource::Rounding), how_, moments().size());
  each_stretch(part.elements, [&](std::size_t first, std::size_t count) {
    const Stretch& stretch = carrier.bring(first, count);
    advance(facts, stretch);
    carrier.store_state();
    carrier.bring_state();
    direction(part, facts, stretch);
    weights.add(stretch.weights, count);
    directions.add(stretch.step, count);
  });
  return {weights.value(), directions.value()};
}

void StretchRule::apply(const ParameterPart& part, const StepFacts& facts,
                        const TensorNorms& norms) const {
  Carrier carrier(part, facts, seed_of(training_, RandomSource::Rounding), how_, moments().size());
  each_stretch(part.elements, [&](std::size_t first, std::size_t count) {
    step(part, facts, norms, carrier.bring(first, count));
    carrier.store_state();
    carrier.store_derived();
    carrier.store_weights();
  });
}

double square_sum(const void* gradients, DType type, std::int64_t elements) {
  SquareSum sum;
  Floats room;
  each_stretch(elements, [&](std::size_t first, std::size_t count) {
    sum.add(as_floats(gradients, type, first, count, room), count);
  });
  return sum.value();
}

bool is_lost(WeightUpdate how, float weight, float step, float compensation) {
  const float wanted = weight - step;
  if (wanted == weight) return false;
  switch (how) {
    case WeightUpdate::Direct:
    case WeightUpdate::Master:
      return false;
    case WeightUpdate::Nearest:
      return rounded(wanted) == weight;
    case WeightUpdate::Stochastic:
      return from_bf16(to_bf16_stochastic(wanted, 0)) == weight &&
             from_bf16(to_bf16_stochastic(wanted, 65535)) == weight;
    case WeightUpdate::Kahan: {
      const Compensated sum = compensate(weight, step, compensation);
      return from_bf16(sum.weight) == weight && from_bf16(sum.compensation) == compensation;
    }
  }
  return false;
}

}  // namespace trainyard
