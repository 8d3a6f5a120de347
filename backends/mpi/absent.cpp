// Replaces mpi_processes.cpp in builds without Open MPI.
#include "backends/mpi/mpi_processes.h"
#include "core/base/error.h"

namespace trainyard {

std::unique_ptr<Processes> join_mpi_processes(int, const std::string& launcher) {
  throw Error(Error::Kind::Unsupported,
              "this program was built without MPI, and cannot split work over the processes that "
              "were started; install libopenmpi-dev and build again, or start it by hand",
              {launcher});
}

}  // namespace trainyard
