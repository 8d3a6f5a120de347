#include "visualizers/timeline/timeline_walk.h"

#include <algorithm>
#include <cstdlib>

namespace trainyard {
namespace {

struct PlacedSpan {
  Instant start{};
  InstructionId id;
};

bool before(const PlacedSpan& a, const PlacedSpan& b) {
  return a.start != b.start ? a.start < b.start : a.id < b.id;
}

PlacedSpan placed_span(const TimelineModel& model, std::uint32_t row, std::uint32_t index) {
  return {span_at(model.spans, row, index).start, instruction_at(model, row, index)};
}

// The nearest span of that name in one row on one side of `from`; its id is invalid without one.
PlacedSpan nearest_in_row(const TimelineModel& model, std::uint32_t row, std::uint32_t name,
                          const PlacedSpan& from, int by) {
  const SpanRow& spans = model.spans.rows[row];
  const std::int64_t* start = model.spans.start.data() + spans.first;
  const std::uint32_t* names = model.spans.name.data() + spans.first;
  const auto at = static_cast<std::int64_t>(
      std::lower_bound(start, start + spans.count, from.start.count()) - start);
  if (by > 0) {
    for (std::int64_t i = at; i < std::int64_t{spans.count}; ++i)
      if (names[i] == name)
        if (const PlacedSpan c = placed_span(model, row, static_cast<std::uint32_t>(i));
            before(from, c))
          return c;
    return {};
  }
  // What starts at the same instant but earlier in the program counts as before.
  std::int64_t i = at;
  while (i < std::int64_t{spans.count} && start[i] == from.start.count()) ++i;
  while (--i >= 0)
    if (names[i] == name)
      if (const PlacedSpan c = placed_span(model, row, static_cast<std::uint32_t>(i));
          before(c, from))
        return c;
  return {};
}

// The place of a stream's row among its rank's lanes of the same kind.
std::size_t lane_of(const RankLanes& rank, std::uint32_t row, bool compute) {
  const std::vector<std::uint32_t>& lanes = compute ? rank.compute : rank.comm;
  return static_cast<std::size_t>(std::find(lanes.begin(), lanes.end(), row) - lanes.begin());
}

}  // namespace

InstructionId same_name(const TimelineModel& model, InstructionId id, int by) {
  const Program& program = model.experiment->program;
  const PlacedSpan from{model.experiment->timeline.spans[id.value].start, id};
  const std::uint32_t name = program.task(id).name.value;
  PlacedSpan best;
  for (std::uint32_t row = 0; row < program.streams.size(); ++row) {
    const PlacedSpan c = nearest_in_row(model, row, name, from, by);
    if (!c.id.valid()) continue;
    if (!best.id.valid() || (by > 0 ? before(c, best) : before(best, c))) best = c;
  }
  return best.id;
}

InstructionId on_device(const TimelineModel& model, InstructionId id, int by) {
  const Experiment& run = *model.experiment;
  const Stream& stream = run.program.streams[place_of(model, id).row];
  const std::int64_t to = std::int64_t{stream.device.value} + by;
  if (to < 0 || to >= static_cast<std::int64_t>(model.ranks.size())) return {};
  const RankLanes& here = model.ranks[stream.device.value];
  const RankLanes& there = model.ranks[static_cast<std::size_t>(to)];
  const std::vector<std::uint32_t>& lanes = stream.compute ? there.compute : there.comm;
  if (lanes.empty()) return {};
  const std::uint32_t row =
      lanes[std::min(lane_of(here, place_of(model, id).row, stream.compute), lanes.size() - 1)];
  const std::uint32_t count = model.spans.rows[row].count;
  if (count == 0) return {};
  const Span own = run.timeline.spans[id.value];
  const Task& work = run.program.task(id);
  const std::int32_t microbatch = run.program.instructions[id.value].microbatch;
  InstructionId same;
  const auto away = [&](InstructionId other) {
    return std::abs((run.timeline.spans[other.value].start - own.start).count());
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    const InstructionId other = instruction_at(model, row, i);
    const Task& task = run.program.task(other);
    if (run.program.instructions[other.value].microbatch != microbatch || task.kind != work.kind ||
        task.phase != work.phase)
      continue;
    if (!same.valid() || away(other) < away(same)) same = other;
  }
  if (same.valid()) return same;
  const Instant middle = own.start + own.length() / 2;
  return instruction_at(
      model, row, std::min(window(model.spans, row, middle, Instant::max()).first, count - 1));
}

std::optional<TimeRange> bubble_after(const TimelineModel& model, std::size_t rank, Instant after) {
  if (rank >= model.ranks.size() || model.ranks[rank].compute.empty()) return {};
  const std::uint32_t row = model.ranks[rank].busy_row;
  const std::uint32_t count = model.spans.rows[row].count;
  const auto first_from = [&](std::uint32_t i, Instant least) -> std::optional<TimeRange> {
    Instant end = i == 0 ? Instant{} : span_at(model.spans, row, i - 1).end;
    for (; i < count; ++i) {
      const RowSpan span = span_at(model.spans, row, i);
      if (span.start > end && end >= least) return TimeRange{end, span.start};
      end = std::max(end, span.end);
    }
    return {};
  };
  const std::uint32_t from = window(model.spans, row, after, Instant::max()).first;
  const auto found = first_from(from == 0 ? 0 : from - 1, after);
  return found ? found : first_from(0, Instant{});
}

std::optional<PeakPlace> next_peak(const MemoryModel& model, DeviceId device,
                                   std::optional<Instant> after) {
  const auto devices = static_cast<std::uint32_t>(model.totals.size());
  if (device.value >= devices) return {};
  const StepCurve& curve = model.totals[device.value];
  for (const std::size_t sample : model.peaks[device.value])
    if (!after || Instant{curve.at[sample]} > *after) return PeakPlace{device, sample};
  const DeviceId next{(device.value + 1) % devices};
  return PeakPlace{next, model.peaks[next.value].front()};
}

InstructionId along_path(const TimelineModel& model, InstructionId selected, Instant at, int by) {
  const std::vector<CriticalStep>& steps = model.path.steps;
  if (steps.empty()) return {};
  const Timeline& timeline = model.experiment->timeline;
  const auto last = static_cast<std::int64_t>(steps.size()) - 1;
  if (const auto place = selected.valid() ? place_on(model.path, timeline, selected) : std::nullopt)
    return steps[static_cast<std::size_t>(
                     std::clamp<std::int64_t>(static_cast<std::int64_t>(*place) + by, 0, last))]
        .id;
  const Instant when = selected.valid() ? timeline.spans[selected.value].start : at;
  return steps[step_after(model.path, timeline, when).value_or(static_cast<std::size_t>(last))].id;
}

}  // namespace trainyard
