// Flush pipelines without a program: a formula where stages are equal, else the recurrence of their
// order over a few rounds, continued at the pace it has settled into.
#pragma once

#include "core/methods/method.h"

namespace trainyard {

/// All forwards, then all backwards. m (F + B) and the fill: two flow shops of identical jobs.
PipelineEstimate gpipe_closed_form(const ScheduleShape&, const PipelineTimes&);

/// (m + p - 1)(F + B) for equal stages; min(m, p - s) microbatches alive.
PipelineEstimate one_f_one_b_closed_form(const ScheduleShape&, const PipelineTimes&);

/// m (F + B) + (p - 1)(F + B) / v for equal stages, F and B of a whole device (Narayanan et al., SC
/// 2021).
PipelineEstimate interleaved_closed_form(const ScheduleShape&, const PipelineTimes&);

/// The recurrence itself: each action starts when its lane, its input and its weights are there.
/// Linear in the actions of the order. live is left empty.
PipelineEstimate follow(const Order&, const ScheduleShape&, const PipelineTimes&);

}  // namespace trainyard
