// How much of a span another row hides: children a parent, compute a communication.
#pragma once

#include <algorithm>

#include "visualizers/viewmodel/span_store.h"

namespace trainyard {

/// Answers "how much of [from, to) is the row busy" for questions in ascending order, walking the
/// row once. kNoRow is never busy.
class Cover {
 public:
  Cover(const SpanStore& store, std::uint32_t row, Instant from, Instant to) : store_(store) {
    if (row == kNoRow) return;
    const SpanWindow seen = window(store, row, from, to);
    at_ = store.rows[row].first + seen.first;
    end_ = store.rows[row].first + seen.last;
  }

  std::int64_t busy(std::int64_t from, std::int64_t to) {
    while (at_ < end_ && store_.end[at_] <= from) ++at_;
    std::int64_t sum = 0;
    for (std::size_t i = at_; i < end_ && store_.start[i] < to; ++i)
      sum += std::min(to, store_.end[i]) - std::max(from, store_.start[i]);
    return sum;
  }

 private:
  const SpanStore& store_;
  std::size_t at_ = 0, end_ = 0;
};

}  // namespace trainyard
