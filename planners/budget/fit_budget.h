// Chooses how a plan comes to fit in a budget of memory: which of its levers (precision, formats of
// the optimizer's state, microbatch, recomputation, offload, sharding ...) are pulled, and how far.
// All combinations of all values are searched as any space of plans is (plan_search.h), so that no
// plan within the budget is faster than the chosen one. The levers are those of "Low-memory neural
// network training: a technical report" (Sohoni et al., 2019) and what else the workbench knows to
// free memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "planners/plans/cost_models.h"
#include "planners/plans/plan_figures.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

struct FitQuestion {
  Scenario scenario;              // the plan as it would be without a budget
  Bytes budget{};                 // of each device, > 0 and at most what the device has
  std::vector<Bound> levers;      // values of levers in place of their usual ones, further levers
  std::vector<std::string> kept;  // keys of usual levers that stay as the plan has them
  CostModels::Make cost;          // prices every plan
  std::stop_token stop = {};
};

/// The levers that are pulled unless a question says otherwise: keys of settings. None of them
/// changes the mesh, or the update rule but for AdamW's, which may keep its moments in 8 bits.
const std::vector<std::string_view>& usual_levers();

/// A plan of the study with the figures of the closed form.
struct FitPlan {
  std::string words;  // settings on top of the plan, as --set takes them; "" = the plan itself
  PlanFigures figures;
  std::string changes;  // why its training is not step by step the plan's; "" = it is the same
};

/// A bar of the waterfall: the plan with one more lever pulled.
struct FitStep {
  std::string words;  // what this lever changes; several where none is legal without another
  FitPlan after;      // with all levers up to this one
};

struct FittedPlan {
  Scenario plain;  // as it was given, with its batch stated
  Bytes budget{};
  // Each with its values, the plan's own first. Weights that stay zero count only where nothing
  // else is within the budget, unless the question asks for them.
  std::vector<Knob> levers;
  FitPlan start;              // the plan itself
  std::uint64_t tried = 0;    // combinations of values; those that are not legal count too
  std::uint64_t fitting = 0;  // of them, those that fit in a device's whole memory
  // Plans that fit in a device's whole memory and of which none is both faster and smaller than
  // another; fastest first. Each saves at least 1 % of the memory of the one before it, but for
  // the chosen one and the smallest, which are listed in any case.
  std::vector<FitPlan> front;
  std::optional<FitPlan> chosen;  // the fastest within the budget; empty if none is
  // The fastest within the budget whose training is step by step the plan's; empty if none is.
  std::optional<FitPlan> faithful;
  // From the plan to the chosen one, or to the smallest of the front where none is within the
  // budget; the lever that frees most comes first.
  std::vector<FitStep> steps;
};

/// Throws Error{InvalidInput} for a budget that no device has, for a lever that is no knob, that is
/// kept too or whose values are not its own, and if the plan is not legal; Error{Cancelled} when
/// stopped.
FittedPlan fit_budget(const FitQuestion&);

/// The scenario of a plan of the study.
Scenario fitted(const FittedPlan&, const FitPlan&);

/// Says what to set, or how far the smallest plan is from the budget. `name` puts settings such as
/// "tp=8 pp=4" into words; empty leaves them as they are.
std::string fit_sentence(const FittedPlan&,
                         const std::function<std::string(const std::string&)>& name = {});

}  // namespace trainyard
