// Products with sparse weights read single blocks of their operands, which no matrix unit
// multiplies. They are priced by the 4-byte rate of a device's dense products, a share of which
// they reach, or by the bytes of values, pattern and operands where these take longer.
#pragma once

#include "core/model/op.h"

namespace trainyard {

/// Returns whether the work is of a sparse product (core/model/ops/sparse_matmul.cpp).
bool is_sparse_product(const Work&);

/// The FLOP rate of sparse products over that of dense ones in 4 bytes, on a device with matrix
/// units. On a V100 a sparse layer of 8192 inputs, 2048 outputs and 128 rows overtakes the dense
/// one at 71 % sparsity (Gale et al., "Sparse GPU Kernels for Deep Learning", SC 2020).
inline constexpr double kSparseShare = 0.29;
/// This is that share on a core of this machine, for which the CPU backend has kernels of its own.
/// They were measured on one AVX-512 core in 2026-11: of 150 GFLOP/s they reach 12 to 20 in blocks
/// of 1 and 20 to 40 in blocks of 16.
inline constexpr double kSparseCoreShare = 0.1;

}  // namespace trainyard
