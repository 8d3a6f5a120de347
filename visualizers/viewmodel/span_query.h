// The search grammar of the timeline: words that a span must all satisfy, as in
// `cat:comm dev:3 name:allreduce >5ms`.
//
//   cat:comm          category, or the beginning of one; several with a comma
//   dev:3  dev:0-3,7  pipeline rank
//   mb:4              microbatch, as dev
//   name:all-reduce   part of the name; case, spaces, hyphens and underscores do not matter
//   "all reduce"      the same as name:; so is any other bare word
//   >5ms  <=1.5s      length, with its unit
//
// A word with a minus before it must not hold.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// Both ends included.
struct IndexRange {
  std::int64_t first = 0, last = 0;
  friend bool operator==(IndexRange, IndexRange) = default;
};

struct QueryWord {
  enum class Kind : std::uint8_t {
    Name,
    Category,
    Device,
    Microbatch,
    Longer,
    Shorter
  } kind = Kind::Name;
  bool negated = false;
  std::string name{};                // Name: folded, not empty
  std::uint32_t categories = 0;      // Category: bit c for category c
  std::vector<IndexRange> ranges{};  // Device, Microbatch: any of them
  Duration length{};                 // Longer: at least or more; Shorter: at most or less
  bool or_equal = false;
  friend bool operator==(const QueryWord&, const QueryWord&) = default;
};

/// Every word must hold; without words every span matches.
struct SpanQuery {
  std::vector<QueryWord> words;
  friend bool operator==(const SpanQuery&, const SpanQuery&) = default;
};

/// Throws Error{InvalidInput} whose place is the word: what was expected, what was found, the
/// nearest right word.
SpanQuery parse_span_query(std::string_view);
/// Text that reads back as the same query.
std::string to_text(const SpanQuery&);

/// What a span is, for a query.
struct SpanFacts {
  std::string_view name;
  std::uint8_t category = 0;  // of the timeline: the number of an operation ink
  std::int64_t device = 0, microbatch = 0;
  Duration length{};
};
bool matches(const SpanQuery&, const SpanFacts&);

/// Lower case, without spaces, hyphens and underscores: "All-Reduce gradients" is
/// "allreducegradients".
std::string folded_name(std::string_view);
/// As above with the name folded already, for those who ask for millions of spans.
bool matches_folded(const SpanQuery&, const SpanFacts&);

}  // namespace trainyard
