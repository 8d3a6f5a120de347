// Fixes are single changes of a plan that does not fit, each priced by simulating it; a gain is the
// change that makes a plan that fits faster.
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Applies one assignment, or several with spaces between, as fixes are written; an order comes
/// last. Throws as apply_setting does.
void apply_words(Plan&, std::string_view words);

struct OnceOptions {
  Grain grain = Grain::Order;
  const CostModel* cost = nullptr;  // must outlive the call; null = cost_model(scenario)
  int steps = 0;  // exactly so many; 0: one, or as many as an asynchronous plan takes to settle
  std::stop_token stop = {};
};
/// prepare, lower, price, run, judge; no fixes. Throws as simulate does.
std::shared_ptr<Experiment> run_once(const Scenario&, const OnceOptions&);

/// Fills verdict.fixes or verdict.gain of the experiment, which run_once made of the scenario.
/// Global batch and sequence stay what they are, so that steps compare. The closed form decides
/// which changes are worth simulating; simulation is at order grain and decides what is shown.
/// Null = cost_model(scenario), of each change its own.
void price_changes(const Scenario&, Experiment&, const CostModel*, std::stop_token);

}  // namespace trainyard
