#include "core/result/peak_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace trainyard {
namespace {

// "layers.5 q_proj" and "layers.6 q_proj" are the same tensor of two layers.
std::string without_layer(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '.') {
      text += name[i];
      continue;
    }
    std::size_t end = i + 1;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if (end == i + 1 || (end < name.size() && name[end] != ' '))
      text += '.';
    else
      i = end - 1;
  }
  return text;
}

bool per_microbatch(Category category) {
  return category == Category::Activations || category == Category::Recomputed;
}

std::string words(Category category) {
  if (category == Category::Framework) return "framework overhead";
  std::string text(to_string(category));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string_view phase_words(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "forward";
    case Phase::Backward:
      return "backward";
    case Phase::BackwardInput:
      return "backward for inputs";
    case Phase::BackwardWeight:
      return "backward for weights";
    case Phase::Update:
      return "weight update";
  }
  return "";
}

struct Part {
  Bytes bytes{};
  int instances = 0;
};
using PartKey = std::pair<Category, std::string>;

void add(std::map<PartKey, Part>& sums, Category category, std::string name, Bytes bytes,
         int instances) {
  Part& part = sums[{category, std::move(name)}];
  part.bytes += bytes;
  part.instances = std::max(part.instances, instances);
}

void add_buffer(std::map<PartKey, Part>& sums, const Program& program, const Alive& alive) {
  const Buffer& buffer = program.buffers[alive.buffer.value];
  if (!per_microbatch(buffer.category) || buffer.parts == 0) {
    const bool named = per_microbatch(buffer.category) || buffer.category == Category::Workspace;
    add(sums, buffer.category, named ? without_layer(program.name(buffer.name)) : "", alive.bytes,
        alive.instances);
    return;
  }
  for (std::uint32_t i = 0; i < buffer.parts; ++i) {
    const BufferPart& part = program.parts[buffer.first_part + i];
    add(sums, buffer.category, without_layer(program.name(part.name)),
        part.bytes * std::int64_t{alive.instances}, alive.instances);
  }
}

std::string part_name(const PartKey& key, const Part& part) {
  const auto& [category, tensor] = key;
  if (tensor.empty()) return words(category);
  if (!per_microbatch(category)) return words(category) + ": " + tensor;
  return fmt::format("{} of {} microbatch{}: {}", words(category), part.instances,
                     part.instances == 1 ? "" : "es", tensor);
}

}  // namespace

std::vector<PeakPart> parts_alive_at(const Workload&, const Program& program,
                                     const Timeline& timeline, DeviceId device, Instant at) {
  std::map<PartKey, Part> sums;
  Bytes whole{};
  for (const Alive& alive : alive_at(timeline, program, device, at)) {
    add_buffer(sums, program, alive);
    whole += alive.bytes;
  }
  std::vector<PeakPart> parts;
  Bytes small{};
  for (const auto& [key, part] : sums) {
    if (part.bytes * 100 < whole)
      small += part.bytes;
    else
      parts.push_back({part_name(key, part), key.first, part.bytes});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PeakPart& a, const PeakPart& b) { return a.bytes > b.bytes; });
  if (small.value > 0) parts.push_back({"everything smaller", Category::Workspace, small});
  return parts;
}

int microbatches_alive(const Program& program, const Timeline& timeline, DeviceId device,
                       Instant at) {
  std::map<StageId, int> most;  // several buffers of one stage may be alive together
  for (const Alive& alive : alive_at(timeline, program, device, at)) {
    const Buffer& buffer = program.buffers[alive.buffer.value];
    if (buffer.category != Category::Activations || buffer.persistent) continue;
    most[buffer.stage] = std::max(most[buffer.stage], alive.instances);
  }
  int chunks = 0;
  for (const auto& [stage, instances] : most) chunks += instances;
  const int per_device = std::max(1, program.stages / program.devices);
  return (chunks + per_device - 1) / per_device;
}

Doing doing_at(const Program& program, const Timeline& timeline, DeviceId device, Instant at) {
  InstructionId running, ended;  // the instruction running then, or the last one that ended before
  for (const Stream& stream : program.streams) {
    if (stream.device != device || !stream.compute) continue;
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const Span span = timeline.spans[i];
      if (span.start > at) break;
      if (span.end > at && !running.valid()) running = {i};
      if (span.end <= at && (!ended.valid() || span.end >= timeline.spans[ended.value].end))
        ended = {i};
    }
  }
  const InstructionId found = running.valid() ? running : ended;
  if (!found.valid()) return {"before the first microbatch", StageId{device.value}};
  const Instruction& instruction = program.instructions[found.value];
  const Task& task = program.task(instruction);
  std::string phase(phase_words(task.phase));
  if (task.phase != Phase::Update)
    phase += fmt::format(" of microbatch {}", instruction.microbatch);
  if (!running.valid()) phase = "after " + phase;
  return {phase, task.stage.valid() ? task.stage : StageId{device.value}};
}

}  // namespace trainyard
