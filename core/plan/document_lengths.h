// A distribution of document lengths in tokens, which is a part of the workload: how much padding
// samples have, and how far attention reaches where it stays inside documents, follow from it.
//
//   fixed:512               every document has 512 tokens
//   uniform:64-1024         any number from 64 to 1024, both included
//   lognormal:600,1.1       the logarithm is normal: median 600 tokens, standard deviation 1.1
//   histogram:128*3,512*1   three documents of 128 tokens for each of 512
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

struct DocumentLengths {
  enum class Kind : std::uint8_t { Uniform, Lognormal, Histogram };
  Kind kind = Kind::Uniform;
  std::int64_t low = 1, high = 1;  // Uniform: both included, 1 <= low <= high
  double median = 1, sigma = 0;    // Lognormal: median >= 1, sigma in [0, 5]
  // Histogram: tokens, and how many documents have that many, both >= 1; tokens ascend.
  std::vector<std::pair<std::int64_t, std::int64_t>> counts = {};

  /// Returns the length below which that share of documents is, share in (0, 1); at least 1.
  std::int64_t quantile(double share) const;
};

/// Throws Error{InvalidInput} that says what was expected and found.
DocumentLengths parse_document_lengths(std::string_view text, const Place& = {});

/// Returns the lengths of so many documents that they fill some 256 samples of the sequence,
/// each as likely as the others: equal steps through the distribution instead of random draws, so
/// that no seed decides a price. A histogram has whole multiples of its counts where that is few
/// enough. Lengths ascend, and may be longer than the sequence.
std::vector<std::int64_t> lengths_of_documents(const DocumentLengths&, std::int64_t sequence);

}  // namespace trainyard
