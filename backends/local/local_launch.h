// This file starts processes of this machine that work together (local_processes.h), and watches
// over them: one that is lost ends all, unless it has said that another is to take its place, or
// the run recovers from losses.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace trainyard {

inline constexpr int kMostLocalProcesses = 32;  // each holds a socket to every other one

/// Starts `count` processes of this program, in [2, kMostLocalProcesses], with the words that this
/// one was started with. Blocks until all have ended, and hands SIGINT, SIGTERM and SIGHUP on to
/// them. Returns the first rank's exit code, else another rank's where that is 0, or the code with
/// which one has abandoned the work. One that ends unasked is named on `err`. Where the run
/// `survives`, another process takes the place of one that a signal has ended, and all others are
/// connected anew; else all end, and the sentence that `goes_on` then returns follows. Throws
/// Error{Io} where a process cannot be started.
int launch_processes(int count, bool survives, const std::function<std::string()>& goes_on,
                     std::ostream& err);

}  // namespace trainyard
