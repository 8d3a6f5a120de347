// Normalises each channel to mean 0 and variance 1 over all images of the microbatch, or by
// statistics that it is given. A channel of all images fits into a core's second-level cache, so
// that only the first pass reads from memory. Where replicas share statistics, a pass runs twice:
// first it finds the means of its own images, and once the replicas have averaged them it does the
// rest.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/sums.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/model/reference.h"

namespace trainyard {
namespace {

constexpr std::string_view kStatistics = "statistics";  // for each channel: mean, 1 / deviation

// The planes of one channel are `step` apart.
struct Channels {
  std::int64_t images, channels, plane;
  explicit Channels(const TensorView& v)
      : images(v.size[0]), channels(v.size[1]), plane(v.size[2] * v.size[3]) {}
  std::int64_t at(std::int64_t image, std::int64_t channel) const {
    return (image * channels + channel) * plane;
  }
  double size() const { return static_cast<double>(images * plane); }
};

TRAINYARD_VECTORISED float squares_of(std::int64_t n, float mean, const float* x) {
  Lanes a{}, b{};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Lanes p = load(x + i) - mean, q = load(x + i + kLanes) - mean;
    a += p * p;
    b += q * q;
  }
  float rest = 0;
  for (; i < n; ++i) rest += (x[i] - mean) * (x[i] - mean);
  return sum(a + b) + rest;
}

TRAINYARD_VECTORISED void normalise(std::int64_t n, float mean, float slope, float bias,
                                    const float* x, float* y) {
  each_lane(n, y, false, [=](Lanes a) TRAINYARD_INLINED { return (a - mean) * slope + bias; }, x);
}

// Sums over one plane: of the gradients, and of gradients times normalised values.
struct Sums {
  float gradient, along;
};
TRAINYARD_VECTORISED Sums gradient_sums(std::int64_t n, float mean, const float* x,
                                        const float* dy) {
  Lanes a{}, b{}, c{}, d{};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Lanes p = load(dy + i), q = load(dy + i + kLanes);
    a += p;
    b += q;
    c += p * (load(x + i) - mean);
    d += q * (load(x + i + kLanes) - mean);
  }
  Sums rest{};
  for (; i < n; ++i) {
    rest.gradient += dy[i];
    rest.along += dy[i] * (x[i] - mean);
  }
  return {sum(a + b) + rest.gradient, sum(c + d) + rest.along};
}

// Computes slope * (dy - mean of dy - (x - mean) * along).
TRAINYARD_VECTORISED void gradient_loop(std::int64_t n, float mean, float slope, float gradient,
                                        float along, const float* x, const float* dy, float* dx,
                                        bool adds) {
  each_lane(
      n, dx, adds,
      [=](Lanes a, Lanes g)
          TRAINYARD_INLINED { return slope * (g - gradient - (a - mean) * along); },
      x, dy);
}

struct Measured {
  float mean;
  double squares;  // the sum of squared differences from the mean
};
Measured measure_channel(const Channels& ch, std::int64_t c, const float* x) {
  double total = 0, squares = 0;
  for (std::int64_t b = 0; b < ch.images; ++b)
    total += static_cast<double>(total_of(ch.plane, x + ch.at(b, c)));
  const auto mean = static_cast<float>(total / ch.size());
  for (std::int64_t b = 0; b < ch.images; ++b)
    squares += static_cast<double>(squares_of(ch.plane, mean, x + ch.at(b, c)));
  return {mean, squares};
}

bool finds_means(const KernelCall& call) {
  return call.norm_means != nullptr && !call.norm_means->given;
}
float* make_means(const KernelCall& call, const Channels& ch) {
  call.norm_means->values.resize(2 * static_cast<std::size_t>(ch.channels));
  return call.norm_means->values.data();
}

void find_statistics(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  const Channels ch(x);
  float* const means = make_means(call, ch);
  for (std::int64_t c = 0; c < ch.channels; ++c) {
    const Measured found = measure_channel(ch, c, x.f32());
    means[2 * c] = found.mean;
    means[2 * c + 1] = static_cast<float>(found.squares / ch.size());
  }
}

