// Connects the ranks that mpirun or Slurm's srun started, over Open MPI. A program that was started
// by neither never touches MPI.
#pragma once

#include <memory>
#include <string>

#include "planners/plans/ranks.h"

namespace trainyard {

/// How this process was started, according to the environment variables that launchers set. No MPI
/// function is called.
struct Launch {
  int rank = 0, count = 1;  // count 1: started by hand, or as the only rank
  std::string launcher;     // "mpirun", "srun"; "" = by hand
};
Launch launch();

class LaunchedRanks : public Ranks {
 public:
  /// Ends every rank at once, including this one: the last resort if one of them cannot go on. Does
  /// not return.
  [[noreturn]] virtual void abandon(int exit_code) = 0;
};

/// Joins the other ranks: every rank of the launch has to call it exactly once, and it blocks until
/// all have. The destructor leaves them, and blocks too. Returns null if launch().count is 1.
/// Throws Error{Unsupported} if this program was built without MPI, and Error{Internal} if MPI and
/// the launcher disagree about the processes.
std::unique_ptr<LaunchedRanks> join_ranks();

}  // namespace trainyard
