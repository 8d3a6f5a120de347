// Applies assignments of settings in one line of words, in the form that --set takes and fixes
// have.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/scenario/request.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Splits "tp=8 pp=4" into words; an order has many words and extends to the end.
std::vector<std::string_view> each_word(std::string_view words);

/// Throws Error{InvalidInput} that names two assignments of one key, in any of its spellings:
/// whichever held, the other would be lost in silence.
void refuse_repeated_keys(std::span<const std::string> assignments, const Place&);

/// Applies one assignment, or several separated by spaces; an order must come last. Throws as
/// apply_setting() does,
/// at the place where they were typed.
void apply_words(Plan&, std::string_view words, const Place& = {"--set"});

/// The word as a shell reads it: in single quotes where a shell would take it apart or read it as a
/// pattern.
std::string shell_word(const std::string&);
/// The flags of a scenario as a shell reads them: " --model gpt2 --cluster h100-sxm:8 --set tp=2".
std::string scenario_flags(const Request&);

}  // namespace trainyard