void batch_norm_forward(const KernelCall& call) {
  if (finds_means(call)) return find_statistics(call);
  const NormMeans* const shared = call.norm_means;
  const TensorView& x = input(call, 0);
  const float *gain = input(call, 1).f32(), *bias = input(call, 2).f32();
  float* y = output(call).f32();
  const FactView* kept = call.fact(kStatistics);
  ChannelStatistics* const asked = call.statistics;
  const bool given = asked != nullptr && asked->given;
  const Channels ch(x);
  if (asked != nullptr && !given) asked->values.resize(2 * static_cast<std::size_t>(ch.channels));
  for (std::int64_t c = 0; c < ch.channels; ++c) {
    float* const channel =
        asked != nullptr ? &asked->values[2 * static_cast<std::size_t>(c)] : nullptr;
    double variance = given ? static_cast<double>(channel[1]) : 0;
    float mean = given ? channel[0] : 0;
    if (!given) {
      double size = ch.size();
      if (shared != nullptr) {
        const float* const found = shared->values.data() + 2 * c;
        mean = found[0];
        variance = static_cast<double>(found[1]);
        size *= static_cast<double>(shared->parts);
      } else {
        const Measured found = measure_channel(ch, c, x.f32());
        mean = found.mean;
        variance = found.squares / size;
      }
      // What a larger batch would have is estimated without bias, as frameworks keep it.
      if (asked != nullptr)
        channel[0] = mean,
        channel[1] = static_cast<float>(variance * size / std::max(1.0, size - 1));
    }
    const auto scale = static_cast<float>(1 / std::sqrt(variance + kNormEpsilon));
    if (kept != nullptr) {
      auto* statistics = static_cast<float*>(kept->data);
      statistics[2 * c] = mean, statistics[2 * c + 1] = scale;
    }
    for (std::int64_t b = 0; b < ch.images; ++b)
      normalise(ch.plane, mean, scale * gain[c], bias[c], x.f32() + ch.at(b, c), y + ch.at(b, c));
  }
}

struct ChannelSums {
  double gradient = 0, along = 0;
};
ChannelSums channel_sums(const Channels& ch, std::int64_t c, float mean, const float* x,
                         const float* dy) {
  ChannelSums total;
  for (std::int64_t b = 0; b < ch.images; ++b) {
    const Sums part = gradient_sums(ch.plane, mean, x + ch.at(b, c), dy + ch.at(b, c));
    total.gradient += static_cast<double>(part.gradient);
    total.along += static_cast<double>(part.along);
  }
  return total;
}

void batch_norm_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  const bool finds = finds_means(call);
  if (!dx && !finds) return;
  const TensorView &x = input(call, 0), &dy = output_gradient(call);
  const float* gain = input(call, 1).f32();
  const auto* statistics = static_cast<const float*>(needed_fact(call, kStatistics).data);
  const Channels ch(x);
  float* const means = finds                        ? make_means(call, ch)
                       : call.norm_means != nullptr ? call.norm_means->values.data()
                                                    : nullptr;
  for (std::int64_t c = 0; c < ch.channels; ++c) {
    const float mean = statistics[2 * c], scale = statistics[2 * c + 1];
    ChannelSums s;  // here the means of what it sums
    if (means != nullptr && !finds) {
      s = {static_cast<double>(means[2 * c]), static_cast<double>(means[2 * c + 1])};
    } else {
      s = channel_sums(ch, c, mean, x.f32(), dy.f32());
      s.gradient /= ch.size(), s.along /= ch.size();
    }
    if (finds) {
      means[2 * c] = static_cast<float>(s.gradient);
      means[2 * c + 1] = static_cast<float>(s.along);
      continue;
    }
    const auto gradient = static_cast<float>(s.gradient);
    const auto along =
        static_cast<float>(s.along * static_cast<double>(scale) * static_cast<double>(scale));
    for (std::int64_t b = 0; b < ch.images; ++b)
      gradient_loop(ch.plane, mean, scale * gain[c], gradient, along, x.f32() + ch.at(b, c),
                    dy.f32() + ch.at(b, c), dx.view.f32() + ch.at(b, c), dx.add);
  }
}

void batch_norm_backward_weight(const KernelCall& call) {
  const Target dgain = target(call, 1), dbias = target(call, 2);
  if (!dgain && !dbias) return;
  const TensorView &x = input(call, 0), &dy = output_gradient(call);
  const auto* statistics = static_cast<const float*>(needed_fact(call, kStatistics).data);
  const Channels ch(x);
  for (std::int64_t c = 0; c < ch.channels; ++c) {
    const ChannelSums s = channel_sums(ch, c, statistics[2 * c], x.f32(), dy.f32());
    if (dgain)
      dgain.view.f32()[c] +=
          static_cast<float>(s.along * static_cast<double>(statistics[2 * c + 1]));
    if (dbias) dbias.view.f32()[c] += static_cast<float>(s.gradient);
  }
}

}  // namespace

CpuKernel batch_norm_kernel() {
  return {batch_norm_forward, batch_norm_backward_input, batch_norm_backward_weight};
}

}  // namespace trainyard
