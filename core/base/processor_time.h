// Measures processor time, to which other programs on the machine do not add.
#pragma once

#include <ctime>

#include "core/base/units.h"

namespace trainyard {

/// The processor time of the calling thread since it began.
inline Duration thread_processor_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

}  // namespace trainyard
