#include "core/cost/intensity.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/cost/roofline.h"

namespace trainyard {
namespace {

// With f flops per unit of batch, and fixed + each * batch bytes, the intensity is r where
// f * batch = r * (fixed + each * batch).
std::optional<double> batch_at(double r, const BatchPoint& first, const BatchPoint& last) {
  const double each = (last.bytes - first.bytes) / (last.batch - first.batch);
  const double fixed = first.bytes - each * first.batch, f = first.flops / first.batch;
  constexpr double kRounding = 1e-9;
  if (fixed <= kRounding * first.bytes || f <= r * each) return std::nullopt;
  return r * fixed / (f - r * each);
}

}  // namespace

void add_work(BatchPoint& point, const Work& work, const Device& device) {
  point.flops += work.flops.value;
  point.bytes += static_cast<double>((work.read + work.written).value);
  point.arithmetic += arithmetic_seconds(work, device, device.efficiency, 0);
  point.traffic += traffic_seconds(work, device, device.efficiency);
}

IntensityCurve intensity_curve(std::string name, std::string unit, std::vector<BatchPoint> points) {
  if (points.size() < 2) throw std::invalid_argument("expected at least two batches");
  IntensityCurve curve{std::move(name), std::move(unit), std::move(points), {}, {}};
  const BatchPoint &first = curve.points.front(), &last = curve.points.back();
  curve.predicted = {last.flops / last.arithmetic, last.bytes / last.traffic, {}};
  curve.predicted.batch = batch_at(curve.predicted.intensity(), first, last);
  if (!first.measured) return curve;
  Ridge measured{0, first.bytes / first.measured->value, {}};
  for (const BatchPoint& p : curve.points)
    if (p.measured)
      measured.flops_per_second = std::max(measured.flops_per_second, p.flops / p.measured->value);
  measured.batch = batch_at(measured.intensity(), first, last);
  curve.measured = measured;
  return curve;
}

}  // namespace trainyard
