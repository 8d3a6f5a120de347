// Step and memory of a plan as fields of a document.
#pragma once

#include "core/io/json/fields.h"
#include "planners/plans/plan_figures.h"

namespace trainyard {

/// Adds the figures of a part, which `of` returns or is a member that holds them, as the last
/// fields of what has it.
template <class T, class Of>
void add_figures(Fields<T>& fields, Of of) {
  fields.add(
      Fields<T>{{"step_seconds", in(of, &PlanFigures::step)},
                {"reserved_bytes", in(of, &PlanFigures::reserved)},
                {"margin_bytes", in(of, &PlanFigures::margin), signed_whole(), "negative = over"},
                {"fits", in(of, &PlanFigures::fits)}});
}

}  // namespace trainyard
