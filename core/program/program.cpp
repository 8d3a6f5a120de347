#include "core/program/program.h"

#include <fmt/format.h>

#include <bit>

#include "core/base/digest.h"

namespace trainyard {
namespace {

/// Digest of whole words, several times as fast as the one of bytes: programs are long.
class WordDigest {
 public:
  template <class... Words>
  void add(Words... words) {
    (mix(static_cast<std::uint64_t>(words)), ...);
  }
  void add_text(std::string_view text) { add(digest(text), text.size()); }
  std::uint64_t value() const { return state_; }

 private:
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15ull;
    state_ ^= state_ >> 32;
  }
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

void add(WordDigest& d, const Stream& s) {
  d.add(s.device.value, s.delay.count(), s.compute, s.first, s.count);
  d.add_text(s.name);
}

void add(WordDigest& d, const Instruction& i) {
  const auto pair = [](auto high, auto low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  };
  d.add(pair(i.task.value, i.microbatch), pair(i.wave, i.weights), pair(i.first_after, i.afters),
        i.peer.value);
}

void add(WordDigest& d, const Task& t) {
  d.add(t.kind, t.phase, t.name.value, t.pass.value, t.stage.value, t.node.value, t.layer);
  d.add(t.first_work, t.works, t.collective, t.group, t.repeats, t.bytes.value, t.first_effect,
        t.effects);
}

void add(WordDigest& d, const WorkCount& w) {
  d.add(std::bit_cast<std::uint64_t>(w.work.flops.value), w.work.read.value, w.work.written.value,
        w.work.kind, w.work.math, w.work.m, w.work.n, w.work.k, w.work.count,
        std::bit_cast<std::uint64_t>(w.work.fill));
  d.add(w.count, w.pass, w.recomputed);
}

void add(WordDigest& d, const Buffer& b) {
  d.add(b.name.value, b.stage.value, b.category, b.provenance, b.persistent, b.bytes.value,
        b.first_part, b.parts);
}

void add(WordDigest& d, const BufferPart& p) { d.add(p.name.value, p.bytes.value); }
void add(WordDigest& d, const MemoryEffect& e) { d.add(e.buffer.value, e.allocate, e.at_end); }
void add(WordDigest& d, InstructionId id) { d.add(id.value); }

template <class T>
void add(WordDigest& d, const std::vector<T>& list) {
  d.add(list.size());
  for (const T& entry : list) add(d, entry);
}

/// "F12", "B3/1": the action without its stage.
std::string phase_and_microbatch(const Task& task, const Instruction& in) {
  std::string text = fmt::format("{}{}", letter(task.phase), in.microbatch);
  if (in.wave != 0) text += fmt::format("/{}", in.wave);
  if (in.weights != 0) text += fmt::format("@{}", in.weights);
  return text;
}

// Gradients and weights of all microbatches together.
bool is_once_a_step(Group group) {
  return group == Group::Data || group == Group::ExpertData || group == Group::Shard ||
         group == Group::Replica;
}

}  // namespace

std::string_view to_string(Category category) {
  switch (category) {
    case Category::Framework:
      return "framework";
    case Category::Weights:
      return "weights";
    case Category::OptimizerState:
      return "optimizer_state";
    case Category::Gradients:
      return "gradients";
    case Category::Activations:
      return "activations";
    case Category::Recomputed:
      return "recomputed";
    case Category::Communication:
      return "communication";
    case Category::Workspace:
      return "workspace";
  }
  return "";
}

std::string_view to_string(Provenance provenance) {
  switch (provenance) {
    case Provenance::Exact:
      return "exact";
    case Provenance::Modelled:
      return "modelled";
    case Provenance::Measured:
      return "measured";
    case Provenance::Guessed:
      return "guessed";
  }
  return "";
}

DeviceId device_of(const Program& program, StageId stage) {
  return {stage.value % static_cast<std::uint32_t>(program.devices)};
}

std::string describe(const Program& program, InstructionId id) {
  const Instruction& in = program.instructions[id.value];
  const Task& task = program.task(in);
  std::string text = fmt::format("stage {}", task.stage.value);
  const bool once = task.kind == TaskKind::Collective && is_once_a_step(task.group);
  if (!once) text += " " + phase_and_microbatch(task, in);
  const bool one_op = task.node.valid() || task.layer >= 0;
  if (task.layer >= 0) text += fmt::format(" layer {}", task.layer);
  if (task.kind != TaskKind::Compute || one_op) text += fmt::format(" {}", program.name(task.name));
  return text;
}

std::uint64_t digest(const Program& p) {
  WordDigest d;
  d.add(p.devices, p.stages, p.microbatches, p.replicas, p.shard);
  add(d, p.streams);
  add(d, p.instructions);
  add(d, p.tasks);
  add(d, p.after);
  add(d, p.works);
  add(d, p.buffers);
  add(d, p.parts);
  add(d, p.effects);
  d.add(p.names.size());
  for (std::uint32_t i = 0; i < p.names.size(); ++i) d.add_text(p.names[NameId{i}]);
  return d.value();
}

}  // namespace trainyard
