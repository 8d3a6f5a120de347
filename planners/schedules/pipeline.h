// A ScheduleProblem as tables, and orders of it as lanes of small numbers: what the solver's inner
// loops read. Microbatches are alike, so a lane says only which stage does what; the k-th of a kind
// is microbatch k.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/program/order.h"
#include "planners/index.h"
#include "planners/schedules/schedule_problem.h"

namespace trainyard {

using Ticks = std::int64_t;  // nanoseconds
constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// A pass in a lane. A backward that is not split is its input gradient alone, as long as both.
using Part = std::uint16_t;
constexpr Part kForward = 0, kInput = 1, kWeight = 2;
/// A pass of one chunk of the lane's device: 4 chunk + pass.
using LaneStep = std::uint16_t;
constexpr LaneStep step_of(int chunk, Part pass) { return static_cast<LaneStep>(4 * chunk + pass); }
constexpr int chunk_of(LaneStep step) { return step / 4; }
constexpr Part part_of(LaneStep step) { return step % 4; }

struct Pipeline {
  int devices = 1, stages = 1, chunks = 1, microbatches = 1;
  bool split = true;
  std::vector<int> device, chunk;          // of each stage
  std::vector<int> stage;                  // of device d and its chunk c, at d chunks + c
  std::array<std::vector<Ticks>, 3> time;  // by pass and stage
  std::vector<Ticks> hop;                  // between stages s and s+1
  std::vector<std::int64_t> held;          // of a stage and microbatch, from the forward on
  std::array<std::vector<std::int64_t>, 3> change;  // of what is held: by a forward at its start,
                                                    // by the others at their ends
  std::vector<std::int64_t> limit;                  // of each device
  bool limited = false;
  std::vector<Ticks> head;  // before which a device cannot begin
  std::vector<Ticks> work;  // of a device, all microbatches
  Placement placement = Placement::Cyclic;

  int stage_at(int d, int c) const { return stage[at(d * chunks + c)]; }
  std::size_t lane_length() const { return at(chunks) * at(microbatches) * (split ? 3 : 2); }
};

/// Throws Error{InvalidInput} as solve() does.
Pipeline make_pipeline(const ScheduleProblem&);

/// An order, its lanes one after another, each lane_length() long.
struct Lanes {
  std::vector<LaneStep> steps;
  friend bool operator==(const Lanes&, const Lanes&) = default;
};

/// Lower is better: what is minimised, then the other of makespan and span.
struct OrderScore {
  Ticks first = kNever, second = kNever;
  friend auto operator<=>(const OrderScore&, const OrderScore&) = default;
};
/// Of devices that end then; a span begins at its device's head.
OrderScore score_of(const Pipeline&, const std::vector<Ticks>& ends, ScheduleObjective);

/// Times lanes; keeps its tables from one call to the next.
class LaneClock {
 public:
  explicit LaneClock(const Pipeline&);
  /// When each device ends; null where the lanes wait for each other. Linear in the steps.
  const std::vector<Ticks>* time(const Lanes&);

 private:
  bool advance(int device, const LaneStep* lane);

  const Pipeline& pipeline_;
  std::vector<Ticks> forward_end_, input_end_, free_;
  std::vector<std::int32_t> done_;  // 3 stage + pass
  std::vector<std::size_t> next_;
};

/// Whether every device keeps within its limit: a question of sequence alone, for what a lane holds
/// changes only at its own steps.
bool fits(const Pipeline&, const Lanes&);

/// Lanes of an order that is one lane a device, without delays, precedences or updates; nothing for
/// any other. Microbatches are renamed so that every stage takes them in their order, which makes
/// nothing later: by the time a stage takes its k-th, the stage before has finished k. Where
/// backwards are split, a whole one becomes its two parts: no later, and no more is held.
std::optional<Lanes> lanes_of(const Pipeline&, const Order&);
Order order_of(const Pipeline&, const Lanes&);

}  // namespace trainyard
