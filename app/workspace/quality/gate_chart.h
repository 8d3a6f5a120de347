// A gate of quality as what is said, drawn and listed of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/workspace/quality/gate_study.h"
#include "app/workspace/scenario/request.h"
#include "visualizers/chart/bars_view.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/table.h"

namespace trainyard {

/// Returns what is done to a model in words, such as "4 bits, bf16"; the name of its file where
/// that is a checkpoint of its own.
std::string side_title(const GateSide&);

/// A row for each model and task.
DataTable gate_table(const GateReport&);
/// A row for each tensor of the reference that is stored without loss; none where that was not
/// asked for.
DataTable lossless_table(const GateReport&);

/// Says of each model whether it passes, and if not beyond which limits it is, and where noise
/// shows more of a loss than clean samples do.
std::vector<std::string> gate_sentences(const GateReport&);

/// The answers that one model alone has right, by model and task: those that were lost and those
/// that were won.
BarsModel gate_bars(const GateReport&);
/// The error of models in memories that flip bits, over the rate: a curve for each form and task of
/// which there are two rates or more. Nothing where there is none.
std::optional<CurveModel> gate_curve(const GateReport&);

/// The pictures of a gate: the bars, and below them the curve of errors, or else that of the noise
/// of vectors (visualizers/analyse/vector_noise_curve.h), where there is one.
struct GateCharts {
  BarsModel bars;
  std::optional<CurveModel> curve;
};
GateCharts gate_charts(const GateReport&);
void draw_gate(Drawing&, const Rect& area, const GateCharts&);
/// Items are those of the bars and those of the curve.
Hover describe_gate(const GateCharts&, Item);
/// Says for people who cannot see them what the charts show.
std::string gate_words(const GateCharts&);
Drawing gate_picture(const GateReport&);

/// The limits in words, such as "excess error 0.5 %, flips 2 %"; "none" where there are none.
std::string limit_words(const GateLimits&);

/// The words of a gate as they are typed.
struct GateWords {
  std::string reference, data, corruptions, limits;
  std::vector<std::string> models;
  std::int64_t samples = 0;
  int vector_bits = 0;
  std::string error_rates = {};  // of bits, as read_error_rates() reads them; may be empty
  bool lossless = false;
};
/// The command line that asks the same of the model of a request.
std::string gate_command(const Request&, const GateWords&);

}  // namespace trainyard
