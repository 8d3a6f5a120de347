#include "core/program/program.h"

#include "core/base/digest.h"

namespace trainyard {

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
  return DeviceId{stage.value % static_cast<std::uint32_t>(program.devices)};
}

std::string describe(const Program& program, InstructionId id) {
  const Instruction& in = program.instructions[id.value];
  const Task& task = program.task(in);
  std::string text = "stage " + std::to_string(task.stage.value) + " ";
  if (task.kind == TaskKind::Compute && task.layer < 0 && task.phase != Phase::Update)
    return text + letter(task.phase) + std::to_string(in.microbatch);
  text += program.name(task.name);
  if (task.layer >= 0) text += " of layer " + std::to_string(task.layer);
  if (task.phase == Phase::Update) return text + " of step " + std::to_string(in.microbatch);
  return text + " of " + letter(task.phase) + std::to_string(in.microbatch);
}

namespace {

template <class... Numbers>
void add(Digest& digest, Numbers... numbers) {
  (digest.add(static_cast<std::int64_t>(numbers)), ...);
}

void add(Digest& digest, const Work& w) {
  // Operation counts are whole numbers that a double holds exactly up to 2^53; beyond, its rounding
  // is the same everywhere.
  add(digest, w.flops.value < 9e18 ? static_cast<std::int64_t>(w.flops.value) : -1, w.read.value,
      w.written.value, static_cast<int>(w.kind), static_cast<int>(w.math), w.m, w.n, w.k, w.count,
      static_cast<std::int64_t>(w.fill * 1e9));
}

}  // namespace

std::uint64_t digest(const Program& p) {
  Digest d;
  add(d, p.devices, p.stages, p.microbatches, p.replicas, p.shard);
  for (const Stream& s : p.streams) {
    d.add(s.name);
    add(d, s.device.value, s.delay.count(), s.compute, s.first, s.count);
  }
  for (const Instruction& i : p.instructions)
    add(d, i.task.value, i.microbatch, i.wave, i.weights, i.first_after, i.afters, i.peer.value);
  for (const Task& t : p.tasks) {
    d.add(p.name(t.name)).add(p.name(t.pass));
    add(d, static_cast<int>(t.kind), static_cast<int>(t.phase), t.stage.value, t.node.value,
        t.layer, t.first_work, t.works, static_cast<int>(t.collective), static_cast<int>(t.group),
        t.repeats, t.bytes.value, t.first_effect, t.effects);
  }
  for (InstructionId id : p.after) add(d, id.value);
  for (const WorkCount& w : p.works) {
    add(d, w.work);
    add(d, w.count, static_cast<int>(w.pass), w.recomputed);
  }
  for (const Buffer& b : p.buffers) {
    d.add(p.name(b.name));
    add(d, b.stage.value, static_cast<int>(b.category), static_cast<int>(b.provenance),
        b.persistent, b.bytes.value, b.first_part, b.parts);
  }
  for (const BufferPart& part : p.parts) {
    d.add(p.name(part.name));
    add(d, part.bytes.value);
  }
  for (const MemoryEffect& e : p.effects) add(d, e.buffer.value, e.allocate, e.at_end);
  return d.value();
}

}  // namespace trainyard
