// Which spans of a timeline a query finds, and the next one of them.
#pragma once

#include <optional>
#include <vector>

#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/span_query.h"

namespace trainyard {

struct SpanHits {
  std::vector<InstructionId> spans;  // by start, then by id
};

/// Linear in the spans; a name is looked at once.
SpanHits find_spans(const TimelineModel&, const SpanQuery&);

/// The place among the hits of the first after (by > 0) or the last before (by < 0) a span, or an
/// instant where no span is selected; round again at the ends. Nothing where there is no hit.
std::optional<std::size_t> next_hit(const TimelineModel&, const SpanHits&, InstructionId selected,
                                    Instant at, int by);

}  // namespace trainyard
