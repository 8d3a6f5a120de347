// Keeps oneDNN on one thread: it would divide its work among OpenMP threads, but here every device
// has one thread.
#pragma once

// GCC's OpenMP function, declared here because other compilers do not find its header.
extern "C" void omp_set_num_threads(int);

namespace trainyard {

/// Applies to the calling thread, from its first call on.
inline void stay_on_one_thread() {
  thread_local const bool done = (omp_set_num_threads(1), true);
  (void)done;
}

}  // namespace trainyard
