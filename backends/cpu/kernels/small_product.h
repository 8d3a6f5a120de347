// Computes products of matrices that fit into a core's caches together with their surroundings,
// such as the tiles of attention. Large products use oneDNN.
#pragma once

#include <cstdint>

namespace trainyard {

/// Computes C [m x n] = A [m x k] B [k x n], or adds it to C. Element (i, j) of A is at a[i * a_row
/// + j * a_column], so A may be transposed; rows of B and C are b_row and c_row apart. n is a
/// multiple of kLanes (lanes.h), so B's rows must be padded. Each element of C is summed in the
/// order of k.
void small_product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                   std::int64_t a_row, std::int64_t a_column, const float* b, std::int64_t b_row,
                   float* c, std::int64_t c_row, bool adds);

/// Computes y[j * y_row + i] = x[i * x_row + j] for i < rows, j < columns.
void transpose(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t x_row,
               float* y, std::int64_t y_row);

/// Computes y = factor * x by rows, and clears the elements of y from `columns` to `padded`.
void copy_rows(std::int64_t rows, std::int64_t columns, std::int64_t padded, float factor,
               const float* x, std::int64_t x_row, float* y, std::int64_t y_row);

/// Copies x to y by rows, or adds it.
void give_rows(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t x_row,
               float* y, std::int64_t y_row, bool adds);

}  // namespace trainyard
