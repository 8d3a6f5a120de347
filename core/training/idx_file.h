// The IDX format of MNIST: two zero bytes, a type, a number of dimensions, their sizes as
// big-endian 32-bit numbers, then the elements row by row. Files of it come compressed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

struct IdxArray {
  std::vector<std::int64_t> shape;
  std::string bytes;  // one an element
};

/// Throws Error{InvalidInput} when it is not an array of unsigned bytes, or is cut off, or has
/// bytes left over. `name` is what a sentence calls it.
IdxArray parse_idx(std::string content, const std::string& name);
/// The content of a gzip file. Throws Error{InvalidInput} when it is not one, is damaged, cut off,
/// or unpacks to more than `most`.
std::string gunzip(std::string_view compressed, Bytes most, const std::string& name);

}  // namespace trainyard
