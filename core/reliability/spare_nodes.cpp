#include "core/reliability/spare_nodes.h"

namespace trainyard {

double waiting_share(std::int64_t spares, double replaced_per_second, double repair) {
  const double load = replaced_per_second * repair;
  if (!(load > 0)) return 0;
  // 1/B(n) = 1 + n / (load B(n - 1)). Below 1e-300 it is 0, for any load alike.
  constexpr double kMost = 1e300;
  double inverse = 1;
  for (std::int64_t n = 1; n <= spares + 1 && inverse < kMost; ++n)
    inverse = 1 + static_cast<double>(n) / load * inverse;
  return inverse < kMost ? 1 / inverse : 0;
}

std::int64_t spares_for(double share, double replaced_per_second, double repair) {
  const double load = replaced_per_second * repair;
  if (!(load > 0)) return 0;
  double inverse = 1 + 1 / load;
  std::int64_t spares = 0;
  while (1 / inverse > share) {
    ++spares;
    inverse = 1 + static_cast<double>(spares + 1) / load * inverse;
  }
  return spares;
}

}  // namespace trainyard
