// This file reads the IDX format of MNIST: two zero bytes, a type, a number of dimensions, their
// sizes as big-endian 32-bit numbers, then the elements row by row. The files are distributed
// compressed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

struct IdxArray {
  std::vector<std::int64_t> shape;
  std::string bytes;  // one per element
};

/// Throws Error{InvalidInput} when it is not an array of unsigned bytes, is cut off, or has bytes
/// left over. `name` is used in messages.
IdxArray parse_idx(std::string content, const std::string& name);
/// Returns the content of a gzip file. Throws Error{InvalidInput} when it is no gzip file, is
/// damaged, cut off, or unpacks to more than `most`.
std::string gunzip(std::string_view compressed, Bytes most, const std::string& name);

}  // namespace trainyard
