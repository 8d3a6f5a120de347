// A loop with this mark is compiled for several instruction sets, and the machine selects one at
// startup. Results are the same on all of them, because no multiply-add is fused
// (-ffp-contract=off), except in the kernels that use lanes.h.
#pragma once

// Clang 14 does not know the attribute, and a sanitizer's runtime is not initialised yet when the
// selection runs.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRAINYARD_VERSIONS  // a function may be written once for each instruction set, by target
#define TRAINYARD_VECTORISED \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRAINYARD_VECTORISED
#endif
