// A Lowering is what the steps of lower() share while they write one program: the draft, and what a
// step leaves for those after it. Each step is a function in a file of its name; lower.cpp lists
// them in order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/stop.h"
#include "core/lowering/boundaries.h"
#include "core/lowering/draft.h"
#include "core/lowering/host_lanes.h"
#include "core/lowering/phase_writer.h"
#include "core/lowering/stage_copies.h"
#include "core/lowering/transfers.h"

namespace trainyard {

/// One action as it was written, and on which device; invalid where no lane has the action.
struct WrittenAction {
  Written written;
  DeviceId device;
  bool exists() const { return device.valid(); }
};

/// An update that an asynchronous order itself asks for.
struct WrittenUpdate {
  std::uint32_t stage;
  std::int32_t index;
  std::int16_t weights;  // the version that it writes
  std::size_t lane;
  Ref ref;
};

struct Lowering {
  /// The workload, the order and the bytes of the framework must outlive it; the latter are by
  /// device and may be empty (LowerOptions::framework). Makes the messages between stages and the
  /// copies to the host known to the draft; the steps do the rest.
  Lowering(const Workload&, const Order&, int steps, Grain, const std::vector<Bytes>& framework,
           Stop);

  const Workload& workload;
  const Order& order;
  const Grain grain;
  const std::vector<Bytes>& framework;
  const Stop stop;
  const std::size_t stages;
  const int microbatches;  // of one step
  const int steps;
  const bool asynchronous;  // the order has updates of its own and holds all steps
  Draft draft;
  const StageCopies places;
  const Boundaries boundaries;
  Transfers transfers;
  HostLanes host;

  /// Left by make_streams(): the streams of each lane, and those of what runs together with them,
  /// which are only there where the order has pairs.
  std::vector<LaneState> lanes, paired;

  /// Left by make_phase_writer().
  std::unique_ptr<PhaseWriter> writer;

  /// Left by write_actions(): every action by stage and microbatch. Empty where each device has one
  /// lane and nothing precedes by decree: a lane works in order, so nobody asks.
  bool keeps_actions = false;
  std::vector<WrittenAction> forward, backward, backward_weight;
  std::vector<WrittenUpdate> updates;

  /// What write_actions() and update_weights.h hand each other, by lane and place: the gradients
  /// that an update waits for, and the weights that the next forward waits for.
  std::vector<std::vector<Refs>> reduced, arrived;
  struct UpdateKind {
    std::size_t place;
    int grows;      // the change of the number of older versions
    bool averages;  // it takes the mean of the waves' weights
    auto operator<=>(const UpdateKind&) const = default;
  };
  std::map<UpdateKind, TaskId> update_tasks;
  std::map<std::size_t, BufferId> older_weights;               // by place
  std::vector<TaskId> copies_tasks;                            // by stage
  std::function<std::vector<Duration>(const Program&)> price;  // as LowerOptions::price

  std::vector<WrittenAction>& actions_of(Phase phase) {
    return phase == Phase::Forward          ? forward
           : phase == Phase::BackwardWeight ? backward_weight
                                            : backward;
  }
  std::size_t cell(StageId stage, std::int32_t microbatch) const {
    return static_cast<std::size_t>(microbatch) * stages + stage.value;
  }
  /// The first lane of the order on the device; the number of lanes where it has none.
  std::size_t first_lane(DeviceId) const;
  /// How often the order is walked: once a step, or once where it holds all steps.
  int walks() const { return asynchronous ? 1 : steps; }
};

/// The compute and communication streams of every lane, the links and the lanes of the host.
void make_streams(Lowering&);
/// State that is there before the first instruction and after the last: the framework, weights,
/// gradients and optimizer state.
void hold_state(Lowering&);
/// The tasks of each stage's phases, at the lowering's grain.
void make_phase_writer(Lowering&);
/// The instructions: every lane is walked, with transfers around its actions, and weights are
/// updated after each walk or where the order says. Throws Error{Cancelled} when stopped.
void write_actions(Lowering&);
/// Chooses the layer with which each copy of activations that come back layer by layer begins.
void start_copies(Lowering&);
/// What actions of different lanes wait for: neighbours on one device, versions that another wave
/// writes, and the order's own precedences.
void add_waits_between_lanes(Lowering&);
/// The draft as a program.
Program finish(Lowering&);

}  // namespace trainyard
