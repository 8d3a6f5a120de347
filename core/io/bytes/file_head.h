// This file reads the first bytes of a file that may be too large to be read whole.
#pragma once

#include <string>

#include "core/base/units.h"

namespace trainyard {

struct FileHead {
  std::string bytes;  // at most as many as requested
  Bytes file{};       // of the whole file
};

/// Blocks. Throws as read_file does, except that no file is too large.
FileHead read_file_head(const std::string& path, Bytes most);

}  // namespace trainyard
