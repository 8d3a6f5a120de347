// Processes execute one program together, each on the devices that are its own, on one machine or
// on several. Bytes travel between them as messages and in collectives; backends/launch.h
// connects them. Only the thread that joined the processes may call any of this.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/ranks.h"

namespace trainyard {

/// An exchange between processes that is under way. What it sends and where it receives must stay
/// until it is done.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Makes progress and returns whether the exchange has ended here. Does not block.
  virtual bool done() = 0;
};
using TransferPtr = std::unique_ptr<Transfer>;

/// Some of the processes, this one among them, which begin their collectives in one order.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Every process gives bytes[its place] bytes, and `all` receives those of all, side by side.
  virtual TransferPtr all_gather(const std::byte* mine, std::byte* all,
                                 std::span<const std::size_t> bytes) = 0;
  /// Process p is given to_bytes[p] bytes of `to`, where they lie side by side, and gives
  /// from_bytes[p] bytes.
  virtual TransferPtr all_to_all(const std::byte* to, std::span<const std::size_t> to_bytes,
                                 std::byte* from, std::span<const std::size_t> from_bytes) = 0;
};

/// PeerLost is thrown where a process has ended that nobody asked to, in a run that may recover
/// (Processes::report_losses()).
class PeerLost : public std::runtime_error {
 public:
  explicit PeerLost(int rank)
      : std::runtime_error("rank " + std::to_string(rank) + " has ended before the run was done") {}
};

class Processes : public Ranks {
 public:
  /// A channel between the ranks, given in rising order with this one among them. Blocks until all
  /// of these have called it; ranks that make several must make them in one order.
  virtual std::unique_ptr<Channel> channel(const std::vector<int>& ranks) = 0;
  /// Messages between two ranks arrive where they carry the same number, which must not be
  /// negative.
  virtual TransferPtr send(int to, int number, std::span<const std::byte>) = 0;
  virtual TransferPtr receive(int from, int number, std::span<std::byte>) = 0;
  /// Done once such a message is on its way here; it is left for receive().
  virtual TransferPtr announcement(int from, int number) = 0;
  /// Done once all processes have called it, which they do in one order with what blocks.
  virtual TransferPtr barrier() = 0;
  /// Replaces every value by its sum over all processes, which all call it. Blocks.
  virtual void sum(std::span<double>) = 0;
  /// Blocks until the exchange has ended.
  void wait(Transfer& request) {
    for (int polls = 0; !request.done(); ++polls) rest(polls);
  }
  /// Gives the core to others for a moment, longer after many polls. Throws Error{Io} that names a
  /// process of this machine that has ended.
  virtual void rest(int polls) = 0;
  /// Returns how many of them run on this process's machine, this one included. Where all do, their
  /// clocks are one.
  virtual int on_this_machine() const = 0;
  /// Ends every process at once, including this one: the last resort if one of them cannot go on.
  /// Does not return.
  [[noreturn]] virtual void abandon(int exit_code) = 0;

  /// Returns whether replace() may be called: where it may not, all end with one.
  virtual bool replaces() const { return false; }
  /// Returns whether this process has taken the place of one that was lost. It makes the channels
  /// that the others have, in their order, and must not take part in what they did before.
  virtual bool took_place() const { return false; }
  /// Kills the process of that rank; there it does not return. On all others, which call it with
  /// nothing under way, it blocks until another process is in its place. Throws Error{Internal}
  /// where nothing replaces().
  virtual void replace(int rank) {
    throw Error(Error::Kind::Internal,
                "rank " + std::to_string(rank) + " is of processes that all end with one");
  }

  /// Returns whether a process that is lost unasked is replaced too; the others must rejoin() then.
  virtual bool survives_losses() const { return false; }
  /// Returns whether the process whose place this one has taken was lost unasked.
  virtual bool took_place_unasked() const { return false; }
  /// From now on, what waits throws PeerLost once a process is lost unasked. Before, and again with
  /// false, it throws Error{Io} where survives_losses().
  virtual void report_losses(bool) {}
  /// After PeerLost: blocks until this process and all others are connected anew, with nothing
  /// under way. Channels stay what they were.
  virtual void rejoin() {}
};

}  // namespace trainyard
