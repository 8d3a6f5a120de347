// A profile of made up work, with exact times.
#pragma once

#include "core/timeline/span_profile.h"

namespace trainyard::testing {

/// An update of 10 ms, whose forward pass has an op with a kernel of 2 ms. Each record adds 100 us
/// to the profile.
inline ProfileStudy made_profile() {
  using namespace std::chrono_literals;
  ProfileStudy study;
  study.work = "made up work";
  SpanProfile& spans = study.spans;
  spans.options.rounds = 3;
  spans.bare = 10ms;
  spans.counts = {2, 1, 1, 1};
  for (auto& each : spans.overheads.each) each = Picoseconds(100us);
  NestedSpans& recorded = spans.recorded;
  recorded.levels = SpanLevels::all();
  recorded.names = {"update", "forward", "task", "product", "matmul"};
  recorded.whole = {0ms, 10500us};
  recorded.threads = {{{0us, 0, SpanLevel::Annotation, true},
                       {1050us, 1, SpanLevel::Annotation, true},
                       {2100us, 2, SpanLevel::Task, true},
                       {3150us, 3, SpanLevel::Op, true},
                       {4200us, 4, SpanLevel::Kernel, true},
                       {6250us, 4, SpanLevel::Kernel, false},
                       {7300us, 3, SpanLevel::Op, false},
                       {8350us, 2, SpanLevel::Task, false},
                       {9400us, 1, SpanLevel::Annotation, false},
                       {10450us, 0, SpanLevel::Annotation, false}}};
  spans.corrected = corrected(recorded, spans.overheads);
  study.use = device_use(spans.corrected, 1500us);
  return study;
}

}  // namespace trainyard::testing
