#include "backends/cpu/kernels/small_product.h"

#include <cstring>
#include <utility>

#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

// Calls f(0), f(1), ... with constants, so that what they index can stay in registers.
template <class F, int... kI>
TRAINYARD_INLINE void each_of(F f, std::integer_sequence<int, kI...>) {
  (f(std::integral_constant<int, kI>{}), ...);
}
template <int kCount, class F>
TRAINYARD_INLINE void each(F f) {
  each_of(f, std::make_integer_sequence<int, kCount>{});
}

using FourLanes = float __attribute__((vector_size(4 * sizeof(float))));
using EightLanes = float __attribute__((vector_size(8 * sizeof(float))));

struct Operands {
  const float* a;
  std::int64_t a_row, a_column;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
};

template <class Vector>
TRAINYARD_INLINE Vector load_vector(const float* p) {
  Vector x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// kRows rows of kColumns vectors of C stay in registers for the whole loop over k.
template <class Vector, int kRows, int kColumns>
TRAINYARD_INLINE void tile(std::int64_t k, const Operands& p, bool adds) {
  constexpr std::int64_t kWidth = sizeof(Vector) / sizeof(float);
  Vector sums[kRows][kColumns];
  each<kRows>([&](auto i) TRAINYARD_INLINED {
    each<kColumns>([&](auto j) TRAINYARD_INLINED {
      sums[i][j] = adds ? load_vector<Vector>(p.c + i * p.c_row + j * kWidth) : Vector{};
    });
  });
  const float *a = p.a, *b = p.b;
  for (std::int64_t step = 0; step < k; ++step, a += p.a_column, b += p.b_row) {
    Vector row[kColumns];
    each<kColumns>([&](auto j) TRAINYARD_INLINED { row[j] = load_vector<Vector>(b + j * kWidth); });
    each<kRows>([&](auto i) TRAINYARD_INLINED {
      const float x = a[i * p.a_row];
      each<kColumns>([&](auto j) TRAINYARD_INLINED { sums[i][j] += x * row[j]; });
    });
  }
  each<kRows>([&](auto i) TRAINYARD_INLINED {
    each<kColumns>([&](auto j) TRAINYARD_INLINED {
      std::memcpy(p.c + i * p.c_row + j * kWidth, &sums[i][j], sizeof(Vector));
    });
  });
}

template <class Vector, int kRows, int kColumns>
TRAINYARD_INLINE void panel(std::int64_t m, std::int64_t k, Operands p, bool adds) {
  const auto down = [&](auto rows) TRAINYARD_INLINED {
    tile<Vector, rows, kColumns>(k, p, adds);
    p.a += rows * p.a_row;
    p.c += rows * p.c_row;
  };
  for (; m >= kRows; m -= kRows) down(std::integral_constant<int, kRows>{});
  if (kRows > 4 && m >= 4) down(std::integral_constant<int, 4>{}), m -= 4;
  if (m >= 2) down(std::integral_constant<int, 2>{}), m -= 2;
  if (m >= 1) down(std::integral_constant<int, 1>{});
}

// Tiles of kRows x kColumns vectors, and of kRows vectors where fewer columns are left.
template <class Vector, int kRows, int kColumns>
TRAINYARD_INLINE void product(std::int64_t m, std::int64_t n, std::int64_t k, Operands p,
                              bool adds) {
  constexpr std::int64_t kWidth = sizeof(Vector) / sizeof(float) * kColumns;
  for (; n >= kWidth; n -= kWidth, p.b += kWidth, p.c += kWidth)
    panel<Vector, kRows, kColumns>(m, k, p, adds);
  if (n > 0) panel<Vector, kRows, 1>(m, k, p, adds);
}

// Transposes sixteen rows of sixteen: row i and row i + 8 are interleaved, four times.
TRAINYARD_INLINE void transpose_block(const float* x, std::int64_t x_row, float* y,
                                      std::int64_t y_row) {
  Lanes from[kLanes], to[kLanes];
  for (int i = 0; i < kLanes; ++i) from[i] = load(x + i * x_row);
  for (int round = 0; round < 4; ++round) {
    for (std::int64_t i = 0; i < kLanes / 2; ++i) {
      const Lanes a = from[i], b = from[i + kLanes / 2];
      to[2 * i] =
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      to[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                              14, 30, 15, 31);
    }
    for (int i = 0; i < kLanes; ++i) from[i] = to[i];
  }
  for (int i = 0; i < kLanes; ++i) store(y + i * y_row, from[i]);
}

// A tile has as many sums as there are registers for them: 16 of 32 with sixteen floats each, or 12
// of 16 with eight. Larger ones would go through memory with every step.
#ifdef TRAINYARD_VERSIONS
__attribute__((target("arch=x86-64-v4"))) void tiled(std::int64_t m, std::int64_t n, std::int64_t k,
                                                     const Operands& p, bool adds) {
  product<Lanes, 8, 2>(m, n, k, p, adds);
}
__attribute__((target("arch=x86-64-v3"))) void tiled(std::int64_t m, std::int64_t n, std::int64_t k,
                                                     const Operands& p, bool adds) {
  product<EightLanes, 6, 2>(m, n, k, p, adds);
}
__attribute__((target("default")))
#endif
void tiled(std::int64_t m, std::int64_t n, std::int64_t k, const Operands& p, bool adds) {
  product<FourLanes, 3, 4>(m, n, k, p, adds);
}

}  // namespace

// The machine selects a version only where the caller sees them all: a caller in another file, who
// sees one declaration, would get the default.
void small_product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                   std::int64_t a_row, std::int64_t a_column, const float* b, std::int64_t b_row,
                   float* c, std::int64_t c_row, bool adds) {
  tiled(m, n, k, {a, a_row, a_column, b, b_row, c, c_row}, adds);
}

TRAINYARD_VECTORISED void transpose(std::int64_t rows, std::int64_t columns, const float* x,
                                    std::int64_t x_row, float* y, std::int64_t y_row) {
  const std::int64_t whole_rows = rows / kLanes * kLanes, whole_columns = columns / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole_rows; i += kLanes)
    for (std::int64_t j = 0; j < whole_columns; j += kLanes)
      transpose_block(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      y[j * y_row + i] = x[i * x_row + j];
}

TRAINYARD_VECTORISED void copy_rows(std::int64_t rows, std::int64_t columns, std::int64_t padded,
                                    float factor, const float* x, std::int64_t x_row, float* y,
                                    std::int64_t y_row) {
  for (std::int64_t i = 0; i < rows; ++i, x += x_row, y += y_row) {
    each_lane(columns, y, false, [factor](Lanes v) TRAINYARD_INLINED { return v * factor; }, x);
    for (std::int64_t j = columns; j < padded; ++j) y[j] = 0;
  }
}

TRAINYARD_VECTORISED void give_rows(std::int64_t rows, std::int64_t columns, const float* x,
                                    std::int64_t x_row, float* y, std::int64_t y_row, bool adds) {
  for (std::int64_t i = 0; i < rows; ++i, x += x_row, y += y_row)
    each_lane(columns, y, adds, [](Lanes v) TRAINYARD_INLINED { return v; }, x);
}

}  // namespace trainyard
