// Connects the processes that mpirun or Slurm's srun started, over Open MPI.
#pragma once

#include <memory>
#include <string>

#include "backends/processes.h"

namespace trainyard {

/// Joins the `count` processes that `launcher` has started, as join_processes() of
/// backends/launch.h says.
std::unique_ptr<Processes> join_mpi_processes(int count, const std::string& launcher);

}  // namespace trainyard
