// The instability of two embedding tables, which tells how many predictions of models on top of
// them will differ without training any: linear models see of a table X only the space that its
// columns span. With U and U' as bases of both spaces, and anchors E and E' that say which
// directions matter,
//
//   EI = tr[(U U^T + U' U'^T - 2 U' U'^T U U^T) S] / tr S,   S = (E E^T)^a + (E' E'^T)^a
//
// Leszczynski et al., "Understanding the Downstream Instability of Word Embeddings", MLSys 2020.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard {

/// A table of `rows` vectors of `width` numbers, row-major.
struct EmbeddingTable {
  std::int64_t rows = 0, width = 0;
  std::span<const float> numbers = {};
};

inline constexpr double kAnchorExponent = 3;  // a of the paper
inline constexpr std::int64_t kComparedRows = 10'000;

/// Returns a number that is 0 where both tables span the same space and grows with their distance;
/// 0 too for tables without a number other than zero. All four have as many rows, of which the
/// first kComparedRows are compared: vocabularies list the commonest words first. Takes time in
/// proportion to rows * width^2.
double eigenspace_instability(const EmbeddingTable& first, const EmbeddingTable& second,
                              const EmbeddingTable& first_anchor,
                              const EmbeddingTable& second_anchor,
                              double exponent = kAnchorExponent);

}  // namespace trainyard
