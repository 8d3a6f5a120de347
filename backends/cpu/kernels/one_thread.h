// oneDNN divides its work among OpenMP threads; here every device has one thread.
#pragma once

// GCC's OpenMP, declared here because other compilers do not find its header.
extern "C" void omp_set_num_threads(int);

namespace trainyard {

/// For the calling thread, from its first call on.
inline void stay_on_one_thread() {
  thread_local const bool done = (omp_set_num_threads(1), true);
  (void)done;
}

}  // namespace trainyard
