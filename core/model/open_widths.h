// OpenWidths say how many tokens the samples of a microbatch have where that is open until its
// documents are known: as many as the longest of them, so that only what is shorter beside it is
// padded. Programs and memory are planned once, for a sequence that no microbatch exceeds.
//
// Shen et al., "Nimble: Efficiently Compiling Dynamic Neural Networks for Inference", MLSys 2021:
// sizes that are known late, with an upper bound for memory. In Hugging Face's collators it is
// padding="longest" with pad_to_multiple_of.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace trainyard {

struct OpenWidths {
  std::int64_t sequence = 1;               // tokens of which no microbatch has more
  std::int64_t multiple = 1;               // widths are multiples of it, or the sequence
  std::vector<std::int64_t> buckets = {};  // where there are any, widths are the next of these, and
                                           // the sequence beyond the last; ascending
  bool by_length = false;  // microbatches of a step have neighbours by length, the longest first;
                           // else documents as they are drawn
  /// Each width, ascending, and which share of the microbatches has it. Shares add up to 1. Where
  /// there are more than 256 widths, neighbours are one, with their mean.
  std::vector<std::pair<double, double>> shares = {};

  /// Returns the width of a microbatch whose longest document has so many tokens, in [1, sequence].
  std::int64_t width(std::int64_t longest) const;
  /// Returns the mean over microbatches of a value that follows from their width.
  template <class F>
  double mean(F&& of_width) const {
    double sum = 0;
    for (const auto& [width, share] : shares) sum += share * of_width(width);
    return sum;
  }
  double mean_width() const {
    return mean([](double width) { return width; });
  }
};

/// Samples of a microbatch, and of a step of all replicas.
struct DrawnSamples {
  std::int64_t micro = 1, step = 1;
};

/// Finds the shares, where a step draws from documents of these lengths without replacement, each
/// as often as the others. Where microbatches are drawn, a width is the largest of a random set;
/// where a step is sorted, how many of its documents are at most so long is hypergeometric. Lengths
/// are at least 1, and there is one at least; `step` is a multiple of `micro`.
void find_shares(OpenWidths&, const std::vector<std::int64_t>& lengths, DrawnSamples);

}  // namespace trainyard
