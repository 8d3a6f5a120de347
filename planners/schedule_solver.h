// Finds an order of forward, input-gradient and weight-gradient passes for a pipeline with given
// times and a memory limit: never worse than any schedule of the catalogue that keeps the limit,
// proven optimal where the case is small.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/program/order.h"

namespace trainyard {

/// One virtual stage: times and bytes of one microbatch.
struct StageCost {
  Duration forward{}, backward_input{}, backward_weight{};
  Bytes until_input{};   // held from the start of its forward to the end of its input gradient
  Bytes until_weight{};  // held from the start of its forward to the end of its weight gradient
};

struct ScheduleProblem {
  int devices = 1, microbatches = 1;
  Placement placement = Placement::Cyclic;  // Cyclic or V
  std::vector<StageCost> stages;            // a multiple of devices
  Duration transfer{};                      // one message between two devices; none within one
  std::vector<Bytes> limits;   // of each device, for what its microbatches hold; empty = no limit
  bool split_backward = true;  // else input and weight gradient are one action
};

/// An order under a problem's costs; nothing contends, and a pass starts as soon as its device, its
/// input and its memory's predecessor in the lane allow.
struct OrderTiming {
  Duration makespan{};          // from the first start to the last end
  Duration longest_span{};      // of any one device, from its own first start to its last end
  std::vector<Duration> spans;  // of each device, so measured
  std::vector<Bytes> peaks;     // of each device
  std::vector<std::vector<Duration>> starts;  // of each lane's actions
};
/// The order must be one that check() accepts.
OrderTiming time_order(const Order&, const ScheduleProblem&);

/// A schedule of the catalogue as it stands, whether or not it keeps the limits.
struct NamedSchedule {
  std::string name;
  Order order;
  OrderTiming timing;
};
/// Every one that is legal for these counts and this placement, synchronous and one lane a device;
/// without split backwards only those that have none. Throws Error{InvalidInput} as solve() does.
std::vector<NamedSchedule> named_schedules(const ScheduleProblem&);

/// What is minimised. Span is the schedule's bubble where every device updates its weights as soon
/// as it has ended, without a barrier (ZB-H2's case); Makespan is up to a barrier of all devices.
enum class ScheduleObjective : std::uint8_t { Makespan, Span };

struct SolvedSchedule {
  Order order;
  OrderTiming timing;
  Duration lower_bound{};  // no order within the limits is shorter
  bool optimal = false;    // proven: by search, or because the bound is reached; of Span, among
                           // orders in which microbatches do not overtake one another
  std::string found_by;    // "exhaustive search", "zb-h1", "list scheduling, lag 2" ...
  std::int64_t tried = 0;  // orders timed, or nodes visited
};

struct SolveOptions {
  ScheduleObjective objective = ScheduleObjective::Makespan;
  std::int64_t exhaustive_nodes = 50'000;  // of branch and bound before it gives up the proof
  Duration good_enough{};                  // of the objective: stops looking once it is reached
  std::stop_token stop = {};
};
/// Throws Error{InvalidInput} where a limit does not hold even one microbatch, naming the device,
/// what it needs and what it has; Error{Cancelled} when stopped.
SolvedSchedule solve(const ScheduleProblem&, const SolveOptions& = {});

/// One point of the trade of memory against bubble.
struct TradePoint {
  Bytes limit{};  // of every device
  SolvedSchedule solved;
};
/// From the least limit that is feasible to the one beyond which nothing is gained, at most
/// `points` of them, rising; makespans never rise.
std::vector<TradePoint> sweep_limits(const ScheduleProblem&, int points, const SolveOptions& = {});

}  // namespace trainyard
