// Computes the cross entropy of softmax_loss if the vocabulary is divided among tensor-parallel
// devices (Shoeybi et al. 2019, section 3): each device has some columns of every row of logits,
// and devices exchange only three numbers per row. In order:
//
//   vocab_statistics   each device computes the largest logit, sum of exponentials, label's logit
//   (exchange)         every device receives the statistics of all
//   combine_vocab_statistics, vocab_loss   each device computes the loss and its part of softmax
//
// The backward is softmax_loss's own kernel, which subtracts the label on the device that has it;
// it needs no exchange.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

inline constexpr std::int64_t kVocabStatistics = 3;  // floats per row

/// The columns of the whole vocabulary that this device holds, half-open. If sizes do not divide,
/// they are rounded up, so the last devices may hold fewer columns than they have memory for, or
/// none; elements beyond are not read, and their softmax and gradient are 0.
struct VocabRange {
  std::int64_t first = 0, last = 0;
  bool divided = false;
};
VocabRange vocab_range(const KernelCall& call, std::int64_t columns);

/// Computes from the inputs, logits [rows, columns] (any format) and labels of the whole
/// vocabulary, for each row: the largest logit (the lowest float if there is no column), the sum of
/// e^(logit - largest), and the label's logit (0 if another device has it). `statistics` has
/// kVocabStatistics x rows floats.
void vocab_statistics(const KernelCall&, float* statistics);

/// Combines the statistics of the devices, given in rank order, into those of the whole vocabulary,
/// with the same bits on every device. `combined` may be one of the inputs.
void combine_vocab_statistics(std::span<const float* const> by_rank, std::int64_t rows,
                              float* combined);

/// Writes the fact "softmax" (this device's columns) and output 0, the mean loss, which is the same
/// on every device. It reads the logits again.
void vocab_loss(const KernelCall&, const float* combined);

/// Returns by what a loss divides the sum over its rows: their number or, where samples are
/// documents, this device's part of what their bounds count.
double loss_divisor(const KernelCall&, std::int64_t rows);
/// Returns whether a row is padding, which has no loss.
inline bool is_padding(const KernelCall& call, std::int64_t label) {
  return call.documents != nullptr && label == kPaddingLabel;
}

}  // namespace trainyard
