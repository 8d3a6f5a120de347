// A loop marked so is compiled for several instruction sets, and the machine picks one when it
// starts. The results are the same on all of them, as no multiply-add is fused (-ffp-contract=off),
// but for the kernels of lanes.h.
#pragma once

// Clang 14 does not know the attribute, and a sanitizer's runtime is not up yet when it picks.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRAINYARD_VECTORISED \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRAINYARD_VECTORISED
#endif
