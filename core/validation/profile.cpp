#include "core/validation/profile.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

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
