#include "core/validation/recorded/recorded_spans.h"

#include <algorithm>

namespace trainyard {

bool computes(RecordedKind kind) {
  return kind != RecordedKind::Communication && kind != RecordedKind::Transfer &&
         kind != RecordedKind::Host;
}

RecordedSpans joined_spans(RecordedSpans spans) {
  std::sort(spans.begin(), spans.end());
  RecordedSpans whole;
  for (const auto& [from, to] : spans)
    if (whole.empty() || from > whole.back().second)
      whole.emplace_back(from, to);
    else
      whole.back().second = std::max(whole.back().second, to);
  return whole;
}

std::int64_t bare(const RecordedSpans& spans, std::int64_t from, std::int64_t to) {
  std::int64_t left = to - from;
  auto at = std::upper_bound(spans.begin(), spans.end(), std::pair(from, from),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
  if (at != spans.begin()) --at;
  for (; at != spans.end() && at->first < to; ++at)
    left -= std::max<std::int64_t>(0, std::min(to, at->second) - std::max(from, at->first));
  return left;
}

}  // namespace trainyard
