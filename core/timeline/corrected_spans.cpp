#include "core/timeline/corrected_spans.h"

#include <algorithm>
#include <cassert>

#include "core/base/error.h"

namespace trainyard {
namespace {

Duration whole_nanoseconds(Picoseconds time) { return std::chrono::round<Duration>(time); }

void expect_overheads(const NestedSpans& spans, const SpanOverheads& overheads) {
  const auto counts = span_counts(spans);
  SpanLevels lacking;
  for (const SpanLevel level : kEverySpanLevel) {
    const auto l = static_cast<std::size_t>(level);
    if (counts[l] > 0 && !overheads.each[l]) lacking = lacking.with(level);
  }
  if (!lacking.empty())
    refuse("expected the overhead of each level that was recorded (" + to_string(spans.levels) +
           "), found none of " + to_string(lacking) +
           ": a profile with records of unknown cost cannot be corrected; measure it, or leave "
           "that level out");
}

}  // namespace

Picoseconds span_overhead(const std::vector<PairedTimes>& pairs, std::int64_t spans) {
  assert(!pairs.empty() && spans > 0);
  std::vector<Picoseconds> each;
  for (const PairedTimes& pair : pairs) each.push_back(Picoseconds(pair.with - pair.without));
  const auto middle = each.begin() + static_cast<std::ptrdiff_t>((each.size() - 1) / 2);
  std::nth_element(each.begin(), middle, each.end());
  return std::max(Picoseconds{}, *middle / spans);
}

NestedSpans corrected(const NestedSpans& spans, const SpanOverheads& overheads) {
  expect_overheads(spans, overheads);
  NestedSpans made = spans;
  Instant last{};
  for (std::size_t thread = 0; thread < made.threads.size(); ++thread) {
    Picoseconds taken{};
    Instant now = made.whole.start;
    const auto move = [&](Instant& at) {
      now = std::max(now, at - whole_nanoseconds(taken));
      at = now;
    };
    for (SpanEvent& event : made.threads[thread]) {
      move(event.at);
      const Picoseconds each = *overheads.each[static_cast<std::size_t>(event.level)] +
                               overheads.passing,
                        half = each / 2;
      taken += event.begins ? half : each - half;
    }
    if (thread == 0) move(made.whole.end);
    last = std::max(last, now);
  }
  if (!made.threads.empty()) made.whole.end = last;
  return made;
}

}  // namespace trainyard
