// Random nested spans of threads, as recorded ones may be.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "core/timeline/nested_spans.h"

namespace trainyard::testing {

/// Draws spans of up to three threads with steps of [0, most_step] ns between events. A span is of
/// the level of the span around it or further in, and every level may be recorded.
inline NestedSpans random_spans(int most_step) {
  NestedSpans spans;
  spans.levels = SpanLevels::all();
  spans.names = {"a", "b", "c"};
  const int threads = *rc::gen::inRange(1, 4);
  for (int t = 0; t < threads; ++t) {
    std::vector<SpanEvent> events, open;
    Instant now{};
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, most_step + 1));
    for (const int step : steps) {
      now += Duration{step};
      if (!open.empty() && *rc::gen::inRange(0, 2) == 0) {
        open.back().at = now;
        events.push_back(open.back());
        open.pop_back();
        continue;
      }
      const int outer = open.empty() ? 0 : static_cast<int>(open.back().level);
      const auto level = static_cast<SpanLevel>(*rc::gen::inRange(outer, int{kSpanLevels}));
      const auto name = static_cast<std::uint32_t>(*rc::gen::inRange(0, 3));
      events.push_back({now, name, level, true});
      open.push_back({now, name, level, false});
    }
    for (; !open.empty(); open.pop_back()) {
      now += Duration{*rc::gen::inRange(0, most_step + 1)};
      open.back().at = now;
      events.push_back(open.back());
    }
    spans.whole.end = std::max(spans.whole.end, now);
    spans.threads.push_back(std::move(events));
  }
  spans.whole.end += Duration{*rc::gen::inRange(0, most_step + 1)};
  return spans;
}

}  // namespace trainyard::testing
