#include "backends/cpu/execution/operator_cores.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

namespace trainyard {

OperatorCores::OperatorCores(int cores)
    : arena_(std::min(cores, tbb::info::default_concurrency())),
      scratch_(static_cast<std::size_t>(cores) - 1) {}

void OperatorCores::run(int count, Scratch& first, const std::function<void(int, Scratch&)>& work) {
  order_.fetch_add(1, std::memory_order_release);
  arena_.execute([&] {
    tbb::parallel_for(
        0, count, 1,
        [&](int core) {
          order_.load(std::memory_order_acquire);
          work(core, core == 0 ? first : scratch_[static_cast<std::size_t>(core) - 1]);
          order_.fetch_add(1, std::memory_order_release);
        },
        tbb::simple_partitioner());
  });
  order_.load(std::memory_order_acquire);
}

Bytes OperatorCores::scratch() const {
  Bytes sum{};
  for (const Scratch& one : scratch_) sum += one.most();
  return sum;
}

}  // namespace trainyard
