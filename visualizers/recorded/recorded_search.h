// Which spans of a recording a query finds, and the next one of them. The grammar is that of the
// plan's timeline; here `dev:` is the rank that a process says it is, else its place among the
// processes, and `cat:` a RecordedKind: cat:host, cat:transfer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "visualizers/recorded/recorded_model.h"
#include "visualizers/viewmodel/span_query.h"

namespace trainyard {

/// What a query asks, worked out for one recording so that a span is asked with few instructions.
class RecordedSearch {
 public:
  /// Linear in the names and rows. The model must be alive as long. Throws Error{InvalidInput}
  /// whose place is the word for `mb:`, since recordings do not say microbatches.
  RecordedSearch(const RecordedModel&, const SpanQuery&);

  /// Of a span of the model's store.
  bool finds(std::uint32_t row, std::uint32_t index) const;

  /// How many there are. Linear in the spans, as is the next.
  std::uint64_t count() const;
  /// The number of the next span (or the one before) from a span on, by start and then by number,
  /// around the end; nothing where none is found.
  std::optional<std::uint64_t> next(std::optional<std::uint64_t> from, bool forwards) const;

 private:
  bool finds_but_row(std::uint64_t span) const;
  template <class F>
  void each(F&& f) const;

  const RecordedModel* model_;
  std::vector<bool> names_, rows_;
  unsigned kinds_ = ~0u;  // a bit a RecordedKind
  std::int64_t shortest_ = 0, longest_ = std::numeric_limits<std::int64_t>::max();  // ns, both in
};

}  // namespace trainyard
