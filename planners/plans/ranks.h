// Ranks are the processes that share one piece of work: this one alone, or all that mpirun or Slurm
// started (planners/plans/mpi_ranks.h).
#pragma once

#include <string>
#include <vector>

namespace trainyard {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;   // of this process, [0, count)
  virtual int count() const = 0;  // >= 1
  /// Every rank gives its bytes and gets those of all, by rank. Blocks until all have called it,
  /// each as often as any other.
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
};

/// One process.
class OneRank final : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  std::vector<std::string> all_gather(const std::string& mine) override { return {mine}; }
};

}  // namespace trainyard
