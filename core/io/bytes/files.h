// Whole files, in and out. What goes wrong is said in a sentence; what is written replaces the old
// file at once or not at all.
#pragma once

#include <string>
#include <string_view>

#include "core/base/units.h"

namespace trainyard {

/// The file's bytes. Blocks. Throws Error{InvalidInput} when it does not exist (with the nearest
/// name in its folder), is not an ordinary file, may not be read or has more bytes than limit;
/// Error{Io} when reading fails on the way.
std::string read_file(const std::string& path, Bytes limit = 256_MiB);

/// Writes beside the file, flushes to the disk and renames over it. Blocks. Throws Error{Io}; the
/// old file is then whole.
void write_file_atomically(const std::string& path, std::string_view content);
/// The same through a file of that name, which is overwritten: for what is written again and again
/// and may be killed meanwhile, so that it leaves one such file and not one for each time.
void write_file_through(const std::string& beside, const std::string& path,
                        std::string_view content);

}  // namespace trainyard
