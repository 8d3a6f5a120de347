#include "backends/cpu/kernels/small_product.h"

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

struct Operands {
  const float* a;
  std::int64_t a_row, a_column;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
};

// kRows x kColumns lanes of C stay in registers for the whole loop over k.
template <int kRows, int kColumns>
TRAINYARD_INLINE void tile(std::int64_t k, const Operands& p, bool adds) {
  Lanes sums[kRows][kColumns];
  each<kRows>([&](auto i) TRAINYARD_INLINED {
    each<kColumns>([&](auto j) TRAINYARD_INLINED {
      sums[i][j] = adds ? load(p.c + i * p.c_row + j * kLanes) : Lanes{};
    });
  });
  const float *a = p.a, *b = p.b;
  for (std::int64_t step = 0; step < k; ++step, a += p.a_column, b += p.b_row) {
    Lanes row[kColumns];
    each<kColumns>([&](auto j) TRAINYARD_INLINED { row[j] = load(b + j * kLanes); });
    each<kRows>([&](auto i) TRAINYARD_INLINED {
      const float x = a[i * p.a_row];
      each<kColumns>([&](auto j) TRAINYARD_INLINED { sums[i][j] += x * row[j]; });
    });
  }
  each<kRows>([&](auto i) TRAINYARD_INLINED {
    each<kColumns>([&](auto j)
                       TRAINYARD_INLINED { store(p.c + i * p.c_row + j * kLanes, sums[i][j]); });
  });
}

template <int kColumns>
TRAINYARD_INLINE void panel(std::int64_t m, std::int64_t k, Operands p, bool adds) {
  const auto down = [&p](std::int64_t rows) TRAINYARD_INLINED {
    p.a += rows * p.a_row;
    p.c += rows * p.c_row;
  };
  for (; m >= 8; m -= 8, down(8)) tile<8, kColumns>(k, p, adds);
  if (m >= 4) tile<4, kColumns>(k, p, adds), m -= 4, down(4);
  if (m >= 2) tile<2, kColumns>(k, p, adds), m -= 2, down(2);
  if (m >= 1) tile<1, kColumns>(k, p, adds);
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

}  // namespace

TRAINYARD_VECTORISED void small_product(std::int64_t m, std::int64_t n, std::int64_t k,
                                        const float* a, std::int64_t a_row, std::int64_t a_column,
                                        const float* b, std::int64_t b_row, float* c,
                                        std::int64_t c_row, bool adds) {
  Operands p{a, a_row, a_column, b, b_row, c, c_row};
  for (; n >= 2 * kLanes; n -= 2 * kLanes, p.b += 2 * kLanes, p.c += 2 * kLanes)
    panel<2>(m, k, p, adds);
  if (n > 0) panel<1>(m, k, p, adds);
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
