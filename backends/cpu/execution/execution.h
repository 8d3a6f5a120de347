// An Execution is the state of all devices of a run - arenas, weights, activations, messages - and
// what each instruction of its program does to it. It knows what must be done and nothing of when:
// a Driver (virtual_time.h, wall_clock.h) decides that, and calls in here once everything that an
// instruction waits for has ended.
//
// The devices behind a pipeline rank are its peers: one for each of its tensor, context and data
// ranks, all working through the same streams. An instance is an instruction on one peer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "backends/cpu/kernels/scratch.h"
#include "backends/cpu/live.h"
#include "backends/cpu/memory/arena.h"
#include "core/result/experiment.h"

namespace trainyard {

class Execution {
 public:
  virtual ~Execution() = default;
  virtual const Program& program() const = 0;
  virtual int peers() const = 0;

  /// Before every pass through the program; the first is 0. No instance is running.
  virtual void begin_repetition(int repetition) = 0;
  /// After it: losses are there, updates are done. No instance is running.
  virtual void end_repetition(int repetition) = 0;

  /// Takes what the instance allocates at its start and, of a computation, runs it on this thread.
  /// Two calls for one device (pipeline rank and peer) must not overlap; calls for different
  /// devices may. Throws Error{OutOfMemory}, Error{InvalidInput} naming the instruction.
  virtual void begin(InstructionId, int peer, Scratch&) = 0;
  /// A collective, or a send with its receive, once all of its members (see members()) have begun:
  /// moves and adds up between their arenas. On any one thread. Sums are in the order of ranks.
  virtual void exchange(InstructionId, std::span<const int> members) = 0;
  /// Gives back what the instance releases at its end.
  virtual void end(InstructionId, int peer) = 0;

  /// Peers that take part in the collective (or, a send: the peer itself) with this one, itself
  /// included, in rank order.
  virtual std::span<const int> members(InstructionId, int peer) const = 0;
  /// Updates that all stages of a step must reach before any may begin (global gradient norms,
  /// overflow): the driver starts such an update only when every other of its step is ready too.
  virtual bool updates_together() const = 0;

  virtual Arena& arena(DeviceId, int peer) = 0;
};

/// What a driver found out about a pass through the program.
struct DriverResult {
  Timeline timeline;  // of peer 0, times since the start of the repetition
};

/// Runs instances in an order that respects streams, `after`, peers and members.
class Driver {
 public:
  virtual ~Driver() = default;
  /// One pass. Blocks. Rethrows what an instance threw, naming it; throws Error{Cancelled} when
  /// stopped, Error{InvalidInput} on a deadlock as simulate() does.
  virtual DriverResult run(Execution&, int repetition, LiveSink*, std::stop_token) = 0;
};

/// As fast as it goes: one thread a device (at most so many at once as `threads` says; 0 = all
/// cores), streams as chains of tasks, times by the steady clock. link_bytes_per_second > 0 slows
/// exchanges down to that.
std::unique_ptr<Driver> wall_clock_driver(int threads, double link_bytes_per_second);

}  // namespace trainyard
