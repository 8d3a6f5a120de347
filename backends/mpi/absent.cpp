// Replaces mpi_processes.cpp in builds without Open MPI.
#include "backends/mpi/launch.h"
#include "core/base/error.h"

namespace trainyard {

std::unique_ptr<Processes> join_processes() {
  if (launch().count == 1) return nullptr;
  throw Error(Error::Kind::Unsupported,
              "this program was built without MPI, and cannot split work over the processes that "
              "were started; install libopenmpi-dev and build again, or start it by hand",
              {launch().launcher});
}

}  // namespace trainyard
