// This file reads and writes whole files. Errors are sentences; writing replaces the old file at
// once or not at all.
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

/// Writes a file beside the target, flushes it to the disk and renames it over the target. Blocks.
/// Throws Error{Io}, in which case the old file is unchanged.
void write_file_atomically(const std::string& path, std::string_view content);
/// Does the same through a file with the name `beside`, which is overwritten. This is for repeated
/// writes that may be killed: they leave at most one such file, not one for each time.
void write_file_through(const std::string& beside, const std::string& path,
                        std::string_view content);

}  // namespace trainyard
