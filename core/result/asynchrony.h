// Asynchrony describes what an asynchronous schedule's step time hides: with stale gradients,
// training takes more tokens to the same loss. Delays and versions are read off the program. Their
// cost is a guess with a wide band and is shown wherever the step time is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/banded.h"
#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/program/facts.h"

namespace trainyard {

struct Asynchrony {
  std::vector<StageFacts> stages;
  double mean_delay = 0;          // in updates, mean over forwards and stages
  int versions = 1;               // most versions on any stage
  bool consistent = true;         // whether every backward reads what its forward read
  Banded<double> token_overhead;  // tokens to the same loss relative to training without delay; at
                                  // least 1
  Provenance provenance = Provenance::Guessed;
  std::string sentence;  // "gradients up to 5 updates old (mean 2.5); about 1.33 times the
                         // tokens to the same loss (1.00 to 2.09)"
};

/// Returns nothing where nothing is stale and every stage has one version of its weights.
std::optional<Asynchrony> asynchrony(const Program&, const Plan&);

/// Returns the tokens to the same loss for a mean delay in updates, relative to training without
/// delay. The basis is one published run: six stages whose gradients are 0 to 5 updates old took
/// 1.33 times the tokens, 1.23 times where weights are predicted ahead; a uniform delay overstated
/// the loss 3.3 times (marin-community/marin#6431, 2026). The value is linear in the mean delay
/// from no delay through that run; `low` is no overhead, as the papers report at rates that suit
/// the delay, and `high` is 3.3 times the extra.
Banded<double> token_overhead(double mean_delay, bool weights_predicted);

/// Returns the time of asynchronous training that makes the same progress as one synchronous step.
Duration effective_step(Duration step, const Asynchrony&);
/// Returns the days to train on 10^12 tokens' worth of synchronous progress; 0 where the rate is 0.
double days_per_trillion_tokens(double tokens_per_second, const Asynchrony&);

}  // namespace trainyard
