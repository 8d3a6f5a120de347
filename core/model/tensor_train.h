// A tensor train holds a table of N rows and D columns as three small cores. Row and column are
// each counted in three digits, of bases p (product at least N) and q (product D), and an entry is
// a product of three matrices, one out of each core, which the digits choose:
//
//   e[i, j] = G1[i1, j1] G2[i2, j2] G3[i3, j3]      1 x r1, r1 x r2, r2 x 1
//
// Oseledets, "Tensor-Train Decomposition", SIAM Journal on Scientific Computing, 2011; Yin et al.,
// "TT-Rec: Tensor Train Compression for Deep Learning Recommendation Models", MLSys 2021.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/model/graph.h"

namespace trainyard {

inline constexpr std::size_t kCores = 3;
using CoreDigits = std::array<std::int64_t, kCores>;

struct TensorTrain {
  std::int64_t rows = 0;                         // N
  CoreDigits row_bases{}, column_bases{};        // p and q
  std::int64_t first_rank = 1, second_rank = 1;  // r1 and r2

  std::int64_t width() const { return column_bases[0] * column_bases[1] * column_bases[2]; }
  /// Returns which slice of each core the row is made of; 0 <= row < rows.
  CoreDigits digits(std::int64_t row) const {
    return {row / (row_bases[1] * row_bases[2]), row / row_bases[2] % row_bases[1],
            row % row_bases[2]};
  }
  /// Returns the numbers of a slice of core k: q1 r1, r1 q2 r2 and r2 q3.
  std::int64_t slice(std::size_t core) const;
  /// Returns the numbers of all cores.
  std::int64_t weights() const;
  /// Returns the FLOPs that make one row: 2 q1 r1 q2 r2 + 2 q1 q2 r2 q3.
  double flops() const;
  /// Returns the FLOPs of a row's gradient, which makes the first product again and multiplies each
  /// of the two by both of its factors.
  double gradient_flops() const;
  friend bool operator==(const TensorTrain&, const TensorTrain&) = default;
};

/// Returns the numbers that the cores of a tensor train have, of any number of cores: the sum of
/// r[k-1] p[k] q[k] r[k], where the ranks are those between the cores.
std::int64_t train_weights(std::span<const std::int64_t> row_bases,
                           std::span<const std::int64_t> column_bases,
                           std::span<const std::int64_t> ranks);

/// Returns that many factors of the size, as equal as divisors allow (of the largest entropy), in
/// rising order. count is 2 or 3.
std::vector<std::int64_t> equal_factors(std::int64_t size, int count);

/// Chooses the digits of a table: those of its rows are as equal as can be, with the smallest
/// product that is at least `rows`; those of its columns are the most equal factors. The smallest
/// is in the middle, where its core has the most numbers. A rank is cut to what the table can have
/// there. All arguments are >= 1.
TensorTrain tensor_train_of(std::int64_t rows, std::int64_t width, std::int64_t rank);
/// Reads the sizes off a node of the op tensor_train.
TensorTrain tensor_train_of(const Graph&, const Node&);

/// TrainStart is the size of the numbers with which cores begin. TT-Rec draws normal numbers of a
/// size of at least 2, and scales each core by (1 / sqrt(3 N))^(1/3) (Published). That leaves out
/// the variance of such numbers and the r1 r2 terms of an entry, which makes its variance 187 times
/// too large at rank 1 and 200,000 times at rank 32. Normalised divides both out, so that entries
/// of the table have the variance 1 / (3 N), which is that of the uniform numbers with which tables
/// begin.
enum class TrainStart : std::uint8_t { Normalised, Published };

/// Reads it off a node of the op tensor_train.
TrainStart train_start_of(const Node&);
/// Draws the numbers of one core.
std::vector<float> started_core(const TensorTrain&, TrainStart, std::size_t count, const Random&);

}  // namespace trainyard
