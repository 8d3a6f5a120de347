// What is read beside the picture of a run: figures measured with what was predicted of them,
// whether the prediction holds, and what its step and its peak differ by, cause by cause.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "visualizers/drawing/palette.h"
#include "visualizers/run/run_causes.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

struct RunReading {
  std::string name;   // "Step time"
  std::string value;  // "1.198 s"; "–" where it was not measured yet
  std::string note;   // "predicted 1.154 s, +3.8 %"; may be empty
};
/// Step time, peak memory, tokens (or samples) a second, bubble, loss and what is left, always in
/// this order. The model must have its prediction.
std::vector<RunReading> run_readings(const RunModel&);

/// How far a run may lie from its prediction for that to hold, as shares of what was predicted.
inline constexpr double kStepLimit = 0.15, kPeakLimit = 0.05;
struct RunJudgement {
  bool holds = false;
  std::string sentence;  // "Prediction holds: step +3.8 % (limit 15 %), peak +2.1 % (limit 5 %)"
};
/// Nothing before a step was measured whole.
std::optional<RunJudgement> judge_run(const RunModel&);

/// One cause of a difference, of a step's time (ns) or of a peak's memory (bytes).
struct RunResidual {
  std::string name;
  Ink ink = Ink::Text;
  std::int64_t predicted = 0, measured = 0;
  std::string cause;    // where most of the difference lies, "mostly q_proj, +34.0 %"; may be empty
  std::string figures;  // behind it: "q_proj 5.12 ms, predicted 3.82 ms"; may be empty
  std::int64_t difference() const { return measured - predicted; }
};
struct RunResiduals {
  std::string of;                  // "Step of stage 2", "Peak of stage 0"
  std::vector<RunResidual> parts;  // none of 0 and 0
  RunResidual sum;                 // of the parts, exactly
};
/// Nothing before a step was measured whole.
std::optional<RunResiduals> time_residuals(const RunModel&);
/// Of the rank that held most, each side at its own peak. Nothing before a wave was measured.
std::optional<RunResiduals> memory_residuals(const RunModel&);

/// "peak 17.3 MiB, predicted 17.3 MiB, aligned 17.4 MiB" of waves that share a device, measured as
/// far as it was; "" of any other plan.
std::string peaks_words(const RunModel&);
/// "first sample after 0.31 s", "61 frames a second": what was looked at; what is furthest from its
/// prediction; and peaks_words().
std::vector<std::string> run_notes(const RunModel&);
/// The same for whoever knows largest_deviation() of it already: that looks at every span.
std::vector<std::string> run_notes(const RunModel&, const std::optional<RunDeviation>& furthest);
/// All of the above in words.
std::string spell_run_readings(const RunModel&);

}  // namespace trainyard
