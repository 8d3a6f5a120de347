// Finds how the batch decides what bounds a product on this machine, measured, or a plan on its
// cluster, by formula and simulated; for `probe --batch`.
#pragma once

#include <stop_token>

#include "app/workspace/runs/kernel_probe.h"
#include "app/workspace/runs/sharpness/sharpness_study.h"
#include "core/cost/cost_model.h"
#include "core/estimate/batch_study.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Measures the op at the batches that the question varies, or at doubles from 1 on where it varies
/// nothing, beside the roofline of a core of this machine. Throws Error{InvalidInput} for an op
/// without products, and as kernel_probe() does.
BatchStudy batch_probe(ProbeQuestion);
/// Products of the plan's layers at microbatches of one token and more, by the roofline of the
/// cluster's device, and the critical batch of the plan. `cost` null: cost_model(). Throws
/// Error{InvalidInput} for a scenario that cannot run, for an asynchronous plan, which has no step,
/// and for a plan whose critical batch is too large to simulate; Error{Cancelled} when stopped.
BatchStudy batch_probe(const Scenario&, const CostModel* cost, const std::stop_token& stop = {});
/// Measures the sharpness of the scenario's loss, at the batch of its plan and on one core of this
/// machine, for the study of its batch; the question's own scenario is replaced. Throws
/// Error{InvalidInput} for an optimizer whose rate curvature does not bound, and as
/// sharpness_study() does.
StableBatch stable_batch(const Scenario&, SharpnessQuestion);

}  // namespace trainyard
