// What every reader of recorded traces is told beside the file.
#pragma once

#include <functional>
#include <stop_token>

namespace trainyard {

struct TraceImportOptions {
  std::stop_token stop = {};
  /// Of the file, [0, 1], a few times for each megabyte and never after the call.
  std::function<void(double)> progress = {};
};

}  // namespace trainyard
