// This file finds the name for a "did you mean": the one in a list that is fewest edits away from
// what was typed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Returns the closest name by optimal string alignment distance (insert, delete, replace, swap of
/// neighbours), ignoring case, or an empty text when no name is within half of the typed length
/// plus one. Of two equally close names the earlier one is returned.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> names);
std::string_view nearest(std::string_view typed, const std::vector<std::string>& names);

/// Returns "; did you mean \"tick-tock\"?", or "" when no name is close enough.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names);
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace trainyard
