// Assignments of settings in one line of words, as --set takes them and fixes are written.
#pragma once

#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

/// Applies one assignment, or several with spaces between, as fixes are written; an order comes
/// last. Throws as apply_setting does.
void apply_words(Plan&, std::string_view words);

}  // namespace trainyard
