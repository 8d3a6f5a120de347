// Lowering turns a scenario into the Program that devices run, by a flat list of steps (lower.cpp),
// at one of two grains.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/base/stop.h"
#include "core/lowering/stage_work.h"
#include "core/methods/body.h"
#include "core/methods/layer_policy.h"
#include "core/plan/stages.h"
#include "core/program/program.h"

namespace trainyard {

/// Order: one instruction per phase, collective, send and receive of a stage and microbatch.
/// Op: one instruction per operator.
enum class Grain : std::uint8_t { Order, Op };

/// All that is wrong with a scenario: structure, each method's check, pairs that do not go
/// together. The plan need not be complete. No error means that lower() will not throw.
Diagnostics check(const Scenario&);

/// What the methods made of each kind of layer, before any microbatch is laid out. Both grains and
/// the closed form start here.
struct Workload {
  Scenario scenario;  // plan complete
  Layout layout;
  std::vector<Body> bodies;                 // one a kind of layer and policy of recomputation
  Placement placement = Placement::Cyclic;  // the schedule's
  std::vector<Stage> table;                 // as stages(): layers of each virtual stage
  struct Run {
    int body = 0;  // index into bodies
    int count = 1;
    int first_layer = 0;  // of the model, counted over all blocks
  };
  std::vector<std::vector<Run>> runs;        // per virtual stage, in order of data flow
  std::vector<StageWork> kinds;              // stages of equal layers are of one kind
  std::vector<std::uint32_t> kind_of;        // by virtual stage: index into kinds
  std::vector<Work> kernels;                 // every work of every kind of stage, each once
  std::int64_t shard = 1;                    // hybrid shard group
  std::array<GroupShape, kGroups> groups{};  // by Group
  std::size_t pipeline_level = 0;            // that messages between stages cross
  Bytes largest_message{};                   // between any two stages
  std::optional<Order> edited;               // the plan's own order; nothing: its schedule's
};
/// Throws Error{InvalidInput} listing all that check() finds wrong.
Workload prepare(const Scenario&);
/// The same without a copy and without a throw: `found` is what check() finds, and with an error
/// among it the workload holds the scenario only.
Workload prepare(Scenario&&, Diagnostics& found);
/// The body of a block's layers in that workload under another policy of recomputation; of a block
/// that is no layer, its own.
Body layer_body(const Workload&, int block, const LayerPolicy&);

struct LowerOptions {
  Grain grain = Grain::Order;
  int steps = 0;  // exactly so many; 0: see schedule_shape()
  bool verify = true;
  PhaseTimes times{};                 // for schedules that need them
  std::vector<Bytes> framework = {};  // held beside tensors, by device (process_bytes()); empty =
                                      // the device's context
  Stop stop = {};
};
/// Throws Error{InvalidInput} as prepare() does, and Error{Cancelled} when stopped.
Program lower(const Workload&, const LowerOptions& = {});
Program lower(const Scenario&, const LowerOptions& = {});
/// Follows this order instead of the schedule's own. It must be one that check() accepts for the
/// schedule's shape with that many steps.
Program lower(const Workload&, const Order&, int steps, const LowerOptions& = {});
/// The shape in which the schedule lays out the plan: `steps` steps or, where that is 0, one, and
/// of an asynchronous schedule as many as it takes to settle and one more; results speak of the one
/// in the middle (step_window()).
ScheduleShape schedule_shape(const Workload&, const PhaseTimes& = {}, int steps = 0);
/// The same of a complete plan.
ScheduleShape schedule_shape(const Plan&, const PhaseTimes& = {}, int steps = 0);
/// Whether its order has input and weight gradients as actions of their own.
bool splits_backward(const Workload&);
/// The plan's own order, else that of its schedule, as lower() follows it.
Order order(const Workload&, const ScheduleShape&);

}  // namespace trainyard
