// This file reads whole files. Errors are sentences.
#pragma once

#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/io/bytes/limits.h"

namespace trainyard {

/// Returns the file's bytes. Blocks. Throws Error{InvalidInput} when the file does not exist (with
/// the nearest name in its folder), is not an ordinary file, may not be read or has more bytes than
/// limit; Error{Io} when reading fails midway.
std::string read_file(const std::string& path, Bytes limit = kLargestDocument);

}  // namespace trainyard
