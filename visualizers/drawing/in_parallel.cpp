#include "visualizers/drawing/in_parallel.h"

#include <tbb/parallel_for.h>

namespace trainyard {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { work(i); });
}

}  // namespace trainyard
