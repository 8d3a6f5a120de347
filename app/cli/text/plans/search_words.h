// The words of a search that plan and sweep share, and how a running search is shown.
#pragma once

#include <string>
#include <vector>

#include "app/cli/verb.h"
#include "planners/plans/plan_search.h"

namespace trainyard {

/// The plans that a search lists without --top.
inline constexpr std::int64_t kListed = 10;

/// --objective, --spare, --simulate and --threads.
std::vector<Flag> search_flags();
/// Throws Error{InvalidInput} for values that these flags do not take.
SearchOptions search_options(const Words&);

/// One line about a running search.
std::string progress_text(const SearchProgress&);

}  // namespace trainyard
