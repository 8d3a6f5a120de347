#include "core/validation/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainyard {

std::string not_measured_words(const ParameterProfile& profile, const std::string& device) {
  const std::vector<std::string>& own = profile.devices;
  if (own.empty() || std::find(own.begin(), own.end(), device) != own.end()) return {};
  return fmt::format(
      "{} of {}, and not of {}, {}", profile.steps ? "its one factor is" : "its rows are",
      fmt::join(own, " and "), device,
      profile.steps ? "which is priced without it"
                    : "which has only some of the fitted parameters in common with them");
}

ParameterProfile profile_for(ParameterProfile profile, const std::string& device) {
  if (!not_measured_words(profile, device).empty()) profile.steps.reset();
  return profile;
}

std::vector<const ParameterInfo*> moved_parameters(const ParameterProfile& profile) {
  std::vector<const ParameterInfo*> moved;
  for (const ParameterInfo& row : parameter_table())
    if (profile.parameters[row.parameter] != profile.shipped[row.parameter]) moved.push_back(&row);
  const auto by = [&](const ParameterInfo* row) {
    return std::abs(profile.parameters[row->parameter] / profile.shipped[row->parameter] - 1);
  };
  std::stable_sort(moved.begin(), moved.end(),
                   [&](const ParameterInfo* a, const ParameterInfo* b) { return by(a) > by(b); });
  return moved;
}

}  // namespace trainyard
