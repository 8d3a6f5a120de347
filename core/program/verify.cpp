// Implements verify(). The checks are in an order in which each makes the next one safe.
#include <fmt/format.h>

#include <algorithm>

#include "core/program/circle.h"
#include "core/program/program.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostProgramProblems = 100;

class Verifier {
 public:
  explicit Verifier(const Program& program) : p_(program) {}

  Diagnostics run() {
    check_counts();
    check_tables();
    check_streams();
    check_instructions();
    if (!found_.empty()) return std::move(found_);  // later checks follow indices
    check_peers();
    check_buffers();
    if (found_.empty()) check_waits();
    return std::move(found_);
  }

 private:
  template <class... Args>
  void add(std::string_view place, fmt::format_string<Args...> form, Args&&... args) {
    if (found_.size() == kMostProgramProblems) return;
    Diagnostic wrong;
    wrong.message = fmt::format(form, std::forward<Args>(args)...);
    wrong.place = {fmt::format("program {}", place)};
    found_.push_back(std::move(wrong));
  }

  template <class List>
  void check_slice(std::string_view place, std::string_view what, std::uint32_t first,
                   std::uint32_t count, const List& list) {
    if (std::uint64_t{first} + count > list.size())
      add(place, "{} [{}, {}) lie outside the {} there are", what, first,
          std::uint64_t{first} + count, list.size());
  }

  void check_name(std::string_view place, NameId name) {
    if (name.valid() && name.value >= p_.names.size())
      add(place, "name {} lies outside the {} there are", name.value, p_.names.size());
  }

  void check_stage(std::string_view place, StageId stage) {
    if (std::int64_t{stage.value} >= p_.stages)
      add(place, "expected a stage below {}, found {}", p_.stages, stage.value);
  }

  void check_counts() {
    if (p_.devices < 1 || p_.stages < 1 || p_.replicas < 1 || p_.shard < 1 || p_.microbatches < 0)
      add("counts",
          "expected at least one device, stage, replica and shard rank, found {}, {}, {}, {}",
          p_.devices, p_.stages, p_.replicas, p_.shard);
  }

  // What a cost model may take for granted.
  void check_work(const std::string& place, const WorkCount& w) {
    const Work& work = w.work;
    if (work.flops.value < 0 || work.read.value < 0 || work.written.value < 0)
      add(place, "expected works of no fewer than 0 flops and bytes, found {}, {} and {}",
          work.flops.value, work.read.value, work.written.value);
    if (work.m < 0 || work.n < 0 || work.k < 0 || work.count < 0 || w.count < 0)
      add(place,
          "expected sizes and counts of no less than 0, found m={} n={} k={} products={} "
          "count={}",
          work.m, work.n, work.k, work.count, w.count);
    if (!(work.fill > 0 && work.fill <= 1))
      add(place, "expected works that fill more than 0 and at most 1 of a device, found {}",
          work.fill);
  }

