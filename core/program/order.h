// An Order says who works on which microbatch after which: lanes of actions, and what must precede
// what beyond that. It never says when; waiting is what a run finds out.
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

/// F, B, I, W, U in text. Backward is input and weight gradient as one action.
enum class Phase : std::uint8_t { Forward, Backward, BackwardInput, BackwardWeight, Update };
char letter(Phase);

struct Action {
  Phase phase = Phase::Forward;
  StageId stage;
  std::int32_t microbatch = 0;  // counts on through replicas and steps, so that an action is
                                // unique; Update: the step
  std::int16_t wave = 0;     // which of several flows through the pipeline: tick-tock's waves, the
                             // copy of its stage that it uses under a bidirectional placement
  std::int16_t weights = 0;  // the weight version it reads (or, an update, writes); version 0 is
                             // there at the start
  friend auto operator<=>(const Action&, const Action&) = default;
};

struct Lane {
  DeviceId device;
  std::string name;               // "compute", "wave 1"
  Duration delay{};               // how long after the run's start it may begin
  std::vector<Action> actions{};  // worked through in order
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

/// Times of one microbatch on one stage, for schedules that depend on them.
struct PhaseTimes {
  Duration forward{1}, backward_input{1}, backward_weight{1}, transfer{0};
  Duration cycle() const { return forward + backward_input + backward_weight; }
};

/// What a schedule is asked for: microbatches of one replica and step. An order without updates is
/// one step, whatever `steps` says; one with updates counts microbatches on through all steps.
struct ScheduleShape {
  int devices = 1, stages = 1, microbatches = 1, steps = 1;
  PhaseTimes times{};
  Placement placement = Placement::Cyclic;
};

/// Whether it writes weights itself, so that steps flow into each other. Any other order is
/// synchronous: lowering updates all weights after it, and repeats it for the next step.
bool has_updates(const Order&);
/// Steps that it covers, at least 1, where each has so many microbatches.
int steps_of(const Order&, int microbatches);

/// "3F12", with "/1" for wave 1 and "@4" for weight version 4 where they are not 0.
std::string to_text(const Action&);
/// One lane a line: "d0/compute  0F0 0F1 0B0", " +1500ns" after the name for a delay; then the
/// precedences, one a line: "0F0 < 1F0". A lane's name is UTF-8
/// without control characters, two spaces in a row or one at its end.
std::string to_text(const Order&);
/// The exact reverse; blank lines count for nothing. Throws Error{InvalidInput} with line, column,
/// expected and found.
Order parse_order(std::string_view, const Place& = {"order"});

/// Everything wrong with it as data: an action twice, a backward without or before its forward, a
/// split backward beside a whole one, a missing microbatch, an unknown stage, a weight version that
/// is read before it is written or written out of turn, a gradient that no update applies, lanes
/// and data dependencies that wait for each other.
Diagnostics check(const Order&, const ScheduleShape&);

}  // namespace trainyard
