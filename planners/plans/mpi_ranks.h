// Ranks that mpirun or Slurm's srun started, over Open MPI. A program that was started by neither
// never touches MPI.
#pragma once

#include <memory>
#include <string>

#include "planners/plans/ranks.h"

namespace trainyard {

/// How this process was started, from the variables that launchers set; asks MPI nothing.
struct Launch {
  int rank = 0, count = 1;  // count 1: by hand, or alone
  std::string launcher;     // "mpirun", "srun"; "" = by hand
};
Launch launch();

class LaunchedRanks : public Ranks {
 public:
  /// Ends every rank at once, this one too: what is left where one of them cannot go on. Does not
  /// return.
  [[noreturn]] virtual void abandon(int exit_code) = 0;
};

/// Joins the others: every rank of the launch has to call it, once. Blocks until all have. The
/// destructor leaves them, and blocks too. Null where launch().count is 1. Throws
/// Error{Unsupported} where this program was built without MPI, Error{Internal} where MPI and the
/// launcher do not see the same processes.
std::unique_ptr<LaunchedRanks> join_ranks();

}  // namespace trainyard
