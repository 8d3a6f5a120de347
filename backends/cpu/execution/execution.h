// An Execution is the state of all devices of a run (arenas, weights, activations, messages) and
// what each instruction of its program does to it. It knows what to do but not when: a Driver
// (virtual_time.h, wall_clock.h) decides that, and calls in here once everything that an
// instruction waits for has ended.
//
// The devices behind a pipeline rank are its peers: one for each of its tensor, context and data
// ranks, all running the same streams. An instance is an instruction on one peer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "backends/cpu/execution/exchange/travel.h"
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

  /// Called before every pass through the program; the first repetition is 0. No instance is
  /// running.
  virtual void begin_repetition(int repetition) = 0;
  /// Called after every pass, when losses are known and updates are done. No instance is running.
  virtual void end_repetition(int repetition) = 0;

  /// Allocates what the instance needs at its start and, for a computation, runs it on this thread;
  /// for a collective it makes what is sent, if that is a view of another tensor.
  /// Two calls for one device (pipeline rank and peer) must not overlap; calls for different
  /// devices may. Throws Error{OutOfMemory} or Error{InvalidInput}, naming the instruction.
  virtual void begin(InstructionId, int peer, Scratch&) = 0;
  /// Performs a collective, or a send with its receive, once all of its members (see members())
  /// that are of this process have begun: moves and sums data between their arenas. Attention over
  /// a divided sequence waits for one such call and is waited for by another: see
  /// InstanceGraph::reader() and taker(). May be called on any thread. Sums are taken in rank
  /// order. Returns what is left of it while it waits for other processes, or null.
  virtual TravelPtr exchange(InstructionId, std::span<const int> members) = 0;
  /// What a receive waits for before it begins where its send is of another process, or null: the
  /// two begin together, as far as the receiver's memory is concerned.
  virtual TravelPtr announced(InstructionId, int /*peer*/) { return nullptr; }
  /// Releases what the instance holds until its end.
  virtual void end(InstructionId, int peer) = 0;

  /// The peers that take part in the collective together with this one, including it, in rank
  /// order. For a send it is the peer itself.
  virtual std::span<const int> members(InstructionId, int peer) const = 0;
  /// Returns whether an update must wait until all stages of its step are ready to update (because
  /// of global gradient norms or overflow checks). The driver then starts such an update only when
  /// every other update of its step is ready too.
  virtual bool updates_together() const = 0;

  /// Returns whether a device is of this process; those of other processes run there.
  virtual bool here(DeviceId, int /*peer*/) const { return true; }
  /// The processes that the devices are of, or null if all are of this one.
  virtual Processes* processes() const { return nullptr; }

  virtual Arena& arena(DeviceId, int peer) = 0;
};

/// What a driver records during a pass through the program.
struct DriverResult {
  Timeline timeline;  // of peer 0, times since the start of the repetition
};

/// A Driver runs instances in an order that respects streams, `after`, peers and members.
class Driver {
 public:
  virtual ~Driver() = default;
  /// Runs one pass and blocks. Rethrows what an instance threw, naming it; throws Error{Cancelled}
  /// when stopped, and Error{InvalidInput} on a deadlock as simulate() does.
  virtual DriverResult run(Execution&, int repetition, LiveSink*, std::stop_token) = 0;
};

/// Bytes per second at which one device and its host exchange, in each direction, and at which that
/// device's share of the NVMe is read and written; 0 = as fast as memory.
struct HostRates {
  double link = 0, nvme_read = 0, nvme_write = 0;
};

/// A driver that runs as fast as possible: one thread per device (at most `threads` at once; 0 =
/// all cores), with streams as chains of tasks, timed by the steady clock. link_bytes_per_second >
/// 0 slows exchanges between devices down to that rate, and HostRates those with hosts.
std::unique_ptr<Driver> wall_clock_driver(int threads, double link_bytes_per_second,
                                          HostRates = {});

}  // namespace trainyard
