#include "core/training/compression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

// Sizes of floats have the order of their bits, NaN behind infinity.
std::uint32_t size_bits(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

}  // namespace

double ratio_at(double base, std::int64_t warmup, std::int64_t step) {
  if (step >= warmup) return base;
  return std::max(base,
                  std::pow(base, static_cast<double>(step + 1) / static_cast<double>(warmup + 1)));
}

std::vector<std::uint32_t> top_k(std::span<const float> values, std::int64_t k) {
  std::vector<std::uint32_t> found;
  if (k == 0) return found;
  // The upper 12 bits of sizes say in which bin the smallest that is sent lies.
  constexpr int kBinBits = 19;
  std::vector<std::int64_t> counts(std::size_t{1} << (31 - kBinBits));
  for (const float value : values) ++counts[size_bits(value) >> kBinBits];
  std::size_t bin = counts.size() - 1;
  std::int64_t equal = k;
  while (counts[bin] < equal) equal -= counts[bin--];
  std::vector<std::uint32_t> sizes;
  for (const float value : values)
    if (size_bits(value) >> kBinBits == bin) sizes.push_back(size_bits(value));
  const auto last = sizes.begin() + (equal - 1);
  std::nth_element(sizes.begin(), last, sizes.end(), std::greater<>());
  const std::uint32_t least = *last;
  equal -= std::count_if(sizes.begin(), last, [&](auto size) { return size > least; });
  found.reserve(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t size = size_bits(values[i]);
    if (size > least || (size == least && equal-- > 0))
      found.push_back(static_cast<std::uint32_t>(i));
  }
  return found;
}

std::vector<std::uint32_t> multi_sampling_top_k(std::span<const float> values, std::int64_t k,
                                                int rounds, std::uint64_t start) {
  double sum = 0;
  float most = 0;
  for (const float value : values) sum += std::abs(value), most = std::max(most, std::abs(value));
  const double mean = values.empty() ? 0 : sum / static_cast<double>(values.size());
  const auto count_above = [&](double threshold) {
    return std::count_if(values.begin(), values.end(),
                         [&](float value) { return std::abs(value) >= threshold; });
  };
  double low = 0, high = 1, above = 0, below = 0;
  std::int64_t sure = 0, possible = std::numeric_limits<std::int64_t>::max();
  // Where more are sent than lie above the mean, as in a warm-up, the last ones lie below it.
  double least = mean, top = most;
  if (const std::int64_t at_mean = count_above(mean); at_mean <= k)
    sure = at_mean, above = mean, least = 0, top = mean;
  else
    possible = at_mean, below = mean;
  for (int round = 0; round < rounds && sure < k; ++round) {
    const double middle = (low + high) / 2, threshold = least + middle * (top - least);
    const std::int64_t count = count_above(threshold);
    (count <= k ? high : low) = middle;
    if (count <= k && count > sure) sure = count, above = threshold;
    if (count > k && count < possible) possible = count, below = threshold;
  }
  // NaN is in the band, as it is neither above nor below a threshold.
  const auto is_sure = [&](float value) { return sure > 0 && std::abs(value) >= above; };
  const auto in_band = [&](float value) { return !is_sure(value) && !(std::abs(value) < below); };
  const std::int64_t band = std::count_if(values.begin(), values.end(), in_band), rest = k - sure;
  const auto places = static_cast<std::uint64_t>(std::max<std::int64_t>(1, band - rest + 1));
  const auto first = static_cast<std::int64_t>(start % places);
  std::vector<std::uint32_t> found;
  found.reserve(static_cast<std::size_t>(k));
  std::int64_t place = 0;  // in the band
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool taken = is_sure(values[i]);
    if (in_band(values[i])) {
      taken = place >= first && place < first + rest;
      ++place;
    }
    if (taken) found.push_back(static_cast<std::uint32_t>(i));
  }
  return found;
}

void correct_momentum(std::span<const float> g, float momentum, bool nesterov, std::span<float> u,
                      std::span<float> v) {
  for (std::size_t i = 0; i < g.size(); ++i) {
    u[i] = nesterov ? momentum * (u[i] + g[i]) : momentum * u[i] + g[i];
    v[i] += nesterov ? u[i] + g[i] : u[i];
  }
}

double local_clip(double norm, double threshold, std::int64_t replicas) {
  const double most = threshold / std::sqrt(static_cast<double>(replicas));
  return threshold > 0 && norm > most ? most / norm : 1;
}

}  // namespace trainyard
