#include "visualizers/time/span_search.h"

#include <algorithm>
#include <string>
#include <utility>

namespace trainyard {
namespace {

// By name, so that each is folded once.
std::vector<std::string> folded_names(const Program& program) {
  std::vector<std::string> names;
  for (std::uint32_t n = 0; n < program.names.size(); ++n)
    names.push_back(folded_name(program.names[NameId{n}]));
  return names;
}

}  // namespace

SpanHits find_spans(const TimelineModel& model, const SpanQuery& query) {
  const Program& program = model.experiment->program;
  const std::vector<Span>& spans = model.experiment->timeline.spans;
  const std::vector<std::string> names = folded_names(program);
  std::vector<std::uint8_t> categories;
  for (const Task& task : program.tasks)
    categories.push_back(static_cast<std::uint8_t>(ink_of(task)));
  SpanHits hits;
  for (const Stream& stream : program.streams)
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Instruction& in = program.instructions[i];
      const Task& task = program.task(in);
      const SpanFacts facts{names[task.name.value], categories[in.task.value],
                            static_cast<std::int64_t>(stream.device.value), in.microbatch,
                            spans[i].length()};
      if (matches_folded(query, facts)) hits.spans.push_back({i});
    }
  std::sort(hits.spans.begin(), hits.spans.end(), [&](InstructionId a, InstructionId b) {
    const Instant x = spans[a.value].start, y = spans[b.value].start;
    return x != y ? x < y : a < b;
  });
  return hits;
}

std::optional<std::size_t> next_hit(const TimelineModel& model, const SpanHits& hits,
                                    InstructionId selected, Instant at, int by) {
  const std::size_t count = hits.spans.size();
  if (count == 0) return {};
  const std::vector<Span>& spans = model.experiment->timeline.spans;
  const bool on_span = selected.valid();
  const Instant start = on_span ? spans[selected.value].start : at;
  // Hits before this place come before what is selected; the one at it may be that itself.
  const auto after = std::lower_bound(hits.spans.begin(), hits.spans.end(), start,
                                      [&](InstructionId id, Instant when) {
                                        const Instant own = spans[id.value].start;
                                        return own != when ? own < when : on_span && id < selected;
                                      });
  const auto place = static_cast<std::size_t>(after - hits.spans.begin());
  const bool here = on_span && place < count && hits.spans[place] == selected;
  if (by > 0) return (place + (here ? 1 : 0)) % count;
  return (place + count - 1) % count;
}

}  // namespace trainyard
