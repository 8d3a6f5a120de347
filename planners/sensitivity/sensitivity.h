// Computes a sensitivity strip per knob: what the step, the memory and the fit become if one knob
// of a plan is turned and everything else stays, or why it cannot be turned. The figures are those
// of the closed form, equal to estimate() of the changed scenario.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planners/plans/plan_figures.h"
#include "planners/sensitivity/knob_values.h"

namespace trainyard {

/// One value of a knob, and the plan with that value.
struct KnobValue {
  std::string value;  // "8"
  std::string words;  // "tp=8 pp=2": every setting, as --set takes it; "" = only the devices change
  std::string partners;      // those of them that had to change with the knob: "pp=2"
  std::int64_t devices = 0;  // of its cluster
  bool legal = false;
  // If it is not legal: the first error, the field at fault, and what helps.
  std::string why_not, field, fix;
  PlanFigures figures;  // if it is legal
  // The relative change of the time per token (or sample) against the plan; negative = faster.
  double change = 0;
  // Why its training is not step by step the same as the plan's; "" = it is the same.
  std::string maths;
  bool alternative = false;  // another entry of this strip has the same value with better partners
};

struct KnobStrip {
  std::string key, doc;
  std::string now;  // "" = the plan does not state it
  // Numbers ascending, words in the order of their setting; `now` is left out.
  std::vector<KnobValue> values;
  /// The fastest value that fits; null if none fits.
  const KnobValue* best() const;
};

struct Sensitivity {
  Scenario scenario;  // with its plan complete
  PlanFigures now;
  std::vector<KnobStrip> strips;  // in the order of knob_keys()
  std::int64_t priced = 0;        // number of plans priced
};

struct StripOptions {
  std::vector<std::string> keys = {};  // empty = all; each must be one of knob_keys()
  int reach = 1;  // number of legal values to find in each direction of a number
};

/// Computes the strips of a scenario. The global batch and the sequence stay unless they are the
/// knob. A degree needs a partner so that the product still equals the number of devices: data
/// parallelism if it can follow, otherwise each other degree that can. A change that is refused
/// takes up to three fixes of its diagnostics as partners. Runs in parallel; the result does not
/// depend on the number of threads. Throws Error{InvalidInput} if the plan itself is not legal, or
/// if a key is no knob (naming the nearest).
Sensitivity sensitivity(const Scenario&, const CostOf&, const StripOptions& = {});

/// The scenario to which a value's figures belong.
Scenario changed(const Scenario&, const KnobValue&);

/// Why training the model with `other` is not step by step the same as with `plan`; both must be
/// complete. "" = it is the same.
std::string maths_between(const Model&, const Plan& plan, const Plan& other);

/// The strips ordered by the gain of their best value, largest first; strips without a value that
/// fits come last.
std::vector<const KnobStrip*> by_gain(const Sensitivity&);

}  // namespace trainyard
