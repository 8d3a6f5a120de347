// This file reads and writes the CSV that MiniMalloc uses for problems of static memory allocation:
// a header, then one row per buffer. The columns, in any order, are id (or buffer, buffer_id),
// lower (or start, begin), upper (exclusive; or end, which is inclusive), size and, for solutions,
// offset.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory/lifetime.h"

namespace trainyard {

struct ArenaCsv {
  std::vector<std::string> ids;
  std::vector<Lifetime> lives;  // half-open, even where the file is inclusive
  std::vector<Bytes> offsets;   // as given, or empty
  bool inclusive = false;       // whether the file's end column is "end"
};

/// Throws Error{InvalidInput} with line, expected, found and the nearest name for an unknown,
/// missing or doubled column, an id given twice, a number that is malformed or out of range, a
/// lifetime that ends before it begins, and sizes whose sum is 2^62 or more. The columns alignment,
/// gaps and hint are known but not supported (they are refused, not ignored).
ArenaCsv parse_arena_csv(std::string_view, const std::string& source);

/// Writes it as MiniMalloc does: the file's columns with their own names for time, then offset.
std::string arena_csv(const ArenaCsv&, std::span<const Bytes> offsets);

}  // namespace trainyard
