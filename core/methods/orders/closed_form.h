// This file estimates pipelines without a program: by a formula where there is one and stages are
// equal, else by following the order for a few rounds and continuing at the rate at which it has
// settled. Formulas and follow_one_f_one_b() stand beside the recurrence because a planner prices
// 10^5 to 10^6 plans in a second; tests/methods/orders/closed_form_test.cpp and
// tests/methods/schedules/1f1b_test.cpp hold both equal to the nanosecond.
#pragma once

#include "core/methods/method.h"

namespace trainyard {

/// All forwards, then all backwards: m (F + B) and the fill, which are two flow shops of identical
/// jobs.
PipelineEstimate gpipe_closed_form(const ScheduleShape&, const PipelineTimes&);

/// For equal stages the span is (m + p - 1)(F + B), with min(m, p - s) microbatches alive on stage
/// s.
PipelineEstimate one_f_one_b_closed_form(const ScheduleShape&, const PipelineTimes&);

/// Gives the same as follow() for 1F1B's order, except for what stages hold, in one pass over its
/// actions.
PipelineEstimate follow_one_f_one_b(int microbatches, const PipelineTimes&);

/// For equal stages the span is m (F + B) + (p - 1)(F + B) / v, with F and B of a whole device
/// (Narayanan et al., SC 2021).
PipelineEstimate interleaved_closed_form(const ScheduleShape&, const PipelineTimes&);

/// Estimates any schedule: by its closed form, else by following its order for a few rounds and
/// continuing at the rate at which they settle.
PipelineEstimate estimate_pipeline(const Method&, const Params&, const ScheduleShape&,
                                   const PipelineTimes&);
/// The least number of microbatches whose stages hold the same as those of `microbatches`: without
/// the rounds that estimate_pipeline() leaves out because they repeat.
int settled_microbatches(const Method&, int devices, int microbatches);

}  // namespace trainyard
