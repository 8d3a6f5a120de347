// Intensity is how much is computed for each byte that is moved. A product of one row reads the
// whole weight for it (matrix times vector); with more rows the weight is read once for all of them
// (matrix times matrix), so that intensity grows with the batch until the arithmetic takes longer
// than the traffic: the knee, at the device's ridge (Williams, Waterman, Patterson 2009).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/banded.h"
#include "core/cluster/device.h"
#include "core/model/op.h"

namespace trainyard {

/// Products at one batch, added up.
struct BatchPoint {
  double batch = 0;
  double flops = 0, bytes = 0;
  double arithmetic = 0, traffic = 0;           // seconds, each by the roofline
  std::optional<Banded<double>> measured = {};  // seconds; empty = not measured
  double intensity() const { return flops / bytes; }
  double roofline() const { return arithmetic > traffic ? arithmetic : traffic; }  // seconds
};
/// Adds one work to a point of its batch, at the shares of the datasheet that the roofline reaches.
void add_work(BatchPoint&, const Work&, const Device&);

/// Two figures of a roofline, and the batch at which they meet.
struct Ridge {
  double flops_per_second = 0, bytes_per_second = 0;
  /// Empty where the intensity stays below the ridge at any batch, or does not depend on it.
  std::optional<double> batch;
  double intensity() const { return flops_per_second / bytes_per_second; }
};

struct IntensityCurve {
  std::string name, unit;          // "layers: 4 products"; what a batch is counted in: "samples"
  std::vector<BatchPoint> points;  // ascending by batch, at least two
  Ridge predicted;                 // by formula, of the device
  /// The bandwidth that the smallest batch attained, and the highest rate of any batch; empty where
  /// nothing was measured.
  std::optional<Ridge> measured;
};
/// Fills in both ridges. Flops must be proportional to the batch, and bytes a straight line in it,
/// as those of products are; then the knee follows from the first and the last point. Throws
/// std::invalid_argument for fewer than two points.
IntensityCurve intensity_curve(std::string name, std::string unit, std::vector<BatchPoint>);

}  // namespace trainyard
