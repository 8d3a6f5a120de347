// Is a program complete? Slices in range, sends paired, no circle of waits, no byte left behind.
#include <algorithm>
#include <cstdlib>

#include "core/program/program.h"

namespace trainyard {
namespace {

void refuse(Diagnostics& found, std::string message, std::string place) {
  found.push_back({Diagnostic::Severity::Error, std::move(message), {std::move(place)}, {}});
}

bool slice_fits(std::uint32_t first, std::uint32_t count, std::size_t size) {
  return first <= size && count <= size - first;
}

std::string place_of(std::string_view table, std::size_t i) {
  return "program#/" + std::string(table) + "/" + std::to_string(i);
}

// Only when every index is in range may the other checks look anything up.
Diagnostics check_ranges(const Program& p) {
  Diagnostics found;
  std::size_t covered = 0;
  if (p.devices < 1 || p.stages < 1)
    refuse(found, "expected at least one device and one stage", "program");
  for (std::size_t i = 0; i < p.streams.size(); ++i) {
    const Stream& s = p.streams[i];
    if (s.first != covered || !slice_fits(s.first, s.count, p.instructions.size()))
      refuse(found, "its instructions do not follow those of the stream before",
             place_of("streams", i));
    if (s.device.value >= static_cast<std::uint32_t>(p.devices))
      refuse(found, "no such device", place_of("streams", i));
    covered += s.count;
  }
  if (covered != p.instructions.size())
    refuse(found, "instructions that belong to no stream", "program#/streams");
  for (std::size_t i = 0; i < p.tasks.size(); ++i) {
    const Task& t = p.tasks[i];
    if (!slice_fits(t.first_work, t.works, p.works.size()) ||
        !slice_fits(t.first_effect, t.effects, p.effects.size()))
      refuse(found, "its work or memory lies outside the program's tables", place_of("tasks", i));
    if (t.stage.value >= static_cast<std::uint32_t>(p.stages))
      refuse(found, "no such stage", place_of("tasks", i));
    if (t.bytes.value < 0 || t.repeats < 1)
      refuse(found, "negative bytes or no repeats", place_of("tasks", i));
  }
  for (std::size_t i = 0; i < p.instructions.size() && found.size() < 20; ++i) {
    const Instruction& in = p.instructions[i];
    if (in.task.value >= p.tasks.size() || !slice_fits(in.first_after, in.afters, p.after.size()) ||
        (in.peer.valid() && in.peer.value >= p.instructions.size()))
      refuse(found, "it refers to something outside the program's tables",
             place_of("instructions", i));
  }
  for (std::size_t i = 0; i < p.after.size(); ++i)
    if (p.after[i].value >= p.instructions.size())
      refuse(found, "it waits for no instruction", place_of("after", i));
  for (std::size_t i = 0; i < p.effects.size(); ++i)
    if (p.effects[i].buffer.value >= p.buffers.size())
      refuse(found, "no such buffer", place_of("effects", i));
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    const Buffer& b = p.buffers[i];
    if (b.bytes.value < 0) refuse(found, "a negative size", place_of("buffers", i));
    if (b.stage.value >= static_cast<std::uint32_t>(p.stages))
      refuse(found, "no such stage", place_of("buffers", i));
    if (!slice_fits(b.first_part, b.parts, p.parts.size()))
      refuse(found, "its parts lie outside the table", place_of("buffers", i));
  }
  return found;
}

void check_peers(const Program& p, Diagnostics& found) {
  for (std::uint32_t i = 0; i < p.instructions.size() && found.size() < 20; ++i) {
    const Instruction& in = p.instructions[i];
    const Task& task = p.task(in);
    const bool sends = task.kind == TaskKind::Send, receives = task.kind == TaskKind::Receive;
    if (!sends && !receives) {
      if (in.peer.valid())
        refuse(found,
               describe(p, InstructionId{i}) + " has a peer and is neither a send nor a receive",
               "program");
      continue;
    }
    if (!in.peer.valid()) {
      refuse(
          found,
          describe(p, InstructionId{i}) + (sends ? " is received by nobody" : " is sent by nobody"),
          "program");
      continue;
    }
    const Task& other = p.task(in.peer);
    if (p.instructions[in.peer.value].peer != InstructionId{i} ||
        other.kind != (sends ? TaskKind::Receive : TaskKind::Send))
      refuse(found,
             describe(p, InstructionId{i}) + " and " + describe(p, in.peer) +
                 " are not each other's send and receive",
             "program");
    else if (other.bytes != task.bytes)
      refuse(found,
             describe(p, InstructionId{i}) + " moves " + std::to_string(task.bytes.value) +
                 " bytes and " + describe(p, in.peer) + " " + std::to_string(other.bytes.value),
             "program");
  }
}

// Kahn's order over streams, waits and pairs; a pair starts together, so it is one node. What never
// gets its turn waits in a circle, and following any wait among the rest finds it.
class WaitOrder {
 public:
  explicit WaitOrder(const Program& p)
      : p_(p), pending_(p.instructions.size(), 0), first_(p.instructions.size() + 1, 0) {
    for (InstructionId id : p.after) ++first_[id.value + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    waiters_.resize(p.after.size());
    std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
    for (std::uint32_t i = 0; i < p.instructions.size(); ++i) {
      const Instruction& in = p.instructions[i];
      pending_[i] = in.afters;
      for (std::uint32_t k = 0; k < in.afters; ++k)
        waiters_[at[p.after[in.first_after + k].value]++] = i;
    }
    stream_end_.resize(p.instructions.size(), false);
    for (const Stream& s : p.streams) {
      for (std::uint32_t i = 1; i < s.count; ++i) ++pending_[s.first + i];
      if (s.count > 0) stream_end_[s.first + s.count - 1] = true;
    }
  }

  /// Instructions that can never start; empty when all can.
  std::vector<InstructionId> circle() {
    std::vector<std::uint32_t> ready;
    const auto free_if_ready = [&](std::uint32_t i) {
      const InstructionId peer = p_.instructions[i].peer;
      if (pending_[i] == 0 && (!peer.valid() || pending_[peer.value] == 0)) {
        ready.push_back(i);
        if (peer.valid()) ready.push_back(peer.value);
      }
    };
    std::vector<std::uint32_t> starts;
    for (std::uint32_t i = 0; i < pending_.size(); ++i)
      if (pending_[i] == 0) starts.push_back(i);
    for (std::uint32_t i : starts) {
      const InstructionId peer = p_.instructions[i].peer;
      if (!peer.valid() || i < peer.value)
        free_if_ready(i);  // of a pair that is ready together, once
    }
    std::size_t done = 0;
    const auto release = [&](std::uint32_t i) {
      if (--pending_[i] == 0) free_if_ready(i);
    };
    while (!ready.empty()) {
      const std::uint32_t i = ready.back();
      ready.pop_back();
      ++done;
      if (!stream_end_[i]) release(i + 1);
      for (std::uint32_t k = first_[i]; k < first_[i + 1]; ++k) release(waiters_[k]);
      pending_[i] = kDone;
    }
    return done == pending_.size() ? std::vector<InstructionId>{} : follow();
  }

 private:
  static constexpr std::uint32_t kDone = 0xFFFFFFFFu;

  bool waiting(std::uint32_t i) const { return pending_[i] != kDone; }

  // Something i waits for that has not run either.
  std::uint32_t blocker(std::uint32_t i) const {
    const Instruction& in = p_.instructions[i];
    for (std::uint32_t k = 0; k < in.afters; ++k)
      if (waiting(p_.after[in.first_after + k].value)) return p_.after[in.first_after + k].value;
    if (i > 0 && !stream_end_[i - 1] && waiting(i - 1)) return i - 1;
    return in.peer.value;  // it is ready itself; its peer is not
  }

  std::vector<InstructionId> follow() const {
    std::uint32_t at = 0;
    while (!waiting(at)) ++at;
    std::vector<std::uint8_t> seen(pending_.size(), 0);
    while (seen[at]++ == 0) at = blocker(at);
    std::vector<InstructionId> circle;
    const std::uint32_t start = at;
    do circle.push_back({at}), at = blocker(at);
    while (at != start);
    return circle;
  }

  const Program& p_;
  std::vector<std::uint32_t> pending_, first_, waiters_;
  std::vector<bool> stream_end_;
};

void check_waits(const Program& p, Diagnostics& found) {
  const std::vector<InstructionId> circle = WaitOrder(p).circle();
  if (circle.empty()) return;
  std::string text = "they wait for each other: ";
  constexpr std::size_t kNamed = 12;
  for (std::size_t i = 0; i < std::min(circle.size(), kNamed); ++i)
    text += describe(p, circle[i]) + " for ";
  text += circle.size() > kNamed ? "... for " + describe(p, circle.front())
                                 : describe(p, circle.front());
  refuse(found, text, "program");
}

// Per buffer: as many releases as allocations, over all instructions.
void check_memory(const Program& p, Diagnostics& found) {
  std::vector<std::int64_t> runs(p.tasks.size(), 0), balance(p.buffers.size(), 0);
  for (const Instruction& in : p.instructions) ++runs[in.task.value];
  for (std::size_t t = 0; t < p.tasks.size(); ++t)
    for (std::uint32_t e = p.tasks[t].first_effect;
         e < p.tasks[t].first_effect + p.tasks[t].effects; ++e)
      balance[p.effects[e].buffer.value] += p.effects[e].allocate ? runs[t] : -runs[t];
  for (std::size_t i = 0; i < balance.size() && found.size() < 20; ++i)
    if (balance[i] != 0)
      refuse(found,
             "\"" + std::string(p.name(p.buffers[i].name)) + "\" of stage " +
                 std::to_string(p.buffers[i].stage.value) + " is " +
                 (balance[i] > 0 ? "left alive " : "released too often, ") +
                 std::to_string(std::abs(balance[i])) + " times",
             place_of("buffers", i));
}

}  // namespace

Diagnostics verify(const Program& program) {
  Diagnostics found = check_ranges(program);
  if (has_errors(found)) return found;
  check_peers(program, found);
  if (has_errors(found)) return found;
  check_waits(program, found);
  check_memory(program, found);
  return found;
}

}  // namespace trainyard
