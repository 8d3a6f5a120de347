// OperatorCores are the cores on which one device runs the operators of a stage beside each other.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <functional>
#include <vector>

#include "backends/cpu/kernels/scratch.h"

namespace trainyard {

class OperatorCores {
 public:
  /// cores >= 2.
  explicit OperatorCores(int cores);

  /// Calls work(core, scratch) for cores 0 to count - 1 beside each other and returns when all have
  /// ended; count is at most the number of cores. The first has the caller's scratch. Rethrows what
  /// one of them threw. A machine with fewer cores runs some of them one after another.
  void run(int count, Scratch& first, const std::function<void(int core, Scratch&)>& work);
  /// The most that the kernels of the cores behind the first took together.
  Bytes scratch() const;

 private:
  tbb::task_arena arena_;
  std::vector<Scratch> scratch_;  // of the cores behind the first
};

}  // namespace trainyard
