#include "planners/placement/placement_policies.h"

namespace trainyard {
namespace {

// The first of the least by `bytes * sign`, of options without a partner if `alone`.
std::optional<std::size_t> least_of(const std::vector<PlacementOption>& options, std::int64_t sign,
                                    bool alone) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < options.size(); ++i)
    if ((!alone || options[i].partner < 0) &&
        (!best || sign * options[i].bytes < sign * options[*best].bytes))
      best = i;
  return best;
}

}  // namespace

std::optional<std::size_t> first_fit(const ClusterState& /*state*/, int /*job*/,
                                     const std::vector<PlacementOption>& options) {
  return least_of(options, 0, true);
}

std::optional<std::size_t> best_fit(const ClusterState& /*state*/, int /*job*/,
                                    const std::vector<PlacementOption>& options) {
  return least_of(options, -1, true);
}

std::optional<std::size_t> least_loaded(const ClusterState& /*state*/, int /*job*/,
                                        const std::vector<PlacementOption>& options) {
  return least_of(options, 1, true);
}

std::optional<std::size_t> complementary_waves(const ClusterState& /*state*/, int /*job*/,
                                               const std::vector<PlacementOption>& options) {
  return least_of(options, 1, false);
}

}  // namespace trainyard
