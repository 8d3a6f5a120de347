// Says which processes were started together, and connects them: those of "trainyard run
// --processes N" by sockets (backends/local), those of mpirun and Slurm's srun over Open MPI
// (backends/mpi). A program that was started by neither of these two never touches MPI.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/processes.h"

namespace trainyard {

/// The launcher of processes that this program has started.
inline constexpr std::string_view kByItself = "--processes";

/// How this process was started, according to the environment variables that launchers set. No MPI
/// function is called.
struct Launch {
  int rank = 0, count = 1;  // count 1: started by hand, or as the only rank
  std::string launcher;     // kByItself, "mpirun", "srun"; "" = by hand
};
Launch launch();

/// Joins the other processes: every one of the launch has to call it exactly once, and it blocks
/// until all have. The destructor leaves them, and blocks too. Returns null if launch().count is 1.
/// Throws Error{Unsupported} if this program was built without MPI, and Error{Internal} if MPI and
/// the launcher disagree about the processes.
std::unique_ptr<Processes> join_processes();

}  // namespace trainyard
