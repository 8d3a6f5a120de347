// RecordedUnits are the pieces of work that a recording of one step shows, each named by the op or
// the family of kernels that it belongs to, so that they can be matched with the work of a plan.
//
// Where a recording has streams of an accelerator, each kernel is a piece. Where it has only what a
// framework did on the host, as PyTorch on a processor, an operator is a piece with all that it
// called: forward by its name ("aten::linear"), backward by the node of autograd that called it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// The part of a step that a piece of work belongs to. What is computed again for backward is part
/// of it.
enum class StepPart : std::uint8_t { Forward, Backward, Update, Communication };
/// Returns "forward", "communication".
const char* to_string(StepPart);

/// The key of work that its name tells nothing of.
inline constexpr std::string_view kOtherWork = "other work";

struct RecordedUnit {
  std::string_view key;  // an op ("layer_norm"), a family ("products"), or kOtherWork
  StepPart part = StepPart::Forward;
  Duration time{};
  Instant start{};
};

/// One step of one process.
struct RecordedStepUnits {
  std::uint32_t process = 0;
  std::int64_t number = 0;
  Duration length{};
  Duration gaps{};                  // in no piece and beside no communication
  std::vector<RecordedUnit> units;  // by start
};

/// Returns the complete steps of all processes, without the first of each where it has others,
/// because it warms up. A recording that marks no steps is one step as a whole.
std::vector<RecordedStepUnits> recorded_units(const RecordedTrace&);

/// Returns the op or family that an operator of a framework stands for, by its name on the host:
/// "aten::addmm", "autograd::engine::evaluate_function: AddmmBackward0". Empty where it only calls
/// others, or is unknown.
std::string_view op_of_host(std::string_view name);

}  // namespace trainyard
