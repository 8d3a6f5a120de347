#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "visualizers/timeline/timeline_view.h"

namespace trainyard {
namespace {

enum class TimelineColumn {
  Rank,
  Line,
  What,
  Kind,
  Part,
  Microbatch,
  Start,
  End,
  Length,
  Idle,
  Done,
  Moved,
  Cause
};

const std::vector<DataColumn> kColumns = {
    {"rank", DataUnit::Count},          {"lane", DataUnit::Words},
    {"work", DataUnit::Words},          {"kind", DataUnit::Words},
    {"stage", DataUnit::Count},         {"microbatch", DataUnit::Count},
    {"start", DataUnit::Time},          {"end", DataUnit::Time},
    {"duration", DataUnit::Time},       {"idle before", DataUnit::Time},
    {"work done", DataUnit::FlopCount}, {"moved", DataUnit::ByteCount},
    {"waited for", DataUnit::Words}};

struct Rows {
  ExperimentPtr experiment;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> streams;  // first instruction and stream
  std::vector<std::uint32_t> instructions;                       // by row

  const Span& span(std::uint32_t id) const { return experiment->timeline.spans[id]; }

  const Stream& stream_of(std::uint32_t id) const {
    const auto after =
        std::upper_bound(streams.begin(), streams.end(), std::pair(id, std::uint32_t{0xFFFFFFFF}));
    return experiment->program.streams[std::prev(after)->second];
  }

  Duration idle_before(std::uint32_t id) const {
    const Instant before = id == stream_of(id).first ? Instant{0} : span(id - 1).end;
    return std::max(Duration{0}, span(id).start - before);
  }

  DataCell work_done(std::uint32_t task) const {
    const std::vector<Flops>& flops = experiment->prices.flops;
    if (task >= flops.size() || flops[task].value <= 0) return {};
    return flops[task].value;
  }

  DataCell cell(std::size_t row, std::size_t column) const {
    const std::uint32_t id = instructions[row];
    const Program& program = experiment->program;
    const Instruction& instruction = program.instructions[id];
    const Task& task = program.task(instruction);
    switch (static_cast<TimelineColumn>(column)) {
      case TimelineColumn::Rank:
        return std::int64_t{stream_of(id).device.value};
      case TimelineColumn::Line:
        return stream_of(id).name;
      case TimelineColumn::What:
        return std::string(program.name(task.name));
      case TimelineColumn::Kind:
        return std::string(to_string(task.kind));
      case TimelineColumn::Part:
        return std::int64_t{task.stage.value};
      case TimelineColumn::Microbatch:
        if (task.phase == Phase::Update) return {};
        return std::int64_t{instruction.microbatch};
      case TimelineColumn::Start:
        return span(id).start.count();
      case TimelineColumn::End:
        return span(id).end.count();
      case TimelineColumn::Length:
        return span(id).length().count();
      case TimelineColumn::Idle:
        return idle_before(id).count();
      case TimelineColumn::Done:
        return work_done(instruction.task.value);
      case TimelineColumn::Moved:
        if (task.bytes.value <= 0) return {};
        return (task.bytes * task.repeats).value;
      case TimelineColumn::Cause:
        if (const InstructionId cause = awaited(*experiment, InstructionId{id}); cause.valid())
          return describe(program, cause);
        return {};
    }
    return {};
  }
};

}  // namespace

DataTable timeline_table(ExperimentPtr experiment, const ViewState& state) {
  auto rows = std::make_shared<Rows>();
  const Program& program = experiment->program;
  for (std::uint32_t s = 0; s < program.streams.size(); ++s) {
    const Stream& stream = program.streams[s];
    if (stream.count == 0) continue;
    rows->streams.emplace_back(stream.first, s);
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Span& span = experiment->timeline.spans[i];
      if (!state.range || (span.end > state.range->from && span.start < state.range->to))
        rows->instructions.push_back(i);
    }
  }
  std::sort(rows->streams.begin(), rows->streams.end());
  rows->experiment = std::move(experiment);
  DataTable table{"Timeline", kColumns, rows->instructions.size(), {}, {}};
  table.cell = [rows](std::size_t row, std::size_t column) { return rows->cell(row, column); };
  table.item = [rows](std::size_t row) { return Item{ItemKind::Span, rows->instructions[row]}; };
  return table;
}

}  // namespace trainyard
