// Replaces mpi_ranks.cpp in builds without Open MPI.
#include "core/base/error.h"
#include "planners/plans/mpi_ranks.h"

namespace trainyard {

std::unique_ptr<LaunchedRanks> join_ranks() {
  if (launch().count == 1) return nullptr;
  throw Error(Error::Kind::Unsupported,
              "this program was built without MPI, and cannot split work over the processes that "
              "were started; install libopenmpi-dev and build again, or start it by hand",
              {launch().launcher});
}

}  // namespace trainyard
