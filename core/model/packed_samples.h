// PackedSamples say which documents the samples of a workload consist of, where documents are
// shorter than a sequence. Prices and runs read the same samples: a price is a mean over all of
// them, and a run has each of them once an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/open_widths.h"

namespace trainyard {

struct PackedSamples {
  std::int64_t sequence = 1;  // tokens of a sample, of which the last may be padding
  bool packed = false;        // documents share samples, and attention stays inside each of them;
                              // else a sample is one document
  std::vector<std::int64_t> lengths = {};  // tokens by document, longest first, in [1, sequence]
  std::vector<std::vector<std::int32_t>> samples = {};  // documents of each, in the order of the
                                                        // sample
  double cut = 0;  // share of the documents that were longer than the sequence, in [0, 1]
  std::optional<OpenWidths> open = {};  // where a microbatch is as wide as its longest document

  /// Returns the tokens of a sample that are no padding.
  std::int64_t tokens(std::size_t sample) const;
  /// Returns the tokens of a sample that are computed, padding included: the sequence, or the mean
  /// of open widths.
  double mean_width() const { return open ? open->mean_width() : static_cast<double>(sequence); }
  /// Returns the share of all computed tokens that are no padding, in (0, 1]: the packing
  /// efficiency of Krell et al.
  double efficiency() const;
  /// Returns the mean number of documents in a sample.
  double documents_a_sample() const;
  /// Returns the mean over all computed tokens of a value that a token has by the length of its
  /// document; padding has 0.
  template <class F>
  double mean_over_tokens(F&& of_length) const {
    double sum = 0;
    for (const std::int64_t length : lengths)
      sum += static_cast<double>(length) * of_length(length);
    return sum / (mean_width() * static_cast<double>(samples.size()));
  }
};

/// Makes samples of one document each.
PackedSamples padded_samples(std::vector<std::int64_t> lengths, std::int64_t sequence);
/// Packs documents by first-fit decreasing: from the longest to the shortest, each goes into the
/// first sample that has room for it (Johnson, "Near-optimal bin packing algorithms", MIT 1973: at
/// most 11/9 of the fewest samples and one). Krell et al., "Efficient Sequence Packing without
/// Cross-contamination", arXiv 2107.02027, 2021, compare it with others; NeMo packs by it.
///
/// Both functions cut a document at the end of the sequence. Lengths are at least 1, and there is
/// one at least.
PackedSamples packed_samples(std::vector<std::int64_t> lengths, std::int64_t sequence);

}  // namespace trainyard
