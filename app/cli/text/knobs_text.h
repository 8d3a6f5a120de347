// What "trainyard knobs" says, as text and as a document.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "planners/sensitivity/sensitivity.h"

namespace trainyard {

/// "3.12 GiB spare", "1.40 GiB over". Whether that is sure is the verdict's to say, which knows the
/// peak's band.
std::string spare_words(Bytes margin);
/// "llama-3-70b on h100-sxm:64: 11.0 s a step, 60.9 GiB reserved of 79.6 GiB, ...".
std::string plan_words(const Scenario&, const PlanFigures&);
/// All strips, what gains most first; `alone`: one strip with every value, its partners and
/// reasons.
std::string strips_text(const Sensitivity&, bool alone);
Json value_json(const KnobValue&);
/// trainyard/knobs@1.
std::string strips_document(const Sensitivity&);

}  // namespace trainyard
