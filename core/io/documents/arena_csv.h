// The CSV in which MiniMalloc takes and gives problems of static memory allocation: a header, then
// a row a buffer. Columns are id (or buffer, buffer_id), lower (or start, begin), upper (exclusive;
// or end, which is inclusive), size and, where places are given, offset; in any order.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory/lifetime.h"

namespace trainyard {

struct ArenaCsv {
  std::vector<std::string> ids;
  std::vector<Lifetime> lives;  // half-open, however the file says it
  std::vector<Bytes> offsets;   // as given, or empty
  bool inclusive = false;       // its last column of time is "end"
};

/// Throws Error{InvalidInput} with line, expected, found and the nearest name: an unknown, missing
/// or doubled column, an id given twice, a number that is none or out of range, a life that ends
/// before it begins, sizes that sum up to 2^62 or more. Columns of alignment, gaps and hint are
/// known and not supported (they are refused, not ignored).
ArenaCsv parse_arena_csv(std::string_view, const std::string& source);

/// As MiniMalloc writes it, in the words of the file for time: its columns, then offset.
std::string arena_csv(const ArenaCsv&, std::span<const Bytes> offsets);

}  // namespace trainyard
