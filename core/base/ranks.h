// Ranks are the processes that share one piece of work: this one alone, or all those that mpirun or
// Slurm started (backends/launch.h).
#pragma once

#include <string>
#include <vector>

namespace trainyard {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;   // of this process, in [0, count)
  virtual int count() const = 0;  // >= 1
  /// Every rank passes its bytes and receives those of all ranks, indexed by rank. Blocks until all
  /// ranks have called it; all must call it equally often.
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
};

/// A single process.
class OneRank final : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  std::vector<std::string> all_gather(const std::string& mine) override { return {mine}; }
};

}  // namespace trainyard
