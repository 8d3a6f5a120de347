#include "backends/cpu/execution/operator_cores.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

namespace trainyard {

OperatorCores::OperatorCores(int cores)
    : arena_(std::min(cores, tbb::info::default_concurrency())),
      scratch_(static_cast<std::size_t>(cores) - 1) {}

void OperatorCores::run(int count, Scratch& first, const std::function<void(int, Scratch&)>& work) {
  arena_.execute([&] {
    tbb::parallel_for(
        0, count, 1,
        [&](int core) {
          work(core, core == 0 ? first : scratch_[static_cast<std::size_t>(core) - 1]);
        },
        tbb::simple_partitioner());
  });
}

Bytes OperatorCores::scratch() const {
  Bytes sum{};
  for (const Scratch& one : scratch_) sum += one.most();
  return sum;
}

}  // namespace trainyard
