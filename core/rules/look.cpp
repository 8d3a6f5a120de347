#include "core/rules/look.h"

#include <numeric>

namespace trainyard {

std::int64_t Answers::total() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace trainyard
