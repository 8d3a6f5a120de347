// The limits of what is read from outside. With them memory stays within a small multiple of the
// bytes that a file has, and a file made to burst ends in a sentence. Each reader's sentence states
// the limit, the place and what was found.
#pragma once

#include <cstddef>

#include "core/base/units.h"

namespace trainyard {

inline constexpr Bytes kLongestText = 1_MiB;         // one name, one line, one row of cells
inline constexpr std::size_t kMostCells = 4096;      // of one row
inline constexpr std::size_t kDeepestNesting = 200;  // lists and objects in each other
inline constexpr std::size_t kMostValues = std::size_t{1} << 24;  // of one JSON document

inline constexpr Bytes kLargestDocument = 256_MiB;  // what is read whole
inline constexpr Bytes kLargestConfig = 64_MiB;     // a model's config or index, an arena's CSV
inline constexpr Bytes kLargestAnswers = 1_MiB;     // of one student
inline constexpr Bytes kLargestOnnx = 1024_MiB;     // weights that lie inside are passed over
inline constexpr Bytes kLargestGgufHeader = 256_MiB;
inline constexpr Bytes kLargestSafetensorsHeader = 100_MiB;  // as its own library has it
inline constexpr Bytes kLargestSnapshot = 8_GiB;             // of what is kept of it

// Traces pack to a tenth or a thirtieth. What unpacks to more than this many times its size, beyond
// the first part, was made to fill memory.
inline constexpr int kMostUnpacked = 128;
inline constexpr Bytes kFreelyUnpacked = 64_MiB;

}  // namespace trainyard