  void check_tables() {
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
      const Task& task = p_.tasks[i];
      const std::string place = fmt::format("task {}", i);
      check_name(place, task.name);
      check_name(place, task.pass);
      check_stage(place, task.stage);
      check_slice(place, "works", task.first_work, task.works, p_.works);
      check_slice(place, "effects", task.first_effect, task.effects, p_.effects);
      if (task.bytes.value < 0) add(place, "{} bytes are negative", task.bytes.value);
      if (task.repeats < 1) add(place, "expected at least one repeat, found {}", task.repeats);
      if (task.ops < 1) add(place, "expected at least one op, found {}", task.ops);
      if (task.every < 1) add(place, "expected one step in at least 1, found {}", task.every);
      for (std::size_t w = task.first_work; w < p_.works.size(); ++w) {
        if (w >= std::size_t{task.first_work} + task.works) break;
        check_work(place, p_.works[w]);
      }
    }
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      const Buffer& buffer = p_.buffers[i];
      const std::string place = fmt::format("buffer {}", i);
      check_name(place, buffer.name);
      check_stage(place, buffer.stage);
      check_slice(place, "parts", buffer.first_part, buffer.parts, p_.parts);
      if (buffer.bytes.value < 0) add(place, "{} bytes are negative", buffer.bytes.value);
    }
    for (const BufferPart& part : p_.parts) check_name("part", part.name);
    for (const MemoryEffect& effect : p_.effects)
      if (effect.buffer.value >= p_.buffers.size())
        add("effect", "buffer {} lies outside the {} there are", effect.buffer.value,
            p_.buffers.size());
      else if (p_.buffers[effect.buffer.value].persistent)
        add("effect", "buffer {} is alive during the whole run and cannot be allocated or released",
            effect.buffer.value);
  }

  // Streams must cover the instructions one after the other.
  void check_streams() {
    std::uint64_t next = 0;
    for (const Stream& stream : p_.streams) {
      const std::string place = fmt::format("stream d{}/{}", stream.device.value, stream.name);
      if (std::int64_t{stream.device.value} >= p_.devices)
        add(place, "expected a device below {}, found {}", p_.devices, stream.device.value);
      if (stream.delay < Duration{})
        add(place, "a delay of {} ns is negative", stream.delay.count());
      if (stream.first != next)
        add(place, "expected its first instruction at {}, found {}", next, stream.first);
      next = std::uint64_t{stream.first} + stream.count;
    }
    if (next != p_.instructions.size())
      add("streams", "they hold {} instructions, and there are {}", next, p_.instructions.size());
  }

  void check_instructions() {
    const std::size_t count = p_.instructions.size(), tasks = p_.tasks.size(),
                      afters = p_.after.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Instruction& in = p_.instructions[i];
      if (in.task.value < tasks && std::uint64_t{in.first_after} + in.afters <= afters &&
          (!in.peer.valid() || in.peer.value < count))
        continue;
      const std::string place = fmt::format("instruction {}", i);
      if (in.task.value >= tasks)
        add(place, "task {} lies outside the {} there are", in.task.value, tasks);
      check_slice(place, "what it waits for", in.first_after, in.afters, p_.after);
      if (in.peer.valid() && in.peer.value >= count)
        add(place, "peer {} lies outside the {} instructions there are", in.peer.value, count);
    }
    for (InstructionId id : p_.after)
      if (id.value >= count)
        add("after", "instruction {} lies outside the {} there are", id.value, count);
  }

  void check_peers() {
    for (std::uint32_t i = 0; i < p_.instructions.size(); ++i) {
      const Instruction& in = p_.instructions[i];
      const Task& task = p_.task(in);
      const bool transfers = task.kind == TaskKind::Send || task.kind == TaskKind::Receive;
      if (!transfers && !in.peer.valid()) continue;
      const auto say = [&](std::string_view sentence) { add(describe(p_, {i}), "{}", sentence); };
      if (!transfers && !joins_copies(task))
        say("only a send, a receive or a collective between the copies of a stage has a peer");
      else if (!transfers)
        check_copies(i, in, task);
      else if (!in.peer.valid())
        say(task.kind == TaskKind::Send ? "this send has no receive" : "this receive has no send");
      else
        check_pair(i, in, task);
    }
  }

  static bool joins_copies(const Task& task) {
    return task.kind == TaskKind::Collective && task.group == Group::Copies;
  }

  void check_copies(std::uint32_t i, const Instruction& in, const Task& task) {
    const Task& other = p_.task(in.peer);
    if (p_.instructions[in.peer.value].peer != InstructionId{i} || !joins_copies(other) ||
        in.peer.value == i || other.stage != task.stage)
      add(describe(p_, {i}), "its peer {} is not its other end", describe(p_, in.peer));
  }

  void check_pair(std::uint32_t i, const Instruction& in, const Task& task) {
    const Task& other = p_.task(in.peer);
    const TaskKind wanted = task.kind == TaskKind::Send ? TaskKind::Receive : TaskKind::Send;
    if (p_.instructions[in.peer.value].peer != InstructionId{i} || other.kind != wanted)
      add(describe(p_, {i}), "its peer {} is not its counterpart", describe(p_, in.peer));
    else if (task.bytes != other.bytes && task.kind == TaskKind::Send)
      add(describe(p_, {i}), "it sends {} bytes, and {} receives {}", task.bytes.value,
          describe(p_, in.peer), other.bytes.value);
  }

  // Sums effects by task first, because they are the same for each of its instructions.
  void check_buffers() {
    std::vector<std::int64_t> runs(p_.tasks.size(), 0), allocated(p_.buffers.size(), 0),
        released(p_.buffers.size(), 0);
    for (const Instruction& in : p_.instructions) ++runs[in.task.value];
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      const Task& task = p_.tasks[t];
      for (std::uint32_t e = task.first_effect; e < task.first_effect + task.effects; ++e)
        (p_.effects[e].allocate ? allocated : released)[p_.effects[e].buffer.value] += runs[t];
    }
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (allocated[b] == released[b]) continue;
      const std::string place = fmt::format("buffer {} \"{}\" of stage {}", b,
                                            p_.name(p_.buffers[b].name), p_.buffers[b].stage.value);
      if (allocated[b] < released[b])
        add(place, "it is released {} times and allocated {} times", released[b], allocated[b]);
      else
        add(place, "{} of its {} allocations are never released", allocated[b] - released[b],
            allocated[b]);
    }
  }

  // A send and its receive begin together; every other instruction waits for the one before it in
  // its stream and for those that it names.
  void check_waits() {
    std::vector<Line> lines;
    for (const Stream& stream : p_.streams) lines.push_back({stream.first, stream.count});
    const auto blocker = [&](std::uint32_t i, std::vector<Progress>& progress) {
      const Instruction& in = p_.instructions[i];
      for (std::uint32_t a = in.first_after; a < in.first_after + in.afters; ++a)
        if (progress[p_.after[a].value] != Progress::Done) return p_.after[a].value;
      if (!in.peer.valid()) return kNothing;
      progress[i] = Progress::Arrived;
      return progress[in.peer.value] == Progress::Waiting ? in.peer.value : kNothing;
    };
    const auto circle = find_circle(lines, p_.instructions.size(), blocker);
    if (!circle.empty())
      add("streams", "instructions wait for each other: {}",
          describe(circle, [&](std::uint32_t i) { return describe(p_, InstructionId{i}); }));
  }

  const Program& p_;
  Diagnostics found_;
};

}  // namespace

Diagnostics verify(const Program& program) { return Verifier(program).run(); }

}  // namespace trainyard
