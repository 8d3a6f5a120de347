// An Order says which device works on which microbatch and in which sequence: lanes of actions, and
// further precedences between them. It contains no times; waiting times result from a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/placement.h"

namespace trainyard {

/// Written F, B, I, W, U in text. Backward is the input and weight gradient as one action.
enum class Phase : std::uint8_t { Forward, Backward, BackwardInput, BackwardWeight, Update };
char letter(Phase);

struct Action {
  Phase phase = Phase::Forward;
  StageId stage;
  // Counted across replicas and steps, so that an action is unique; for an Update, the step.
  std::int32_t microbatch = 0;
  // The index among several flows through the pipeline: a wave of tick-tock, or the copy of the
  // stage that it uses under a bidirectional placement.
  std::int16_t wave = 0;
  // The weight version that it reads (or, for an update, writes); version 0 exists at the start.
  std::int16_t weights = 0;
  // It runs together with the action before it in its lane, a forward beside a backward: both begin
  // when what both need is there, and the lane's next action begins when both have ended. What
  // their layers send meanwhile is hidden by what the other one computes (DualPipe).
  bool paired = false;
  friend auto operator<=>(const Action&, const Action&) = default;
};

struct Lane {
  DeviceId device;
  std::string name;               // "compute", "wave 1"
  Duration delay{};               // earliest start after the run's start
  std::vector<Action> actions{};  // executed in order
  // How far each of its forwards begins behind the same one, counted from the lane's start, of the
  // lane before it on its device: a part, in [0, 1], of a cycle, which is the forward and backward
  // of one microbatch. It is counted in work that the other lane has done, not in time, so that the
  // lanes keep their distance however long their work takes.
  double behind = 0;
  friend bool operator==(const Lane&, const Lane&) = default;
};

struct Precedence {
  Action before, after;
  friend bool operator==(const Precedence&, const Precedence&) = default;
};

struct Order {
  std::vector<Lane> lanes;
  std::vector<Precedence> precedences;
  friend bool operator==(const Order&, const Order&) = default;
};

/// The times of one microbatch on one stage, for schedules that depend on them.
struct PhaseTimes {
  Duration forward{1}, backward_input{1}, backward_weight{1}, transfer{0};
  // Of a forward and of a whole backward, how long layers wait for messages of their own, of tensor
  // or expert ranks, which the other action of a pair can hide. Zero where weights are gathered
  // within actions: both of a pair would wait for the same links.
  Duration forward_waits{0}, backward_waits{0};
  Duration cycle() const { return forward + backward_input + backward_weight; }
  /// The mean where these are the sums over `stages` stages, and the time of one transfer.
  PhaseTimes over(std::int64_t stages) const {
    return {forward / stages, backward_input / stages, backward_weight / stages,
            transfer,         forward_waits / stages,  backward_waits / stages};
  }
};

/// The request to a schedule: microbatches of one replica and step. An order without updates is one
/// step whatever `steps` says; one with updates counts microbatches across all steps.
struct ScheduleShape {
  int devices = 1, stages = 1, microbatches = 1, steps = 1;
  PhaseTimes times{};
  Placement placement = Placement::Cyclic;
  int forward_only = 0;  // how many of the first stages have no backward: their layers are frozen
};

/// The index of the lane before this one among the lanes of its device that have actions; kNoLane
/// if it is the first of them.
std::size_t lane_before(const Order&, std::size_t lane);
inline constexpr std::size_t kNoLane = static_cast<std::size_t>(-1);
/// Whether the action at this position of the lane runs together with the one after it.
inline bool begins_pair(const Lane& lane, std::size_t position) {
  return position + 1 < lane.actions.size() && lane.actions[position + 1].paired;
}
bool has_pairs(const Lane&);
bool has_pairs(const Order&);
/// Returns whether the order contains updates, so that steps overlap. Any other order is
/// synchronous: lowering updates all weights after it and repeats it for the next step.
bool has_updates(const Order&);
/// The number of steps that it covers, at least 1, with `microbatches` in each.
int steps_of(const Order&, int microbatches);

/// Text such as "3F12", followed by "/1" for wave 1 and "@4" for weight version 4 if they are not
/// 0.
std::string to_text(const Action&);
/// One lane per line: "d0/compute  0F0 0F1 0B0", with " +1500ns" after the name for a delay and
/// " +0.5 cycles" for a lane that is half a cycle behind the one before it, and "&" before an
/// action that runs together with the one before it: "0F9 &0B3"; then one precedence per line: "0F0
/// < 1F0", which does not tell whether they are paired. A lane's name is UTF-8 without control
/// characters, two consecutive spaces or a space at its end.
std::string to_text(const Order&);
/// The exact inverse; blank lines are ignored. Throws Error{InvalidInput} with line, column,
/// expected and found.
Order parse_order(std::string_view, const Place& = {"order"});

/// All errors of the order as data: a duplicate action, a backward without or before its forward or
/// on a stage that has forwards alone, a split backward beside a whole one, a missing microbatch,
/// an unknown stage, a weight version that is read before it is written or written out of sequence,
/// a gradient that no update applies, a pair that is not a forward and a backward, or on a device
/// of several lanes, and lanes, pairs and data dependencies that wait for each other.
Diagnostics check(const Order&, const ScheduleShape&);

}  // namespace trainyard
