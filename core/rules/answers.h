// Answers of several looks together, and questions to them.
#pragma once

#include <cstdint>

#include "core/rules/look.h"

namespace trainyard {

/// Adds up the answers of all looks that are shown.
inline Answers answers_of(const RunShown& shown) {
  Answers all;
  for (const Look& look : shown.looks) {
    if (look.answers.classes == 0) continue;
    all.classes = look.answers.classes;
    all.counts.resize(look.answers.counts.size());
    for (std::size_t i = 0; i < all.counts.size(); ++i) all.counts[i] += look.answers.counts[i];
  }
  return all;
}
inline std::int64_t count_at(const Answers& all, std::int64_t of, std::int64_t as) {
  return all.counts[static_cast<std::size_t>(of * all.classes + as)];
}
inline std::int64_t samples_of(const Answers& all, std::int64_t of) {
  std::int64_t sum = 0;
  for (std::int64_t as = 0; as < all.classes; ++as) sum += count_at(all, of, as);
  return sum;
}
inline std::int64_t found_right(const Answers& all) {
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < all.classes; ++c) sum += count_at(all, c, c);
  return sum;
}

}  // namespace trainyard
