// LayerCopies write the traffic of activations that leave a device layer by layer
// (core/methods/memory/offload.cpp has a drawing): what a layer keeps goes down to the host once
// nothing in forward reads it any more, and comes back before the layer's backward. A layer's copy
// down therefore has what the layer keeps, without its output but with the output of the layer
// before it. So many layers at once are under way (Layout::layers_in_flight, N):
//
//   down   a copy begins when its layer's forward has ended, and a layer's forward when all but the
//          N newest copies have, so that a slow link holds forwards up and not memory
//   up     a layer's copy begins with one of the N layers before it, the nearest of them from whose
//          start on it is hidden if every layer takes its predicted time; the earliest if none
//          hides it, or if no times are predicted
//
// Where a stage's backward follows its forward at once, its last N + 1 layers stay: while the first
// of them is in backward no more is held than while the last was in forward.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "core/lowering/draft.h"
#include "core/lowering/stage_copies.h"

namespace trainyard {

/// A LeavingLayer says what a layer of a stage sends to the host, and has the layer's computations
/// and blocking collectives.
struct LeavingLayer {
  int layer = 0;               // index in the model
  std::vector<BufferId> kept;  // without its output
  BufferId output;             // invalid: it is not kept, or does not leave
  std::vector<TaskId> forward, backward;
};

/// The bytes of a layer that leave for the host between its forward and its backward.
struct LeavingBytes {
  Bytes all{}, output{};
};
LeavingBytes leaving_bytes(const Workload&, const Body&);
/// Returns the LeavingBytes of each layer of the stage, in order of data flow.
std::vector<LeavingBytes> leaving_bytes(const Workload&, StageId);
/// The most that layers of the stage under way hold on the device beside what is kept there: of one
/// that is in forward or in backward, of those in flight next to it, and one more layer's output.
Bytes most_in_motion(const Workload&, StageId);
/// Returns the most that the host has of one microbatch of the stage; `turn` says that backward
/// follows forward at once.
Bytes away_bytes(const Workload&, StageId, bool turn);

/// Marks, by action of the lane, the forwards that their own backward follows at once, and these
/// backwards.
std::vector<bool> turns(const Lane&);
/// Returns whether a layer of a stage with so many layers stays on the device in such a turn.
inline bool stays_in_turn(std::size_t layer, std::size_t layers, std::size_t in_flight) {
  return layer + in_flight + 1 >= layers;
}

class LayerCopies {
 public:
  LayerCopies(const Workload&, const StageCopies&, const Order&, Draft&);

  /// The streams of a device on which copies go down and come up.
  void set_streams(DeviceId, std::uint32_t down, std::uint32_t up);
  /// Call once per place, in their order, with all layers of the stage in order of data flow.
  void add_place(const std::vector<LeavingLayer>&);

  /// The action of the lane is written next. The calls below are about it, layer by layer in the
  /// order in which it takes them; `layer` counts the layers of its stage.
  void begin(std::size_t lane, std::size_t action, std::size_t place, const Action&);
  /// Returns what the layer waits for besides `ready`: a forward for copies down, a backward for
  /// its copy up, which this call writes.
  Refs before(std::size_t layer, const Refs& ready);
  /// A layer's forward has been written, and ends with `done`: writes its copy down.
  void after(std::size_t layer, const Refs& done);
  /// The forward has been written, and nothing reads its output after `gone`: writes the copy down
  /// of that, where it is kept.
  void end(const Refs& gone);

  /// Lets each copy up wait for the nearest layer that hides it by these predicted times of tasks;
  /// without them, for the earliest. Call once, after all actions.
  void choose_starts(const std::function<std::vector<Duration>(const Program&)>& price);

 private:
  struct Copies {
    TaskId down;    // invalid where it carries nothing; so are the others
    TaskId output;  // its output alone, which no copy of a layer behind it has
    TaskId up;
    std::vector<TaskId> forward, backward;
  };
  /// A layer in forward or backward.
  struct Step {
    Refs ready;  // it begins after these
    const std::vector<TaskId>* tasks = nullptr;
    Ref up;  // the copy for which it waits, if one comes back for it
    TaskId copy;
    Ref there;  // the copy down of the same
  };
  using Kept = std::tuple<std::uint32_t, std::int32_t, std::size_t>;  // stage, microbatch, layer
  struct Moves {
    std::vector<bool> turns;    // by action
    std::deque<Ref> down;       // the newest ones, N + 1 at most
    std::map<Kept, Ref> there;  // the last copy down of some of it
    std::vector<Step> steps;
  };

  bool stays(std::size_t layer) const;
  Kept key(std::size_t layer) const { return {action_.stage.value, action_.microbatch, layer}; }
  Ref send(TaskId copy, const Refs& gone);
  void choose_starts(const Moves&, const std::vector<Duration>& times);
  /// The step with whose start the copy for step `at` may begin, `distance` steps before it.
  void start_with(const Moves&, std::size_t at, std::size_t distance);

  const StageCopies& places_;
  Draft& draft_;
  const std::size_t in_flight_;
  struct Streams {
    std::uint32_t down = 0, up = 0;
  };
  std::vector<Streams> streams_;             // by device
  std::vector<std::vector<Copies>> copies_;  // by place and layer
  std::vector<Moves> moves_;                 // by lane
  // The action that is being written.
  std::size_t lane_ = 0, place_ = 0;
  bool turns_ = false;
  Action action_{};
};

}  // namespace trainyard
