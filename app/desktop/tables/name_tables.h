// NameTables compute tables by name for ranges of time. For a range with few spans the result is
// immediate; for one with many it comes from a thread, first with percentiles to within 1/64 and
// then exact, so that the window never waits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/desktop/session/background.h"
#include "visualizers/viewmodel/statistics.h"

namespace trainyard {

class NameTables {
 public:
  /// Receives the table, and whether its median and p95 are exact.
  using Heard = std::function<void(const std::vector<NameStatistics>&, bool exact)>;

  explicit NameTables(QObject* window) : background_(window) {}

  /// Calls `heard` before it returns, or later and up to twice, on the window's thread. A newer
  /// request ends the older one. `owner` keeps the store alive and identifies it: sums of the last
  /// owner's store are cached.
  void ask(std::shared_ptr<const void> owner, const SpanStore&, std::vector<std::uint32_t> rows,
           Instant from, Instant to, Heard);
  /// Ends the request; `heard` is no longer called.
  void stop() { background_.stop(); }
  bool running() const { return background_.running(); }

 private:
  struct Summed {
    std::shared_ptr<const void> owner;
    NameSums sums;
  };

  std::shared_ptr<const Summed> summed_;  // used on the window's thread only
  Background background_;                 // declared last, so that it ends first
};

}  // namespace trainyard
