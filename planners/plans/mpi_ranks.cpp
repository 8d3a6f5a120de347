#include "planners/plans/mpi_ranks.h"

#define OMPI_SKIP_MPICXX 1  // use the C interface; MPI has removed its C++ bindings
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"

namespace trainyard {
namespace {

class MpiRanks final : public LaunchedRanks {
 public:
  MpiRanks() {
    int given = 0;
    // Other threads compute, but only this one calls MPI.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    const std::uint64_t length = mine.size();
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(count_));
    MPI_Allgather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    std::vector<std::string> all(lengths.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      const bool own = static_cast<int>(r) == rank_;
      all[r] = own ? mine : std::string(lengths[r], '\0');
      // Counts in MPI are ints, so longer data is sent in pieces.
      constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;
      for (std::uint64_t at = 0; at < lengths[r]; at += kPiece)
        MPI_Bcast(all[r].data() + at, static_cast<int>(std::min(kPiece, lengths[r] - at)), MPI_BYTE,
                  static_cast<int>(r), MPI_COMM_WORLD);
    }
    return all;
  }

  [[noreturn]] void abandon(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  int rank_ = 0, count_ = 1;
};

}  // namespace

std::unique_ptr<LaunchedRanks> join_ranks() {
  const Launch started = launch();
  if (started.count == 1) return nullptr;
  auto ranks = std::make_unique<MpiRanks>();
  if (ranks->count() != started.count)
    throw Error(
        Error::Kind::Internal,
        fmt::format("{} started {} processes, and MPI sees {}; under Slurm, srun --mpi=pmix "
                    "lets them find each other",
                    started.launcher, started.count, ranks->count()),
        {started.launcher});
  return ranks;
}

}  // namespace trainyard
