// A whole training costs the sum over its phases, of which a plan with a batch ramp has
// several. Text, documents and pictures all ask here.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/banded.h"
#include "core/plan/batch_ramp.h"
#include "core/result/result.h"

namespace trainyard {

/// The price of a phase, from the result of the plan with its batch (with_batch()).
PricedPhase priced_phase(const BatchPhase&, const Result&);

/// Returns the phases of a training by the result's plan: those of its ramp, or the only one.
std::vector<PricedPhase> phases_of(const Result&);

/// The steps, the work and their price. Everything is 0 where a step has no work.
struct TrainingCost {
  double steps = 0, work = 0;  // work: tokens, or samples of a model without tokens
  Banded<double> seconds;
  std::optional<Banded<Joules>> energy;  // on all devices
  std::optional<Banded<double>> money;   // US dollars
};
/// So many steps of one phase, with what they stop for to be evaluated.
TrainingCost cost_of_steps(const PricedPhase&, double steps);
/// A training from its first sample on, until so much work is done: the phases one after the other,
/// the one that it ends in as a share. Every phase but the last ends after its steps.
TrainingCost training_cost(std::span<const PricedPhase>, double work);
/// The part of it before the last phase; no steps where there is one phase only.
TrainingCost ramp_cost(std::span<const PricedPhase>);

/// Returns one sentence about a ramp: how many phases, until when, and how much longer the same
/// samples take than in full batches; "" where the result has no ramp.
std::string ramp_sentence(const Result&);

}  // namespace trainyard
