// A sensitivity strip per knob: what the step, the memory and the fit become when one knob of a
// plan is turned and everything else stays, or why it cannot be turned. Figures are those of the
// closed form, the same as estimate() has of the changed scenario.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planners/plans/plan_figures.h"
#include "planners/sensitivity/knob_values.h"

namespace trainyard {

/// One value of a knob, and the plan that has it.
struct KnobValue {
  std::string value;  // "8"
  std::string words;  // "tp=8 pp=2": all that is set, as --set takes it; "" = nothing but devices
  std::string partners;      // of them, what had to change beside: "pp=2"
  std::int64_t devices = 0;  // of its cluster
  bool legal = false;
  std::string why_not, field, fix;  // of what is not legal: the first thing wrong, where, what
                                    // helps
  PlanFigures figures;              // of what is
  double change = 0;  // time of a token (a sample) against the plan's, less one; negative = faster
  std::string maths;  // why its training is not the plan's step by step; "" = it is the same
  bool alternative = false;  // another value of this strip is the same with better partners
};

struct KnobStrip {
  std::string key, doc;
  std::string now;                // "" = the plan does not say
  std::vector<KnobValue> values;  // numbers rising, words as their setting has them; without `now`
  /// The value that fits and is fastest; null where none fits.
  const KnobValue* best() const;
};

struct Sensitivity {
  Scenario scenario;  // the plan complete
  PlanFigures now;
  std::vector<KnobStrip> strips;  // as knob_keys()
  std::int64_t priced = 0;        // plans
};

struct StripOptions {
  std::vector<std::string> keys = {};  // empty = all; each of knob_keys()
  int reach = 1;                       // legal values of a number in each direction
};

/// What follows keeps the global batch and the sequence unless they are the knob. A degree needs a
/// partner, so that the product stays that of the devices: data parallelism where it can follow,
/// else each other degree that can; a change that is refused takes up to three fixes of its
/// diagnostics as partners. Parallel; the same whatever the threads. Throws Error{InvalidInput}
/// where the plan itself is not legal, or a key is no knob (nearest).
Sensitivity sensitivity(const Scenario&, const CostOf&, const StripOptions& = {});

/// The scenario that a value's figures are of.
Scenario changed(const Scenario&, const KnobValue&);

/// Why a training by `other` is not that by `plan` step by step; both complete. "" = it is.
std::string maths_between(const Plan& plan, const Plan& other);

/// The strips in the order of what their best value gains, most first; those where nothing fits
/// last.
std::vector<const KnobStrip*> by_gain(const Sensitivity&);

}  // namespace trainyard
