// Applies assignments of settings in one line of words, in the form that --set takes and fixes
// have.
#pragma once

#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

/// Applies one assignment, or several separated by spaces; an order must come last. Throws as
/// apply_setting() does.
void apply_words(Plan&, std::string_view words);

}  // namespace trainyard
