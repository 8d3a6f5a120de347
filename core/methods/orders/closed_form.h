// Pipelines without a program: a formula where there is one and stages are equal, else the
// recurrence of their order over a few rounds, continued at the pace it has settled into.
#pragma once

#include "core/methods/method.h"

namespace trainyard {

/// All forwards, then all backwards. m (F + B) and the fill: two flow shops of identical jobs.
PipelineEstimate gpipe_closed_form(const ScheduleShape&, const PipelineTimes&);

/// (m + p - 1)(F + B) for equal stages; min(m, p - s) microbatches alive.
PipelineEstimate one_f_one_b_closed_form(const ScheduleShape&, const PipelineTimes&);

/// As follow() of 1F1B's order, but for what stages hold: one pass over its actions.
PipelineEstimate follow_one_f_one_b(int microbatches, const PipelineTimes&);

/// m (F + B) + (p - 1)(F + B) / v for equal stages, F and B of a whole device (Narayanan et al., SC
/// 2021).
PipelineEstimate interleaved_closed_form(const ScheduleShape&, const PipelineTimes&);

/// Any schedule's estimate: by its closed form, else by following its order, over a few rounds that
/// are continued at the pace they settle into.
PipelineEstimate estimate_pipeline(const Method&, const Params&, const ScheduleShape&,
                                   const PipelineTimes&);

}  // namespace trainyard
