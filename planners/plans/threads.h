#pragma once

#include <tbb/info.h>

#include <algorithm>

namespace trainyard {

/// Returns with how many threads an arena works where so many are wanted (0 = one per core): at
/// most one per core, because more would not run at once and oneTBB warns of them.
inline int threads_at_once(int wanted) {
  const int cores = tbb::info::default_concurrency();
  return wanted > 0 ? std::min(wanted, cores) : cores;
}

}  // namespace trainyard
