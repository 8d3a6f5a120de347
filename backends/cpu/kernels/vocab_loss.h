// The cross entropy of softmax_loss where the vocabulary is divided among tensor-parallel devices
// (Shoeybi et al. 2019, section 3): each device has some columns of every row of logits, and three
// numbers a row are all that devices tell each other.
//
//   vocab_statistics   each device: largest logit, sum of exponentials, the label's logit
//   (exchange)         every device gets the statistics of all
//   combine_vocab_statistics, vocab_loss   each device: the loss, and its part of the softmax
//
// The backward is softmax_loss's own kernel, which subtracts the label where the device has it; no
// exchange.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

inline constexpr std::int64_t kVocabStatistics = 3;  // floats a row

/// Columns of the whole vocabulary that this device holds: half-open. Sizes that do not divide are
/// rounded up, so the last devices may hold fewer than their memory has room for, or none; what
/// lies beyond is not read, and its softmax and gradient are 0.
struct VocabRange {
  std::int64_t first = 0, last = 0;
  bool divided = false;
};
VocabRange vocab_range(const KernelCall& call, std::int64_t columns);

/// From inputs logits [rows, columns] (any format) and labels of the whole vocabulary: by row the
/// largest logit (lowest float where there is no column), the sum of e^(logit - largest), and the
/// label's logit, 0 where another device has it. statistics: kVocabStatistics x rows.
void vocab_statistics(const KernelCall&, float* statistics);

/// The statistics of all rows over the whole vocabulary, from those of the devices in rank order;
/// the same bits on every device. combined may be any of them.
void combine_vocab_statistics(std::span<const float* const> by_rank, std::int64_t rows,
                              float* combined);

/// Writes the fact "softmax" (this device's columns of it) and output 0, the mean loss, which is
/// the same on every device. logits are read once more.
void vocab_loss(const KernelCall&, const float* combined);

}  // namespace trainyard
