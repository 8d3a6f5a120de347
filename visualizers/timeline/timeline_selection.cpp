#include "visualizers/timeline/timeline_selection.h"

#include <algorithm>
#include <vector>

#include "visualizers/time/lane_painter.h"

namespace trainyard {
namespace {

// The compute instruction on another rank whose result an instruction waited for, through what was
// sent in between.
InstructionId cause_of(const Experiment& experiment, InstructionId id) {
  const Program& program = experiment.program;
  for (int hops = 0; hops < 8; ++hops) {
    const Instruction& instruction = program.instructions[id.value];
    id = program.task(id).kind == TaskKind::Receive && instruction.peer.valid()
             ? instruction.peer
             : awaited(experiment, id);
    if (!id.valid() || program.task(id).kind == TaskKind::Compute) return id;
  }
  return {};
}

// The compute instruction on another rank that the end of this one let start, the earliest; one of
// the stages before and after, soon after its end.
InstructionId effect_of(const TimelineModel& model, InstructionId id) {
  constexpr std::uint32_t kLookedAt = 8;  // spans of a row
  const Experiment& experiment = *model.experiment;
  const Program& program = experiment.program;
  const std::vector<Span>& spans = experiment.timeline.spans;
  const std::uint32_t stage = program.task(id).stage.value;
  InstructionId earliest;
  for (const std::uint32_t other : {stage - 1, stage + 1}) {
    if (other >= static_cast<std::uint32_t>(program.stages)) continue;
    for (const std::uint32_t row : model.ranks[device_of(program, StageId{other}).value].compute) {
      const std::uint32_t count = model.spans.rows[row].count;
      std::uint32_t at = window(model.spans, row, spans[id.value].end, Instant::max()).first;
      for (const std::uint32_t end = std::min(count, at + kLookedAt); at < end; ++at) {
        const InstructionId next = instruction_at(model, row, at);
        if (earliest.valid() && spans[earliest.value].start <= spans[next.value].start) break;
        if (cause_of(experiment, next) == id) earliest = next;
      }
    }
  }
  return earliest;
}

float lane_middle(const TimelineLayout& layout, const TimelineModel& model, SpanPlace place) {
  const DeviceId device = model.experiment->program.streams[place.row].device;
  return lane_top(layout, device.value) + layout.sizes.compute / 2;
}

// Where a line that leaves or enters the lane of `place` at x meets it, coming from height `from`.
Point lane_edge(const TimelineLayout& layout, const TimelineModel& model, SpanPlace place,
                Instant at, float from) {
  const float y = lane_middle(layout, model, place);
  return {cut_x(layout.shown, at),
          y < from ? y + layout.sizes.compute / 2 : y - layout.sizes.compute / 2};
}

// From the end of what it waited for to its own start, and from its end to the start of what waited
// for it.
void draw_elbows(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                 InstructionId id, const Rect& box) {
  const std::vector<Span>& spans = model.experiment->timeline.spans;
  const std::uint32_t row = place_of(model, id).row;
  const float middle = box.y + box.height / 2;
  const Style style{.ink = Ink::Select, .stroke = 1.5f};
  const InstructionId cause = cause_of(*model.experiment, id), effect = effect_of(model, id);
  if (cause.valid() && place_of(model, cause).row != row) {
    const Point from =
        lane_edge(layout, model, place_of(model, cause), spans[cause.value].end, middle);
    polyline(drawing, {from, {from.x, middle}, {box.x - 3, middle}}, style);
  }
  if (effect.valid() && place_of(model, effect).row != row) {
    const Point to =
        lane_edge(layout, model, place_of(model, effect), spans[effect.value].start, middle);
    polyline(drawing, {{box.right() + 3, middle}, {to.x, middle}, to}, style);
  }
}

}  // namespace

void draw_selection(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                    Item selected) {
  if (selected.kind != ItemKind::Span) return;
  const InstructionId id{static_cast<std::uint32_t>(selected.tag)};
  const SpanPlace place = place_of(model, id);
  if (place.row == kNoRow) return;
  const Stream& stream = model.experiment->program.streams[place.row];
  const Span span = model.experiment->timeline.spans[id.value];
  const Extent e = extent(layout.shown, span.start, span.end);
  const LanePlace lane = lane_place(layout, stream);
  const Rect box{e.left, lane.top, std::max(kShortestMark, e.width() - 1), lane.height};
  draw_elbows(drawing, layout, model, id, box);
  frame_selected(drawing, box, 3);
}

}  // namespace trainyard
