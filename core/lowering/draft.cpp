#include "core/lowering/draft.h"

#include <algorithm>
#include <cassert>

namespace trainyard {

std::uint32_t Draft::stream(DeviceId device, std::string name, bool compute, Duration delay) {
  Line line;
  line.stream = {device, std::move(name), delay, compute, 0, 0};
  lines_.push_back(std::move(line));
  return static_cast<std::uint32_t>(lines_.size() - 1);
}

Ref Draft::add(std::uint32_t stream, TaskId task, std::int32_t microbatch, const Refs& after,
               std::int16_t wave, std::int16_t weights) {
  std::vector<Item>& items = lines_[stream].items;
  const auto first = static_cast<std::uint32_t>(after_.size());
  for (Ref ref : after)
    if (ref.stream != stream) after_.push_back(ref);  // a stream's own order needs no saying
  items.push_back({task,
                   microbatch,
                   wave,
                   weights,
                   first,
                   static_cast<std::uint32_t>(after_.size()) - first,
                   {}});
  return {stream, static_cast<std::uint32_t>(items.size() - 1)};
}

void Draft::after(Ref instruction, const Refs& refs) {
  Item& item = lines_[instruction.stream].items[instruction.position];
  assert(item.afters == 0 && "it was added with nothing to wait for");
  item.first_after = static_cast<std::uint32_t>(after_.size());
  for (Ref ref : refs)
    if (ref.stream != instruction.stream) after_.push_back(ref);
  item.afters = static_cast<std::uint32_t>(after_.size()) - item.first_after;
}

void Draft::pair(Ref send, Ref receive) {
  lines_[send.stream].items[send.position].peer = receive;
  lines_[receive.stream].items[receive.position].peer = send;
}

TaskId Draft::task(const Task& task) {
  program.tasks.push_back(task);
  Task& added = program.tasks.back();
  added.first_work = static_cast<std::uint32_t>(program.works.size());
  added.first_effect = static_cast<std::uint32_t>(program.effects.size());
  added.works = added.effects = 0;
  return TaskId{static_cast<std::uint32_t>(program.tasks.size() - 1)};
}

BufferId Draft::buffer(const Buffer& buffer) {
  program.buffers.push_back(buffer);
  return BufferId{static_cast<std::uint32_t>(program.buffers.size() - 1)};
}

void Draft::work(TaskId id, const Work& work, int count, Pass pass, bool recomputed) {
  assert(id.value + 1 == program.tasks.size() && "works of a task are added before the next task");
  program.works.push_back({work, count, pass, recomputed});
  ++program.tasks[id.value].works;
}

void Draft::effect(TaskId id, BufferId buffer, bool allocate, bool at_end) {
  assert(id.value + 1 == program.tasks.size() &&
         "effects of a task are added before the next task");
  if (program.buffers[buffer.value].bytes.value == 0) return;
  program.effects.push_back({buffer, allocate, at_end});
  ++program.tasks[id.value].effects;
}

Program Draft::finish() {
  std::vector<std::uint32_t> offset(lines_.size(), 0);
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    offset[i] = total;
    total += static_cast<std::uint32_t>(lines_[i].items.size());
  }
  const auto id = [&](Ref ref) { return InstructionId{offset[ref.stream] + ref.position}; };
  std::stable_sort(late_.begin(), late_.end(), [&](const Late& a, const Late& b) {
    return id(a.instruction) < id(b.instruction);
  });

  program.instructions.reserve(total);
  program.after.reserve(after_.size() + late_.size());
  auto late = late_.begin();
  for (Line& line : lines_) {
    if (line.items.empty()) continue;
    line.stream.first = static_cast<std::uint32_t>(program.instructions.size());
    line.stream.count = static_cast<std::uint32_t>(line.items.size());
    for (const Item& item : line.items) {
      Instruction in;
      in.task = item.task;
      in.microbatch = item.microbatch;
      in.wave = item.wave;
      in.weights = item.weights;
      in.first_after = static_cast<std::uint32_t>(program.after.size());
      for (std::uint32_t i = 0; i < item.afters; ++i)
        program.after.push_back(id(after_[item.first_after + i]));
      const InstructionId self{static_cast<std::uint32_t>(program.instructions.size())};
      for (; late != late_.end() && id(late->instruction) == self; ++late)
        program.after.push_back(id(late->after));
      in.afters = static_cast<std::uint32_t>(program.after.size()) - in.first_after;
      if (item.peer.valid()) in.peer = id(item.peer);
      program.instructions.push_back(in);
    }
    program.streams.push_back(std::move(line.stream));
    line.items = {};
  }
  return std::move(program);
}

}  // namespace trainyard
