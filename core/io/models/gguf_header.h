// The header of a GGUF file (versions 2 and 3): metadata, then names, shapes and formats of
// tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/io/models/tensor_header.h"

namespace trainyard {

/// At most so many bytes of a file are read for its header; vocabularies lie within.
inline constexpr Bytes kGgufHeaderBytes = 256_MiB;

/// head: the file's first bytes, as many as the header has; file_bytes: of the whole file. Lists of
/// the metadata are passed over. Throws Error{InvalidInput} at "SOURCE:BYTE" for whatever is not
/// such a header: cut off, counts beyond the file, formats that are not known.
TensorHeader parse_gguf_header(std::string_view head, std::int64_t file_bytes,
                               const std::string& source);

}  // namespace trainyard
