// Computes c = a b, the matrix product of which matmul's three passes consist.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/scratch.h"
#include "core/cost/kernels/kernel_variants.h"
#include "core/model/dtype.h"

namespace trainyard {

/// A dense matrix in place, stored by rows or, if transposed, by columns.
struct Matrix {
  void* data = nullptr;
  DType type = DType::F32;  // F32 or BF16
  bool transposed = false;
};

/// Computes c [m, n] = a [m, k] b [k, n], plus bias [n] if there is one, plus c itself if `add` is
/// set. c is not transposed. Sums are in 4-byte floats whatever the formats. Where all formats are
/// 4-byte floats the chooser says how; null: usual_product() does.
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
             const Matrix& bias, const Matrix& c, bool add, Scratch&,
             const VariantChooser* = nullptr);

/// The shape of a product as choosers are asked about it, and the variant of it where none is.
KernelShape product_shape(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
                          bool b_transposed, bool adds, bool biased);
int usual_product(const KernelShape&);

/// A matrix of floats in place.
struct FloatMatrix {
  const float* data = nullptr;
  bool transposed = false;
};

/// Computes c = a b as product() does, for sizes that differ from call to call: no primitive is
/// made for them and kept.
void product_of_floats(std::int64_t m, std::int64_t n, std::int64_t k, FloatMatrix a, FloatMatrix b,
                       float* c, bool add);

/// Computes c [m, n] = a [m, k] b [k, n] of floats by rows; b_transposed: b is stored as [n, k].
inline void multiply_floats(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                            const float* b, bool b_transposed, float* c) {
  product_of_floats(m, n, k, {a}, {b, b_transposed}, c, false);
}

/// Computes sums [n] += the sum of the rows of a [m, n].
void add_rows(std::int64_t m, std::int64_t n, const Matrix& a, const Matrix& sums, Scratch&);

}  // namespace trainyard
