// Residuals: each thing that was measured as a point over what is predicted of it, on logarithmic
// axes around the diagonal on which both agree: a ring for what was predicted without it having
// been measured, a disc for what the other measurements say of it (held out), and a small disc for
// what is learned from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/calibrated.h"
#include "core/io/traces/nccl_tests_import.h"
#include "core/validation/kernel_residuals.h"
#include "core/validation/recorded/trace_match.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct ResidualPoint {
  std::string name, shape;             // "matmul forward", "784 x 512 x 64"
  Duration measured{}, predicted{};    // above 0 to be drawn
  std::optional<Duration> held_out{};  // by the others
  std::int64_t count = 1;              // of measurements behind it
  std::optional<Duration> learned{};   // by trees that saw no kernel of its sizes
};

struct ResidualsModel {
  std::string title;  // "Kernels of this machine"
  std::string what;   // "kernels": what one point is, in the plural
  std::string by;     // "predicted before": what the rings are
  std::string name_head = "kernel", shape_head = "shape";  // of the table
  std::vector<ResidualPoint> points;
  ResidualShares predicted, held_out;
  double band = 0;         // share that predictions are stated to be within; 0: none is stated
  ResidualShares learned;  // of no points where there is too little to learn from
};
ResidualsModel residuals_model(const Calibration&, const KernelResiduals&);
/// Each row by the link fitted to all rows, and by that fitted to the rows of other sizes.
ResidualsModel residuals_model(const NcclTable&, const LinkFit&);
/// Each kind of work of a step on one device, by the plan and by what the other kinds say of it.
ResidualsModel residuals_model(const TraceMatch&, const std::string& title);

/// Items: Dot, tag the point. A selected point has a bar from its ring to its disc.
void draw_residuals(Drawing&, const Rect& area, const ResidualsModel&, const ViewState&);
Hover describe_residuals(const ResidualsModel&, Item);
/// "214 kernels: predicted before off by 34.0 % (median), ...; held out, ...".
std::string residuals_words(const ResidualsModel&);
/// Points as in the model.
DataTable residuals_table(const ResidualsModel&);
/// The whole picture, as for a file.
Drawing residuals_picture(const ResidualsModel&);

/// What of recording and plan answers to nothing on the other side, most time first.
DataTable unmatched_table(const TraceMatch&);

/// "2 of 784 x 512 x 64"; empty where a kernel has no sizes.
std::string shape_text(const Work&);

}  // namespace trainyard
