#include "visualizers/analyse/vector_noise_curve.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace trainyard {
namespace {

constexpr Ink kScaleInks[] = {Ink::Forward, Ink::Backward, Ink::Recompute, Ink::Optimizer};

}  // namespace

std::optional<CurveModel> vector_noise_curve(const std::vector<VectorNoise>& found) {
  std::set<std::int64_t> sizes;
  std::map<int, std::map<std::int64_t, double>> by_scale;
  std::optional<double> channel;
  for (const VectorNoise& one : found) {
    if (one.vector == 0) {
      channel = one.decibels;
      continue;
    }
    sizes.insert(one.vector);
    by_scale[one.scale_bits][one.vector] = one.decibels;
  }
  if (sizes.size() < 2) return std::nullopt;
  CurveModel curve;
  curve.title = fmt::format("Signal of weights over the noise of {} bits", found.front().bits);
  curve.unit = "dB", curve.x_label = "weights that share a scale", curve.log_x = true;
  curve.fitted = true;
  for (const std::int64_t size : sizes) {
    curve.x.push_back(static_cast<double>(size));
    curve.x_names.push_back(std::to_string(size));
  }
  const auto ink = [&] { return kScaleInks[curve.lines.size() % std::size(kScaleInks)]; };
  for (const auto& [bits, by_size] : by_scale) {
    CurveModel::Line line{
        bits > 0 ? fmt::format("scales of {} bits", bits) : "scales of 4 bytes", ink(), {}, false};
    for (const std::int64_t size : sizes) {
      const auto at = by_size.find(size);
      line.values.push_back(at == by_size.end() ? std::nan("") : at->second);
    }
    curve.lines.push_back(std::move(line));
  }
  if (channel)
    curve.lines.push_back({"a scale for a channel", ink(),
                           std::vector<double>(sizes.size(), *channel),
                           /*dashed=*/true});
  return curve;
}

}  // namespace trainyard
