#include "core/validation/recorded/recorded_instructions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "core/validation/recorded/recorded_units.h"
#include "core/validation/recorded/trace_match.h"

namespace trainyard {
namespace {

// Tasks of equal keys do the same work: kind, group, collective, bytes of all repeats, and kernels.
using AlikeKey =
    std::tuple<TaskKind, int, int, std::int64_t, std::vector<std::pair<KernelKey, std::int32_t>>>;

AlikeKey alike_key(const Program& program, const Task& task) {
  AlikeKey key{task.kind, 0, 0, 0, {}};
  if (task.kind == TaskKind::Collective)
    key = {task.kind,
           static_cast<int>(task.group),
           static_cast<int>(task.collective),
           task.bytes.value * task.repeats,
           {}};
  else
    for (const WorkCount& w : std::span(program.works).subspan(task.first_work, task.works))
      std::get<4>(key).emplace_back(kernel_key(w.work), w.count);
  return key;
}

bool is_compared(const Task& task) {
  if (task.kind == TaskKind::Collective) return task.works == 0;
  return task.kind == TaskKind::Compute && task.phase != Phase::Update && task.works > 0;
}

std::string_view kind_of_task(const Program& program, const Task& task) {
  if (task.kind != TaskKind::Compute) return kCommunicates;
  if (task.works == 0) return kOtherWork;
  return to_string(family_of_work(program.works[task.first_work].work.kind));
}

}  // namespace

std::vector<RecordedInstruction> recorded_instructions(const RecordedTrace& trace,
                                                       const Program& program) {
  std::vector<RecordedInstruction> found;
  std::map<AlikeKey, std::uint32_t> alike;
  if (trace.processes.size() != static_cast<std::size_t>(program.devices)) return {};
  for (const Stream& stream : program.streams) {
    std::vector<std::uint64_t> own;
    for (const RecordedRow& row : trace.rows) {
      const RecordedThread& thread = trace.threads[row.thread];
      if (thread.process != stream.device.value || thread.name != stream.name) continue;
      for (std::uint64_t i = row.first; i < row.first + row.count; ++i) own.push_back(i);
    }
    if (own.size() != stream.count) return {};
    std::stable_sort(own.begin(), own.end(), [&](std::uint64_t a, std::uint64_t b) {
      return std::pair(trace.start[a], trace.end[a]) < std::pair(trace.start[b], trace.end[b]);
    });
    for (std::uint32_t i = 0; i < stream.count; ++i) {
      const InstructionId id{stream.first + i};
      const Task& task = program.task(id);
      const std::string name =
          fmt::format("{} {}", program.name(task.name), program.instructions[id.value].microbatch);
      if (trace.names[trace.name[own[i]]] != name) return {};
      WorkSpan span{stream.device.value, trace.start[own[i]], trace.end[own[i]],
                    kind_of_task(program, task)};
      if (is_compared(task))
        span.alike =
            alike.emplace(alike_key(program, task), static_cast<std::uint32_t>(alike.size()))
                .first->second;
      found.push_back({id, span});
    }
  }
  return found;
}

RecordedContention contention_of_instructions(const Program& program,
                                              const std::vector<RecordedInstruction>& list) {
  std::vector<WorkSpan> computed, communicated;
  for (const auto& [id, span] : list) {
    const TaskKind kind = program.task(id).kind;
    if (kind == TaskKind::Compute) computed.push_back(span);
    if (kind == TaskKind::Collective) communicated.push_back(span);
  }
  return {computed, communicated};
}

}  // namespace trainyard
