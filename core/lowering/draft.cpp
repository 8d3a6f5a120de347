#include "core/lowering/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>

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
    if (ref.stream != stream) after_.push_back(ref);  // a stream's own order is implicit
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

void Draft::work(TaskId id, const Work& work, int count, Pass pass, bool recomputed,
                 OperatorPlace place) {
  assert(id.value + 1 == program.tasks.size() && "works of a task are added before the next task");
  program.works.push_back({work, count, pass, recomputed, place});
  ++program.tasks[id.value].works;
}

void Draft::effect(TaskId id, BufferId buffer, bool allocate, bool at_end) {
  assert(id.value + 1 == program.tasks.size() &&
         "effects of a task are added before the next task");
  if (program.buffers[buffer.value].bytes.value == 0) return;
  program.effects.push_back({buffer, allocate, at_end});
  ++program.tasks[id.value].effects;
}

std::string Draft::first_wrong() const {
  const Program& p = program;
  const auto is_name = [&](NameId id) { return !id.valid() || id.value < p.names.size(); };
  for (std::size_t i = 0; i < p.buffers.size(); ++i)
    if (const Buffer& b = p.buffers[i];
        !is_name(b.name) || b.bytes < Bytes{} || b.first_part + b.parts > p.parts.size())
      return fmt::format("buffer {} has no name, negative bytes or parts that are not there", i);
  for (std::size_t i = 0; i < p.tasks.size(); ++i)
    if (const Task& t = p.tasks[i]; !is_name(t.name) || !is_name(t.pass) ||
                                    t.first_work + t.works > p.works.size() ||
                                    t.first_effect + t.effects > p.effects.size())
      return fmt::format("task {} has a name, work or effect that is not there", i);
  for (std::size_t i = 0; i < p.effects.size(); ++i)
    if (p.effects[i].buffer.value >= p.buffers.size())
      return fmt::format("effect {} is of a buffer that is not there", i);
  for (const Line& line : lines_)
    for (std::size_t i = 0; i < line.items.size(); ++i) {
      const Item& item = line.items[i];
      const auto is_wrong = [&](std::string_view what) {
        return fmt::format("instruction {} of \"{}\" on device {} {}", i, line.stream.name,
                           line.stream.device.value, what);
      };
      if (item.task.value >= p.tasks.size()) return is_wrong("has no task");
      if (item.first_after + item.afters > after_.size() ||
          !std::all_of(after_.begin() + item.first_after,
                       after_.begin() + item.first_after + item.afters,
                       [&](Ref ref) { return is_there(ref); }))
        return is_wrong("waits for one that is not there");
      if (!item.peer.valid()) continue;
      const Ref back =
          is_there(item.peer) ? lines_[item.peer.stream].items[item.peer.position].peer : Ref{};
      if (!is_there(back) || &lines_[back.stream].items[back.position] != &item)
        return is_wrong("is paired with one that is not paired with it");
    }
  for (const Late& late : late_)
    if (!is_there(late.instruction) || !is_there(late.after))
      return "a late wait is of an instruction that is not there";
  return "";
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
