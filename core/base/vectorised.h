// This macro compiles loops over millions of numbers for several instruction sets, of which one is
// chosen when the program starts. Without contraction of multiply and add, all of them give the
// same bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define TRAINYARD_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TRAINYARD_VECTORISED
#endif
