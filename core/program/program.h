// A Program is what each device does, in order: streams of instructions with the data they wait for
// and the memory they hold. It is complete (every send has its receive, every byte has an owner)
// and contains no times.
//
// Ranks that do the same work are lowered once and counted: the devices of a Program are pipeline
// ranks, each representing all its tensor, context and data peers. What repeats for every
// microbatch is described once, as a Task; an Instruction is a task for one microbatch, so that a
// million instructions take some thirty megabytes.
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

/// What bytes are held for; memory waves stack categories in this order.
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

/// How a number of bytes is known.
enum class Provenance : std::uint8_t { Exact, Modelled, Measured, Guessed };
std::string_view to_string(Provenance);

/// The contents of a buffer of an op-grain program, for executors.
enum class Holds : std::uint8_t {
  Other,
  Saved,      // item: index into Body::saved of its layer
  Transient,  // item: index into Body::transients of its layer
  Message,    // a stage's output, or its input's gradient, in transit
  Gathered,   // the layer's full parameters (ZeRO 3); persistent: those of the whole stage
  Unreduced,  // the layer's full gradients (ZeRO 2 and 3); item 1: while scattered
  Weights,    // of the whole stage; item: the copy, if waves have their own
  OlderWeights,
  Gradients,       // of the whole stage; item as above
  OptimizerState,  // of the whole stage; item as above
};

/// Bytes with an owner. A buffer that is not persistent is allocated anew for every microbatch that
/// needs it.
struct Buffer {
  NameId name;  // "layers: attention scores"
  StageId stage;
  DeviceId device;  // the device that holds it
  Category category = Category::Workspace;
  Provenance provenance = Provenance::Exact;
  bool persistent = false;  // allocated during the whole run
  Bytes bytes{};
  // Slice of Program::parts, of which it consists; may be empty.
  std::uint32_t first_part = 0, parts = 0;
  Holds holds = Holds::Other;
  std::int32_t layer = -1;  // op grain: index in the model over all blocks; -1 = none
  std::int32_t item = -1;
};
struct BufferPart {
  NameId name;  // "layers.5 q_proj"
  Bytes bytes{};
};

/// An allocation or release by an instruction.
struct MemoryEffect {
  BufferId buffer;
  bool allocate = true;  // otherwise it is a release
  bool at_end = false;   // at the instruction's end, otherwise at its start
};

/// HostCopy moves data over the link between the device and its host, one way. HostUpdate is an
/// update of weights by the host, during which the device is free. NvmeRead and NvmeWrite move data
/// between the NVMe of a node and its host's memory.
enum class TaskKind : std::uint8_t {
  Compute,
  Collective,
  Send,
  Receive,
  HostCopy,
  HostUpdate,
  NvmeRead,
  NvmeWrite
};
std::string_view to_string(TaskKind);  // "host copy"
inline bool is_nvme(TaskKind kind) {
  return kind == TaskKind::NvmeRead || kind == TaskKind::NvmeWrite;
}
/// Says whether a host does it, alone, with its device or with its NVMe.
inline bool is_host(TaskKind kind) {
  return kind == TaskKind::HostCopy || kind == TaskKind::HostUpdate || is_nvme(kind);
}

/// The list of a Body from which an op-grain task was written.
enum class BodyList : std::uint8_t { None, Forward, Backward, Reduce, Gather };

/// What instructions of one stage, phase and step have in common. Tasks are owned by the Program.
struct Task {
  TaskKind kind = TaskKind::Compute;
  Phase phase = Phase::Forward;
  NameId name;  // "forward", "q_proj", "all-reduce gradients"
  NameId pass;  // the lowering step or method that made it (Origin)
  StageId stage;
  NodeId node;              // op grain: the node of the model; else invalid
  std::int32_t layer = -1;  // op grain: layer of the model; -1 = none
  // Slice of Program::works. Compute: their sum. Collective: at most one, the product beside which
  // it runs, in `count` pieces (core/cost/overlap.h).
  std::uint32_t first_work = 0, works = 0;
  CollectiveKind collective = CollectiveKind::AllReduce;
  Group group = Group::Data;  // Collective: the group of ranks
  std::int32_t repeats = 1;   // Collective: number in a row, one per layer
  // Collective, Send: bytes of one; HostCopy, NvmeRead, NvmeWrite: all bytes; HostUpdate: host
  // memory read and written.
  Bytes bytes{};
  // Op grain, Collective: the tensor on which it works; invalid: parameters.
  TensorId tensor;
  bool of_gradient = false;  // whether it is that tensor's gradient
  BodyList list = BodyList::None;
  std::int32_t op = -1;                         // op grain: index into that list
  std::uint32_t first_effect = 0, effects = 0;  // slice of Program::effects
  std::int32_t ops = 1;  // op grain: so many of the list, of one stage of operators
  // Collective: one step in so many has it, and its price is the mean over these steps.
  std::int32_t every = 1;
};

struct Instruction {
  TaskId task;
  std::int32_t microbatch = 0;
  std::int16_t wave = 0, weights = 0;
  // Slice of Program::after: the instructions that must have ended.
  std::uint32_t first_after = 0;
  std::uint32_t afters = 0;
  // The other end: of a Send or Receive, and of a collective between two copies of a stage
  // (Group::Copies).
  InstructionId peer;
};

/// One resource of one device, which works in order. The instructions are [first, first + count) of
/// Program::instructions.
struct Stream {
  DeviceId device;
  std::string name;  // "compute", "comm", "data", "send forward", "receive forward", "send
                     // backward" ...
  Duration delay{};  // earliest start
  bool compute = false;
  std::uint32_t first = 0, count = 0;
};

struct Program {
  int devices = 1;                          // pipeline ranks
  int stages = 1;                           // virtual stages
  Placement placement = Placement::Cyclic;  // of stages on devices
  int microbatches = 1;                     // of one step
  int steps = 1;
  std::int64_t replicas = 1;  // real devices that each pipeline rank represents
  std::vector<Stream> streams;
  std::vector<Instruction> instructions;  // contiguous and in order for each stream
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

/// The device of the stage's first copy.
DeviceId device_of(const Program&, StageId);
/// An instruction in words: "stage 3 F12", "stage 0 all-reduce gradients".
std::string describe(const Program&, InstructionId);

/// All errors of the program: sends without receives, circular waits (named), slices out of range,
/// buffers released more often than allocated or still allocated at the end.
Diagnostics verify(const Program&);
/// A digest of everything on which a run depends, including names, but not of how slices are laid
/// out in the tables. The program must be one that verify() accepts.
std::uint64_t digest(const Program&);

}  // namespace trainyard
