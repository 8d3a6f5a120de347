#include "core/network/load_bins.h"

#include <algorithm>
#include <cassert>

namespace trainyard {

LoadBins::LoadBins(std::size_t links, std::size_t most)
    : most_(most), bytes_(most > 0 ? links : 0) {
  assert(most % 2 == 0);
}

void LoadBins::widen() {
  width_ *= 2;
  for (std::vector<double>& of : bytes_) {
    const std::size_t half = (of.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i)
      of[i] = of[2 * i] + (2 * i + 1 < of.size() ? of[2 * i + 1] : 0);
    of.resize(half);
  }
}

void LoadBins::add(std::uint32_t link, double since, double until, double bytes) {
  if (most_ == 0 || until <= since) return;
  while (until > static_cast<double>(width_) * static_cast<double>(most_)) widen();
  const auto width = static_cast<double>(width_);
  std::vector<double>& of = bytes_[link];
  for (auto i = static_cast<std::size_t>(since / width); i < most_; ++i) {
    const double from = width * static_cast<double>(i);
    if (from >= until) return;
    if (of.size() <= i) of.resize(i + 1, 0.0);
    const double inside = std::min(until, from + width) - std::max(since, from);
    of[i] += bytes * inside / (until - since);
  }
}

std::vector<double> LoadBins::bytes(std::uint32_t link, Duration end) const {
  if (most_ == 0) return {};
  std::vector<double> all = bytes_[link];
  all.resize(static_cast<std::size_t>((end.count() + width_ - 1) / width_), 0.0);
  return all;
}

}  // namespace trainyard
