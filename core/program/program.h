// A Program is what each device does, in order: streams of instructions with the data they wait for
// and the memory they hold. It is complete (every send has its receive, every byte has an owner)
// and says nothing of time.
//
// Ranks that do the same work are lowered once and counted: the devices of a Program are pipeline
// ranks, each standing for all its tensor, context and data peers. What repeats for every
// microbatch is described once, as a Task; an Instruction is a task for one microbatch, so a
// million of them take some thirty megabytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/names.h"
#include "core/base/units.h"
#include "core/cluster/collective.h"
#include "core/model/op.h"
#include "core/plan/mesh.h"
#include "core/plan/placement.h"
#include "core/program/order.h"

namespace trainyard {

using TaskId = Id<struct TaskTag>;      // index into Program::tasks
using StreamId = Id<struct StreamTag>;  // index into Program::streams

/// What bytes are held for; the memory wave stacks in this order.
enum class Category : std::uint8_t {
  Framework,  // driver context and libraries, before any tensor exists
  Weights,
  OptimizerState,  // moments and master copies
  Gradients,
  Activations,    // kept from forward to backward
  Recomputed,     // rebuilt during backward
  Communication,  // gathered parameters, reduction buckets
  Workspace,      // lives within one op or action
};
inline constexpr int kCategories = 8;
std::string_view to_string(Category);  // "optimizer_state"

/// How a byte count is known.
enum class Provenance : std::uint8_t { Exact, Modelled, Measured, Guessed };
std::string_view to_string(Provenance);

/// What a buffer of an op-grain program holds, for whoever executes it.
enum class Holds : std::uint8_t {
  Other,
  Saved,      // item: index into Body::saved of its layer
  Transient,  // item: index into Body::transients of its layer
  Message,    // what a send or receive carries: the stage's output, or the gradient of its input
  Gathered,   // the layer's parameters in full (ZeRO 3)
  Unreduced,  // the layer's gradients in full (ZeRO 2 and 3); item 1: while they are scattered
  Weights,    // of the whole stage; item: which copy where waves have their own
  OlderWeights,
  Gradients,       // of the whole stage; item as above
  OptimizerState,  // of the whole stage; item as above
};

/// Bytes with an owner. One that is not persistent is allocated anew for every microbatch that
/// needs it.
struct Buffer {
  NameId name;  // "layers: attention scores"
  StageId stage;
  DeviceId device;  // that holds it
  Category category = Category::Workspace;
  Provenance provenance = Provenance::Exact;
  bool persistent = false;  // alive during the whole run
  Bytes bytes{};
  std::uint32_t first_part = 0, parts = 0;  // slice of Program::parts: what it is made of; may be
                                            // empty
  Holds holds = Holds::Other;
  std::int32_t layer = -1;  // op grain: of the model, counted over all blocks; -1 = of none
  std::int32_t item = -1;
};
struct BufferPart {
  NameId name;  // "layers.5 q_proj"
  Bytes bytes{};
};

/// An allocation or release that comes with an instruction.
struct MemoryEffect {
  BufferId buffer;
  bool allocate = true;  // else release
  bool at_end = false;   // when the instruction ends, else when it starts
};

/// HostCopy: over the link between the device and its host, one way. HostUpdate: the host updates
/// weights while the device does as it pleases.
enum class TaskKind : std::uint8_t { Compute, Collective, Send, Receive, HostCopy, HostUpdate };
inline bool is_host(TaskKind kind) {
  return kind == TaskKind::HostCopy || kind == TaskKind::HostUpdate;
}

/// Which list of a Body an op-grain task was written from.
enum class BodyList : std::uint8_t { None, Forward, Backward, Reduce, Gather };

/// Everything that instructions of one stage, phase and step have in common. Owned by the Program.
struct Task {
  TaskKind kind = TaskKind::Compute;
  Phase phase = Phase::Forward;
  NameId name;  // "forward", "q_proj", "all-reduce gradients"
  NameId pass;  // the lowering step or method that made it (Origin)
  StageId stage;
  NodeId node;                              // op grain: the node of the model; else invalid
  std::int32_t layer = -1;                  // op grain: layer of the model; -1 = none
  std::uint32_t first_work = 0, works = 0;  // slice of Program::works. Compute: summed. Collective:
                                            // at most one, the product that it runs beside, in
                                            // `count` pieces (core/cost/overlap.h)
  CollectiveKind collective = CollectiveKind::AllReduce;
  Group group = Group::Data;  // Collective: among whom
  std::int32_t repeats = 1;   // Collective: that many in a row, one a layer
  Bytes bytes{};    // Collective, Send: of one; HostCopy: all; HostUpdate: host memory read
                    // and written
  TensorId tensor;  // op grain, Collective: what it works on; invalid: parameters
  bool of_gradient = false;  // its gradient
  BodyList list = BodyList::None;
  std::int32_t op = -1;                         // op grain: index into that list
  std::uint32_t first_effect = 0, effects = 0;  // slice of Program::effects
};

struct Instruction {
  TaskId task;
  std::int32_t microbatch = 0;
  std::int16_t wave = 0, weights = 0;
  std::uint32_t first_after = 0;  // slice of Program::after: instructions that must have ended
  std::uint32_t afters = 0;
  InstructionId peer;  // Send and Receive: each other; so too the two ends of a collective between
                       // the copies of a stage (Group::Copies)
};

/// One resource of one device working in order. Half-open slice [first, first + count) of
/// Program::instructions.
struct Stream {
  DeviceId device;
  std::string name;  // "compute", "comm", "data", "send forward", "receive forward", "send
                     // backward" ...
  Duration delay{};  // may not begin earlier
  bool compute = false;
  std::uint32_t first = 0, count = 0;
};

struct Program {
  int devices = 1;                          // pipeline ranks
  int stages = 1;                           // virtual stages
  Placement placement = Placement::Cyclic;  // of stages on devices
  int microbatches = 1;                     // of one step
  int steps = 1;
  std::int64_t replicas = 1;  // real devices behind each pipeline rank
  std::vector<Stream> streams;
  std::vector<Instruction> instructions;  // of one stream, contiguous and in order
  std::vector<Task> tasks;
  std::vector<InstructionId> after;
  std::vector<WorkCount> works;
  std::vector<Buffer> buffers;
  std::vector<BufferPart> parts;
  std::vector<MemoryEffect> effects;
  Names names;
  std::int64_t shard = 1;  // size of the hybrid shard group, for Group::Shard

  const Task& task(const Instruction& i) const { return tasks[i.task.value]; }
  const Task& task(InstructionId id) const { return task(instructions[id.value]); }
  std::string_view name(NameId id) const { return names[id]; }
};

/// Of the stage's first copy.
DeviceId device_of(const Program&, StageId);
/// "stage 3 F12", "stage 0 all-reduce gradients": an instruction in words.
std::string describe(const Program&, InstructionId);

/// Everything wrong with it: sends without receives, waits that form a circle (named), slices out
/// of range, buffers released more often than allocated or left alive at the end.
Diagnostics verify(const Program&);
/// Of all that a run depends on, names included; not of which slices of the tables hold it. The
/// program must be one that verify() accepts.
std::uint64_t digest(const Program&);

}  // namespace trainyard
