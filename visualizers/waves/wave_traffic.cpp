#include "visualizers/waves/wave_traffic.h"

#include <algorithm>

namespace trainyard {

Bytes sent_within(const TimelineModel& model, DeviceId device, TimeRange range) {
  const Program& program = model.experiment->program;
  double sum = 0;
  for (const std::uint32_t row : model.ranks[device.value].comm) {
    const SpanWindow seen = window(model.spans, row, range.from, range.to);
    for (std::uint32_t i = seen.first; i < seen.last; ++i) {
      const Task& task = program.task(instruction_at(model, row, i));
      if (task.kind == TaskKind::Receive || task.kind == TaskKind::HostUpdate) continue;
      const RowSpan span = span_at(model.spans, row, i);
      const Duration length = span.end - span.start;
      const Duration inside = std::min(span.end, range.to) - std::max(span.start, range.from);
      const double part = length > Duration{} ? static_cast<double>(inside.count()) /
                                                    static_cast<double>(length.count())
                                              : 1;
      sum += part * static_cast<double>(task.bytes.value) * task.repeats;
    }
  }
  return Bytes{static_cast<std::int64_t>(sum)};
}

}  // namespace trainyard
