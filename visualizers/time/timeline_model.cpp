#include "visualizers/time/timeline_model.h"

#include <algorithm>
#include <utility>

#include "core/plan/mesh.h"
#include "core/timeline/metrics.h"
#include "visualizers/viewmodel/span_index.h"

namespace trainyard {
namespace {

std::vector<std::uint8_t> categories(const Program& program) {
  std::vector<std::uint8_t> list;
  list.reserve(program.tasks.size());
  for (const Task& task : program.tasks) list.push_back(static_cast<std::uint8_t>(ink_of(task)));
  return list;
}

void add_stream(SpanStore& store, const Experiment& experiment, const Stream& stream,
                const std::vector<std::uint8_t>& category, std::uint32_t covered_by) {
  const Span* spans = experiment.timeline.spans.data() + stream.first;
  const Instruction* instructions = experiment.program.instructions.data() + stream.first;
  const auto span_of = [&](std::uint32_t i) -> RowSpan {
    const std::uint32_t task = instructions[i].task.value;
    return {spans[i].start, spans[i].end, experiment.program.tasks[task].name.value,
            category[task]};
  };
  add_row(store, stream.count, span_of, covered_by);
}

// When any of the rows works; merged where they touch.
std::vector<RowSpan> union_of(const SpanStore& store, const std::vector<std::uint32_t>& rows) {
  std::vector<RowSpan> all, merged;
  for (const std::uint32_t row : rows)
    for (std::uint32_t i = 0; i < store.rows[row].count; ++i) all.push_back(span_at(store, row, i));
  std::sort(all.begin(), all.end(),
            [](const RowSpan& a, const RowSpan& b) { return a.start < b.start; });
  for (const RowSpan& span : all) {
    if (!merged.empty() && span.start <= merged.back().end)
      merged.back().end = std::max(merged.back().end, span.end);
    else
      merged.push_back(span);
  }
  return merged;
}

void assign_streams(const Program& program, std::vector<RankLanes>& ranks) {
  for (std::uint32_t s = 0; s < program.streams.size(); ++s) {
    const Stream& stream = program.streams[s];
    RankLanes& rank = ranks[stream.device.value];
    (stream.compute ? rank.compute : rank.comm).push_back(s);
  }
}

std::uint32_t compute_row_of(const std::vector<RankLanes>& ranks, const Stream& stream) {
  const RankLanes& rank = ranks[stream.device.value];
  return stream.compute || rank.compute.empty() ? kNoRow : rank.compute.front();
}

}  // namespace

Ink ink_of(const Task& task) {
  if (task.kind != TaskKind::Compute) return Ink::Communication;
  switch (task.phase) {
    case Phase::Forward:
      return Ink::Forward;
    case Phase::Backward:
    case Phase::BackwardInput:
      return Ink::Backward;
    case Phase::BackwardWeight:
      return Ink::WeightGradient;
    case Phase::Update:
      return Ink::Optimizer;
  }
  return Ink::Forward;
}

std::string rank_name(const Program& program, DeviceId device) {
  return (program.stages > program.devices ? "Rank " : "Stage ") + std::to_string(device.value);
}

std::string rank_place(const Workload& workload, DeviceId device) {
  const Mesh& mesh = workload.scenario.plan.mesh;
  const std::int64_t per_node = devices_per_node(workload.scenario.cluster);
  const std::int64_t first = representative(mesh, static_cast<int>(device.value)) / per_node;
  const std::string name = "node " + std::to_string(first);
  const std::int64_t members = workload.scenario.cluster.count / std::max(1, mesh.pp);
  // Only where stages are the slowest axis do the devices of one sit side by side.
  if (mesh.order.size() < 2 || mesh.order.substr(mesh.order.size() - 2) != "pp") return name;
  const std::int64_t last =
      (representative(mesh, static_cast<int>(device.value)) + members - 1) / per_node;
  return last == first ? name : name + "\u2013" + std::to_string(last);
}

TimelineModel timeline_model(ExperimentPtr experiment) {
  TimelineModel model;
  const Program& program = experiment->program;
  model.end = makespan(experiment->timeline);
  model.ranks.resize(static_cast<std::size_t>(program.devices));
  for (std::uint32_t d = 0; d < model.ranks.size(); ++d) {
    model.ranks[d].device = DeviceId{d};
    model.ranks[d].name = rank_name(program, DeviceId{d});
    model.ranks[d].place = rank_place(experiment->workload, DeviceId{d});
  }
  assign_streams(program, model.ranks);
  const std::vector<std::uint8_t> category = categories(program);
  reserve_spans(model.spans, program.instructions.size());
  for (const Stream& stream : program.streams)
    add_stream(model.spans, *experiment, stream, category, compute_row_of(model.ranks, stream));
  for (RankLanes& rank : model.ranks) {
    if (rank.compute.size() == 1) {
      rank.busy_row = rank.compute.front();
      continue;
    }
    rank.busy_row = static_cast<std::uint32_t>(model.spans.rows.size());
    add_row(model.spans, union_of(model.spans, rank.compute));
  }
  index_spans(model.spans);
  model.path = critical_path(experiment->timeline, program);
  model.experiment = std::move(experiment);
  return model;
}

SpanPlace place_of(const TimelineModel& model, InstructionId id) {
  const std::vector<Stream>& streams = model.experiment->program.streams;
  // Streams hold consecutive instructions; an empty one never matches.
  for (std::uint32_t s = 0; s < streams.size(); ++s)
    if (id.value >= streams[s].first && id.value - streams[s].first < streams[s].count)
      return {s, id.value - streams[s].first};
  return {kNoRow, 0};
}

InstructionId instruction_at(const TimelineModel& model, std::uint32_t row, std::uint32_t index) {
  return InstructionId{model.experiment->program.streams[row].first + index};
}

std::uint64_t tail_tag(DeviceId device) { return (std::uint64_t{1} << 32) | device.value; }

InstructionId awaited(const Experiment& experiment, InstructionId id) {
  const Program& program = experiment.program;
  const Instruction& instruction = program.instructions[id.value];
  InstructionId latest;
  const auto consider = [&](InstructionId other) {
    const Span span = experiment.timeline.spans[other.value];
    if (span.end > experiment.timeline.spans[id.value].start)
      return;  // ran beside it: not what it waited for
    if (!latest.valid() || span.end > experiment.timeline.spans[latest.value].end) latest = other;
  };
  for (std::uint32_t i = 0; i < instruction.afters; ++i)
    consider(program.after[instruction.first_after + i]);
  for (const Stream& stream : program.streams)
    if (id.value > stream.first && id.value - stream.first < stream.count)
      consider(InstructionId{id.value - 1});
  return latest;
}

template <>
TimelineModel make_model(const ViewData& data) {
  return timeline_model(data.experiment);
}

}  // namespace trainyard
