#include "core/quality/area_under_curve.h"

#include <algorithm>
#include <vector>

namespace trainyard {

double area_under_curve(std::span<const float> scores, std::span<const std::int32_t> labels) {
  struct Scored {
    float score;
    std::int32_t label;
  };
  std::vector<Scored> sorted;
  for (std::size_t i = 0; i < scores.size(); ++i) sorted.push_back({scores[i], labels[i]});
  std::sort(sorted.begin(), sorted.end(),
            [](const Scored& a, const Scored& b) { return a.score < b.score; });
  double pairs = 0, below = 0, ones = 0;  // zeros with a lower score than those looked at
  for (std::size_t first = 0; first < sorted.size();) {
    double equal_ones = 0, equal_zeros = 0;
    std::size_t next = first;
    for (; next < sorted.size() && sorted[next].score == sorted[first].score; ++next)
      (sorted[next].label == 1 ? equal_ones : equal_zeros) += 1;
    pairs += equal_ones * (below + equal_zeros / 2);
    below += equal_zeros, ones += equal_ones;
    first = next;
  }
  return ones > 0 && below > 0 ? pairs / (ones * below) : 0.5;
}

}  // namespace trainyard
