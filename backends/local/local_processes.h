// LocalProcesses are processes of this machine that "trainyard run --processes N" has started
// (local_launch.h): each has a socket to every other one, and one to the launcher. They need no
// MPI, and survive the loss of one of them.
#pragma once

#include <memory>

#include "backends/processes.h"

namespace trainyard {

/// Joins the other processes. The launcher's variables must say this one's place among them
/// (launcher_words.h). It must be called once; the destructor leaves, and blocks until all do.
/// Throws Error{Io} where the launcher has ended.
std::unique_ptr<Processes> join_local_processes();

}  // namespace trainyard
