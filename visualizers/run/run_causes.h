// What of a run a residual comes from, in words: where most of the difference between what was
// measured and what was predicted lies.
#pragma once

#include <optional>
#include <string>

#include "core/timeline/compare.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

/// "mostly q_proj, +34.0 %", "one slow span: stage 3 B4 q_proj", "mostly while the pipeline fills";
/// empty where nothing differs.
std::string cause_words(const CauseResidual&, const Program&);
/// The figures behind it: "q_proj 5.12 ms, predicted 3.82 ms"; empty where there are none.
std::string cause_figures(const CauseResidual&, const Program&);
/// Of one category of memory, whose residual is of the two peaks. Empty where the peaks have the
/// same of it.
std::string memory_cause(const WaveResidual&, Category, Bytes predicted_at_peak,
                         Bytes measured_at_peak);

/// What a device did in one go, forward or backward of one microbatch, and how far it was from
/// what was predicted.
struct RunDeviation {
  InstructionId first, last;  // of one stream
  DeviceId device;
  std::string name;  // "Stage 2, B3"
  Span measured{};
  Duration predicted{};
  Duration difference() const { return measured.length() - predicted; }
  double share() const;  // of what was predicted; 0 where that is 0
};
/// The one that took longest beyond its prediction, or shortest below it: the first of those that
/// are furthest from it. Only of what was measured whole; nothing where none differs.
std::optional<RunDeviation> largest_deviation(const RunModel&);
/// "Stage 2, B3: 71.5 ms, predicted 62.1 ms, +15.1 %".
std::string deviation_words(const RunDeviation&);

}  // namespace trainyard
