// Quantities are the numbers of a document that measure something. Each kind has the range within
// which the program computes; the JSON Schemas state it, and reading refuses what lies outside.
#pragma once

#include "core/io/json/json.h"

namespace trainyard {

struct QuantityRange {
  const char* what;  // "seconds"
  double low, high;
};

// A time must fit in nanoseconds, and a sum of byte counts in 64 bits.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 59;
inline constexpr QuantityRange kSeconds{"seconds", 0, 9.2e9};
inline constexpr QuantityRange kShare{"a share", 0, 1};
inline constexpr QuantityRange kByteCount{"bytes", 0, 0x1p59};
inline constexpr QuantityRange kMargin{"bytes", -0x1p59, 0x1p59};
inline constexpr QuantityRange kAmount{"an amount", 0, 1e30};  // of work, energy, money; a rate

/// Returns the number. Throws Error{InvalidInput} for one that is outside the range.
double quantity(const JsonCursor&, const QuantityRange&);

}  // namespace trainyard
