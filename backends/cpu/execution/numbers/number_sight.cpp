#include "backends/cpu/execution/numbers/number_sight.h"

namespace trainyard {

void NumberSight::see(NumberClass of, std::span<const float> values, double scale) {
  const ExponentHistogram found = histogram_of(values, scale);
  const std::scoped_lock hold(lock_);
  seen_.histograms[static_cast<std::size_t>(of)] += found;
}

void NumberSight::see_update(const CancelledCount& found) {
  const std::scoped_lock hold(lock_);
  seen_.updates += found;
}

}  // namespace trainyard
