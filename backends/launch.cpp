// Reads the environment variables that launchers set for the processes they start.
#include "backends/launch.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "backends/local/launcher_words.h"
#include "backends/local/local_processes.h"
#include "backends/mpi/mpi_processes.h"

namespace trainyard {
namespace {

std::optional<int> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc{} || end != view.data() + view.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

Launch launch() {
  struct Variables {
    std::string_view launcher;
    const char *rank, *count;
  };
  // A batch script under Slurm is a step of its own kind without this count, so what it starts by
  // hand is one process.
  constexpr Variables kVariables[] = {{kByItself, kLocalRank, kLocalRanks},
                                      {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                      {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                      {"mpirun", "PMI_RANK", "PMI_SIZE"}};
  for (const Variables& names : kVariables) {
    const auto rank = variable(names.rank), count = variable(names.count);
    if (rank && count && *count > 1 && *rank < *count)
      return {*rank, *count, std::string(names.launcher)};
  }
  return {};
}

std::unique_ptr<Processes> join_processes() {
  const Launch started = launch();
  if (started.count == 1) return nullptr;
  return started.launcher == kByItself ? join_local_processes()
                                       : join_mpi_processes(started.count, started.launcher);
}

}  // namespace trainyard
