// This file reads the header of a GGUF file (versions 2 and 3): metadata, then names, shapes and
// formats of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/io/models/tensor_header.h"

namespace trainyard {

/// head is the file's first bytes, at least the whole header; file_bytes is the size of the whole
/// file. Lists in the metadata are skipped. Throws Error{InvalidInput} at "SOURCE:BYTE" for a
/// malformed header: cut off, counts beyond the file, unknown formats.
TensorHeader parse_gguf_header(std::string_view head, std::int64_t file_bytes,
                               const std::string& source);

}  // namespace trainyard
