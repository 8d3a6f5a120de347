// The signal to noise of a model's weights where vectors of them share a scale, over the size of
// the vectors: a line for each number of bits that a scale has (Dai et al., "VS-Quant", MLSys
// 2021).
#pragma once

#include <optional>
#include <vector>

#include "core/quality/quality_gate.h"
#include "visualizers/chart/curve_view.h"

namespace trainyard {

/// Returns nothing where there are fewer than two sizes of vectors. A scale for a whole channel is
/// a dashed line.
std::optional<CurveModel> vector_noise_curve(const std::vector<VectorNoise>&);

}  // namespace trainyard
