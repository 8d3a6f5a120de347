// A Pipeline is a ScheduleProblem stored as tables, and Lanes are orders of it stored as small
// numbers, for the solver's inner loops. Microbatches are interchangeable, so a lane says only
// which stage does what; the k-th pass of a kind belongs to microbatch k.
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

/// A pass in a lane. A backward that is not split is represented by its input gradient alone, with
/// the length of both.
using Part = std::uint16_t;
constexpr Part kForward = 0, kInput = 1, kWeight = 2;
/// A pass of one chunk of the lane's device, encoded as 4 chunk + pass.
using LaneStep = std::uint16_t;
constexpr LaneStep step_of(int chunk, Part pass) { return static_cast<LaneStep>(4 * chunk + pass); }
constexpr int chunk_of(LaneStep step) { return step / 4; }
constexpr Part part_of(LaneStep step) { return step % 4; }

struct Pipeline {
  int devices = 1, stages = 1, chunks = 1, microbatches = 1;
  bool split = true;
  std::vector<int> device, chunk;          // of each stage
  std::vector<int> stage;                  // of device d and its chunk c, at index d * chunks + c
  std::array<std::vector<Ticks>, 3> time;  // by pass and stage
  std::vector<Ticks> hop;                  // between stages s and s+1
  std::vector<std::int64_t> held;          // per stage and microbatch, from the forward on
  // The change of held memory: a forward's takes effect at its start, the others' at their ends.
  std::array<std::vector<std::int64_t>, 3> change;
  std::vector<std::int64_t> limit;  // of each device
  bool limited = false;
  std::vector<Ticks> head;  // the earliest time a device can begin
  std::vector<Ticks> work;  // of a device, for all microbatches
  Placement placement = Placement::Cyclic;

  int stage_at(int d, int c) const { return stage[at(d * chunks + c)]; }
  std::size_t lane_length() const { return at(chunks) * at(microbatches) * (split ? 3 : 2); }
};

/// Throws Error{InvalidInput} as solve() does.
Pipeline make_pipeline(const ScheduleProblem&);

/// An order: its lanes one after another, each lane_length() long.
struct Lanes {
  std::vector<LaneStep> steps;
  friend bool operator==(const Lanes&, const Lanes&) = default;
};

/// Lower is better. `first` is the figure that is minimised; `second` is the other of makespan and
/// span.
struct OrderScore {
  Ticks first = kNever, second = kNever;
  friend auto operator<=>(const OrderScore&, const OrderScore&) = default;
};
/// The score of devices that end at these times; a span begins at its device's head.
OrderScore score_of(const Pipeline&, const std::vector<Ticks>& ends, ScheduleObjective);

/// Computes the times of lanes; it reuses its tables from one call to the next. It is a second
/// clock beside time_order() because the solver times a million lanes, at 10 ns a pass: steps of
/// two bytes, microbatches in ascending order, nothing recorded but ends. Both agree to the
/// nanosecond (tests/planners/time_order_test.cpp).
class LaneClock {
 public:
  explicit LaneClock(const Pipeline&);
  /// When each device ends; null if the lanes deadlock. Takes time linear in the number of steps.
  const std::vector<Ticks>* time(const Lanes&);

 private:
  bool advance(int device, const LaneStep* lane);

  const Pipeline& pipeline_;
  std::vector<Ticks> forward_end_, input_end_, free_;
  std::vector<std::int32_t> done_;  // 3 stage + pass
  std::vector<std::size_t> next_;
};

/// Returns whether every device keeps its memory limit. This depends on the sequence alone, because
/// what a lane holds changes only at its own steps.
bool fits(const Pipeline&, const Lanes&);

/// The lanes of an order that has one lane per device and no delays, precedences or updates; empty
/// for any other. Microbatches are renamed so that every stage takes them in ascending order. This
/// makes nothing later: by the time a stage takes its k-th microbatch, the stage before has
/// finished k. If backwards are split, a whole backward becomes its two parts, which is no later
/// and holds no more memory.
std::optional<Lanes> lanes_of(const Pipeline&, const Order&);
Order order_of(const Pipeline&, const Lanes&);

}  // namespace trainyard
