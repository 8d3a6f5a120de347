// Weights that have lost something: the smallest of them (pruning), their last bits (uniform
// numbers of few bits), or all but a few directions of each matrix (low rank, tensor train). A gate
// judges the model by what its answers are afterwards (core/quality).
//
// LeCun, Denker and Solla, "Optimal Brain Damage", NeurIPS 1990; Dai et al., "VS-Quant: Per-Vector
// Scaled Quantization for Accurate Low-Precision Neural Network Inference", MLSys 2021; Oseledets,
// "Tensor-Train Decomposition", SIAM Journal on Scientific Computing, 2011.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/training/numbers/narrow_format.h"
#include "core/training/trained_tensor.h"

namespace trainyard {

/// What is done to the matrices, tables and kernels of a model, in this order. Biases and the
/// weights of norms keep all that they have.
struct LossyWeights {
  double sparsity = 0;       // share of all their weights, the smallest, that become zero
  std::int64_t rank = 0;     // of each matrix and table; 0 = as it is
  std::int64_t tt_rank = 0;  // of the tensor train of two cores of each; 0 = as it is
  int bits = 0;              // of a weight, 2 to 8; 0 = as it is
  std::int64_t group = 0;    // weights of a channel that share a scale; 0 = all of them
  /// A group's scale has so many bits: it is rounded up to a multiple of one number of its channel
  /// (core/training/numbers/vector_scales.h); 0 = it is a number by itself.
  int scale_bits = 0;
  /// Probability that a bit of a weight is flipped where it lies. With it, be it 0, weights are
  /// codes of one range for each tensor (core/training/numbers/bit_errors.h), and `bits` must be
  /// set.
  std::optional<double> bit_errors = {};
  std::int64_t chips = 50;  // whose own bits fail, over which answers are averaged
  friend bool operator==(const LossyWeights&, const LossyWeights&) = default;
};

/// Sets one of the fields by its name: sparsity, rank, tt-rank, bits, group, scale-bits,
/// bit-errors, chips. Returns whether the name is one of them. Throws Error{InvalidInput} for a
/// value out of its range.
bool apply_lossy(LossyWeights&, std::string_view key, std::string_view value, const Place&);
/// Throws Error{InvalidInput} for fields that do not go together.
void expect_consistent(const LossyWeights&, const Place&);

/// Returns whether a tensor is a matrix, a table or a kernel: of two dimensions or more.
inline bool is_matrix(const TrainedTensor& tensor) { return tensor.shape.size() > 1; }

/// Makes the smallest weights of all matrices, tables and kernels together zero: the largest whole
/// number of them that is at most `sparsity` of all. Of equal ones those of the first tensor go
/// first.
void prune(double sparsity, std::vector<TrainedTensor>&);

/// Rounds each weight to the nearest of 2^bits - 1 multiples of a scale that are symmetric around
/// zero; ties to even. A scale is that of the largest size in its group of a line.
void round_to_bits(int bits, std::int64_t group, const Lines&, std::vector<float>& weights);

/// Returns the lines along which products sum over a parameter of the model, each of which is a
/// channel: the inputs of an output of a matrix or kernel, the numbers of a table's row.
Lines channels_of(const Model&, const TrainedTensor&);
/// Returns those of a parameter of that shape that the op reads.
Lines channels_of(const Op* reader, std::span<const std::int64_t> shape);

/// Replaces a matrix of so many rows by the nearest one of that rank, in the sum of squares. Takes
/// a singular value decomposition.
void lower_rank(std::int64_t rows, std::int64_t rank, std::vector<float>& weights);
/// Replaces a matrix by the nearest tensor train of two cores: its rows and columns are counted in
/// two digits each, as near to a square as divisors allow, and the matrix of the first digits
/// against the second ones gets that rank.
void lower_tt_rank(std::int64_t rows, std::int64_t rank, std::vector<float>& weights);
/// Returns the weights that a tensor train of two cores of that rank has in place of rows x
/// columns.
std::int64_t tt_weights(std::int64_t rows, std::int64_t columns, std::int64_t rank);

/// Does all that is asked, without errors of bits. tensors: of the model, as a backend gives them.
void lose(const LossyWeights&, const Model&, std::vector<TrainedTensor>& tensors);
/// Flips the bits that fail in one chip's memory, which has what lose() has left.
void flip_bits(const LossyWeights&, std::uint64_t chip, std::vector<TrainedTensor>& tensors);

/// Returns the bytes that the tensors take in this form, scales of two bytes (of groups in few
/// bits, with four bytes a channel) and ranges of eight included; a pruned weight costs its own
/// bits and a bit of a mask for each weight. Weights that lose nothing take four bytes.
double lossy_bytes(const LossyWeights&, const Model&, const std::vector<TrainedTensor>& tensors);

/// Whole numbers of weights as Boveda stores them (core/training/numbers/boveda.h).
struct LosslessWeights {
  double bytes = 0;                   // of all tensors, with scales and what is not of few bits
  double ratio = 0, worst_ratio = 0;  // stored bytes over one a number; of all, and of a tile
};
/// Returns nothing where weights are no whole numbers, have scales of few bits, or are kept as
/// factors of low rank. tensors:
/// what lose() has left. Weights that are zero are stored like all others.
std::optional<LosslessWeights> lossless_weights(const LossyWeights&, const Model&,
                                                const std::vector<TrainedTensor>& tensors);

}  // namespace trainyard
