// A Backend takes a Program and says what ran when: the simulator by pricing it, others by
// executing it.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>

#include "core/base/error.h"
#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

struct RunOptions {
  std::uint64_t seed = 1;
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // called with [0, 1], from the calling thread
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// What it cannot run; run() may assume this was empty of errors.
  virtual Diagnostics check(const Program&) const = 0;
  /// Blocks. Throws Error{Cancelled} when stopped, Error{InvalidInput} naming every waiting stream
  /// on a deadlock.
  virtual Timeline run(const Program&, const RunOptions&) = 0;
};

}  // namespace trainyard
