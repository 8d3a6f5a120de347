// An Id is a 32-bit index with a type of its own, so that a StageId cannot be passed where a
// DeviceId is meant.
#pragma once

#include <compare>
#include <cstdint>

namespace trainyard {

/// An Id is an index into the vector that owns the things it names. kNone (all bits set) means "no
/// such thing" and is the default.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::uint32_t value = kNone;

  constexpr bool valid() const { return value != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using DeviceId = Id<struct DeviceTag>;  // a representative device: one per pipeline rank (see
                                        // program.h)
using StageId = Id<struct StageTag>;    // a virtual stage, in order of data flow; placement.h says
                                        // which device holds it
using InstructionId = Id<struct InstructionTag>;  // index into Program::instructions
using BufferId = Id<struct BufferTag>;            // index into Program::buffers
using WorkId = Id<struct WorkTag>;                // index into Program::works
using NameId = Id<struct NameTag>;                // index into Names
using TensorId = Id<struct TensorTag>;            // index into Graph::tensors of one block
using NodeId = Id<struct NodeTag>;                // index into Graph::nodes of one block

}  // namespace trainyard
