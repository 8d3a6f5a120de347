// A Workload is a scenario as its methods have settled it: layers, stages and what they do, before
// any microbatch is laid out. Lowering, the closed form and the planners all work on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/lowering/stage_work.h"
#include "core/methods/layers/body.h"
#include "core/plan/stages.h"
#include "core/program/order.h"

namespace trainyard {

/// Order: one instruction per phase, collective, send and receive of a stage and microbatch.
/// Op: one instruction per operator.
enum class Grain : std::uint8_t { Order, Op };

/// What the methods made of each kind of layer, before any microbatch is laid out. Both grains and
/// the closed form start here.
struct Workload {
  Scenario scenario;  // plan complete
  Layout layout;
  std::vector<Body> bodies;                 // one per kind of layer and recomputation policy
  Placement placement = Placement::Cyclic;  // that of the schedule
  std::vector<Stage> table;                 // as stages(): layers of each virtual stage
  struct Run {
    int body = 0;  // index into bodies
    int count = 1;
    int first_layer = 0;  // of the model, counted over all blocks
  };
  std::vector<std::vector<Run>> runs;        // per virtual stage, in order of data flow
  std::vector<StageWork> kinds;              // stages with equal layers are of one kind
  std::vector<std::uint32_t> kind_of;        // by virtual stage: index into kinds
  std::vector<Work> kernels;                 // all works of all kinds of stages, without duplicates
  std::int64_t shard = 1;                    // hybrid shard group
  std::array<GroupShape, kGroups> groups{};  // by Group
  std::size_t pipeline_level = 0;            // level of links that messages between stages cross
  Bytes largest_message{};                   // between any two stages
  std::optional<Order> edited;               // the plan's own order; empty: its schedule's
};

/// The shape in which the schedule lays out the plan. With `steps` = 0 it has one step or, for an
/// asynchronous plan, as many as it needs to settle plus one; results refer to the middle step
/// (step_window()).
ScheduleShape schedule_shape(const Workload&, const PhaseTimes& = {}, int steps = 0);
/// Likewise for a scenario whose plan is complete and whose model is as its plan trains it.
ScheduleShape schedule_shape(const Scenario&, const PhaseTimes& = {}, int steps = 0);
/// Returns how many of the first stages have frozen layers alone, and so no backward.
int forward_only_stages(const Model&, const std::vector<Stage>&);

/// How an order runs its backwards: whole, in two parts, or some each way.
struct BackwardKinds {
  bool whole = false, split = false;
};
BackwardKinds backward_kinds(const Order&);
/// Returns whether input and weight gradients are separate actions in its order.
bool splits_backward(const Workload&);
/// The plan's own order, or else its schedule's, as lower() follows it.
Order order(const Workload&, const ScheduleShape&);

}  // namespace trainyard
