// "Did you mean": the name in a list that is fewest edits away from what was typed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The closest name by optimal string alignment distance (insert, delete, replace, swap of
/// neighbours), ignoring case; empty when nothing is within half of the typed length plus one. Ties
/// go to the earlier name.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> names);
std::string_view nearest(std::string_view typed, const std::vector<std::string>& names);

/// "; did you mean \"tick-tock\"?", or "" when nothing is near.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names);
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace trainyard
