// A StatusLine says how far something is, on one line of the terminal that it writes over. It shows
// nothing with --quiet, or where nobody watches.
#pragma once

#include <chrono>
#include <ostream>
#include <string_view>

#include "app/cli/verb.h"
#include "core/base/printable.h"

namespace trainyard {

class StatusLine {
 public:
  StatusLine(const Words& words, const Streams& streams)
      : terminal_(words.has("quiet") ? nullptr : streams.terminal) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool is_shown() const { return terminal_ != nullptr; }
  bool is_open() const { return open_; }
  void show(std::string_view text) {
    if (!is_shown()) return;
    *terminal_ << kClear << printable(text) << std::flush;
    open_ = true;
    last_ = std::chrono::steady_clock::now();
  }
  /// Returns whether it is shown, and was last written a tenth of a second ago or more.
  bool is_due() const {
    return is_shown() &&
           (!open_ || std::chrono::steady_clock::now() - last_ >= std::chrono::milliseconds(100));
  }
  void clear() {
    if (open_) *terminal_ << kClear << std::flush;
    open_ = false;
  }
  /// Leaves the line as it stands; what follows goes below it.
  void keep() {
    if (open_) *terminal_ << "\n" << std::flush;
    open_ = false;
  }

 private:
  static constexpr std::string_view kClear = "\r\x1b[K";
  std::ostream* terminal_;
  bool open_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace trainyard
