// Treats numbers below 1.2e-38 (in 4-byte floats) as zeros while kernels run. Late in a training
// the gradients of attention become that small, and a processor takes a hundred cycles for each:
// after 80 updates the backward of the smallest GPT took 34 ms a step, and 19 ms with zeros in
// their place.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace trainyard {

/// Applies to the calling thread during the object's lifetime, then restores the float environment.
/// Has no effect if the processor lacks such a mode.
class FlushSubnormals {
 public:
#if defined(__SSE2__)
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushToZero | kReadAsZero); }
  ~FlushSubnormals() { _mm_setcsr(before_); }
#else
  FlushSubnormals() = default;
  ~FlushSubnormals() {}
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlushToZero = 0x8000, kReadAsZero = 0x0040;
  unsigned before_;
#endif
};

}  // namespace trainyard
