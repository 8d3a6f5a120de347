// This file reads the header of a safetensors file: eight bytes of length, that many bytes of JSON,
// then weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/io/models/tensor_header.h"

namespace trainyard {

/// head is the file's first bytes, at least 8 and the whole header; file_bytes is the size of the
/// whole file, against which every offset is checked. Throws Error{InvalidInput} at "SOURCE" or
/// "SOURCE#/tensor".
TensorHeader parse_safetensors_header(std::string_view head, std::int64_t file_bytes,
                                      const std::string& source);
/// Returns the length of the header from the eight bytes before it, which it does not include.
/// Throws Error{InvalidInput} where there are fewer bytes, or the header would be longer than the
/// file or than the limit.
std::int64_t safetensors_header_length(std::string_view eight, std::int64_t file_bytes,
                                       const std::string& source);

}  // namespace trainyard
