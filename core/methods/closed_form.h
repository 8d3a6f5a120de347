// Closed forms of flush pipelines: span and live microbatches from stage times alone, as each
// schedule's file gives them to planners. They count the stages' own times, transfers and the flow
// of identical jobs; they do not lay out an order.
#pragma once

#include "core/methods/method.h"

namespace trainyard {

/// All forwards, then all backwards: two flow shops of identical jobs, each sum + (m - 1) x
/// longest. Exact.
PipelineEstimate gpipe_closed_form(const ScheduleShape&, const PipelineTimes&);

/// (m + p - 1)(F + B) for equal stages; otherwise the longest of what each stage must wait for, do
/// and leave to drain, at the pace of the slowest round of neighbouring stages.
PipelineEstimate one_f_one_b_closed_form(const ScheduleShape&, const PipelineTimes&);

/// m (F + B) + (p - 1)(F + B) / v for equal stages, F and B of a whole device (Narayanan et al., SC
/// 2021).
PipelineEstimate interleaved_closed_form(const ScheduleShape&, const PipelineTimes&);

}  // namespace trainyard
