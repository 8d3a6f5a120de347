// Writes the output of "trainyard knobs", as text and as a document.
#pragma once

#include <string>

#include "core/io/json/fields.h"
#include "planners/sensitivity/sensitivity.h"

namespace trainyard {

/// Such as "3.12 GiB spare" or "1.40 GiB over". How certain that is follows from the verdict, which
/// knows the band of the peak.
std::string spare_words(Bytes margin);
/// Such as "llama-3-70b on h100-sxm:64: 11.0 s a step, 60.9 GiB reserved of 79.6 GiB, ...".
std::string plan_words(const Scenario&, const PlanFigures&);
/// All strips, largest gain first; `alone`: a single strip with every value, its partners and
/// reasons.
std::string strips_text(const Sensitivity&, bool alone);
const Fields<KnobValue>& knob_value_fields();
/// The document trainyard/knobs@1.
Json knobs_schema();
std::string strips_document(const Sensitivity&);

}  // namespace trainyard
