// A sparse pattern says which weights of a matrix are stored: blocks of neighbours along a row, of
// one weight each (fine) or of several (coarse). A matrix is kept by compressed rows: the values of
// its blocks, row by row, and beside them the pattern, a number for each row (how many blocks are
// stored of it) and one for each block (its column, in blocks). Numbers of a pattern are whole, and
// are kept in the format of the values: a 4-byte float has all of them up to 2^24, as many bytes as
// an index of the usual libraries. Formats of 16 bits have all up to 256, so that a larger number
// is two or three digits to that base, the highest one first.
//
//   [ . a . b ]      values  a b c      pattern  2 0 1 | 1 3 | 2
//   [ . . . . ]                                  rows  | columns
//   [ . . c . ]
//
// Mao et al., "Exploring the Granularity of Sparsity in Convolutional Neural Networks", CVPR
// Workshops 2017, count the bytes of coarse and fine blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/model/graph.h"

namespace trainyard {

/// A matrix of which some blocks are stored. The columns divide into whole blocks. Where the number
/// of stored blocks changes while the matrix is trained, there is room for more of them than it
/// begins with; what is not used of values and pattern lies at their ends and is zero.
struct SparseShape {
  std::int64_t rows = 0, columns = 0;
  std::int64_t block = 1;   // weights of a block, neighbours along a row
  std::int64_t blocks = 0;  // that there is room for
  std::int64_t digits = 1;  // of each number of the pattern
  std::int64_t spare = 0;   // blocks of that room that are empty when training begins
  std::int64_t row_blocks() const { return columns / block; }
  std::int64_t all_blocks() const { return rows * row_blocks(); }
  std::int64_t stored_blocks() const { return blocks - spare; }  // when training begins
  std::int64_t stored() const { return stored_blocks() * block; }
  std::int64_t room() const { return blocks * block; }  // values, with those of spare blocks
  std::int64_t pattern_elements() const { return (rows + blocks) * digits; }
  double density() const {
    return static_cast<double>(stored_blocks()) / static_cast<double>(all_blocks());
  }
};

/// Returns the shape with the number of stored blocks nearest to that density, and at least one,
/// and with room for `capacity` times as many, at most all. capacity: >= 1.
SparseShape with_density(SparseShape, double density, double capacity = 1);

/// Returns the digits of each number of a pattern of rows of so many blocks, in a format of 16
/// bits.
std::int64_t digits_in_16_bits(std::int64_t row_blocks);
/// Returns the bytes that a matrix has room in: values, and the pattern with its counts by row.
Bytes sparse_bytes(const SparseShape&, std::int64_t value_bytes);
/// Returns at what density a matrix of `coarse` weights a block takes as many bytes as one of
/// `fine` weights a block at that density: below it the coarse one is the smaller. Counts by row
/// are left out; both have as many, and a digit each is little beside a row.
double equal_bytes_density(double fine_density, std::int64_t fine, std::int64_t coarse,
                           std::int64_t fine_digits = 1, std::int64_t coarse_digits = 1);
/// Returns at what density the sparse form of a matrix takes as many bytes as the dense one.
double dense_density(std::int64_t columns, std::int64_t block, std::int64_t digits = 1);

/// Largest whole number that a pattern may hold: 4-byte floats and doubles have all up to it, and
/// three digits too.
inline constexpr std::int64_t kMostOfPattern = std::int64_t{1} << 24;
inline constexpr std::int64_t kMostDigits = 3;

/// Returns the elements of a pattern from the places of its blocks, counted row by row in blocks
/// and rising, and back. There are as many places as the shape has blocks, or fewer where some of
/// them are spare. Throws Error{InvalidInput} for numbers that are no pattern of the shape.
std::vector<float> pattern_of(const SparseShape&, std::span<const std::int64_t> places);
std::vector<std::int64_t> places_of(const SparseShape&, std::span<const float> pattern);

/// Returns `count` of the numbers below `all`, rising, each set of them as likely as any other. It
/// reads random numbers of the indices first to first + all - 1.
std::vector<std::int64_t> drawn_of(std::int64_t all, std::int64_t count, const Random&,
                                   std::uint64_t first = 0);

/// SparseWeight is a sparse matrix of a graph: a product's [in, out], or a convolution's
/// [out, channels x height x width], whose rows are filters.
struct SparseWeight {
  SparseShape shape;
  TensorId values, pattern;
  std::int64_t inputs = 0;  // that each result sums over where the weight is dense
};
/// Returns the op with a sparse weight that stands for that one, and back; null where there is
/// none.
const Op* sparse_form(const Op*);
const Op* dense_form(const Op*);
/// Returns the sparse matrix that a node multiplies with, if it does.
std::optional<SparseWeight> sparse_weight_of(const Graph&, const Node&);
/// Returns the sparse matrix whose values, or whose pattern, the parameter is.
std::optional<SparseWeight> sparse_weight_of(const Graph&, TensorId parameter);
/// Returns whether input i of the node is a pattern, which has no gradient.
bool is_pattern(const Node&, std::size_t i);

/// Returns the shape that the weight of a sparse node has where it is dense. Its elements lie in
/// the order of the matrix, so that stored element i of the block at a place is the dense one
/// place * block + i.
Shape dense_shape(const Graph&, const Node&);
/// Returns a graph of one node that does with a dense weight what the sparse node does: its tensors
/// are x, the weight, the bias if there is one, and the output if the node has it.
Graph dense_graph(const Graph&, const Node&);

}  // namespace trainyard
