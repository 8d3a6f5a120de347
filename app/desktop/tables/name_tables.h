// Tables by name of ranges of time. Where a range holds few spans the answer is there at once;
// where it holds many it comes from a thread, first with percentiles to within 1/64 and then exact,
// so that the window never waits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/desktop/session/background.h"
#include "visualizers/viewmodel/statistics.h"

namespace trainyard {

class NameTables {
 public:
  /// Of the table; and whether its median and p95 are exact.
  using Heard = std::function<void(const std::vector<NameStatistics>&, bool exact)>;

  explicit NameTables(QObject* window) : background_(window) {}

  /// Calls `heard` before it returns, or later and up to twice, on the window's thread. A newer
  /// question ends the older one. `owner` keeps the store alive and stands for it: sums of the last
  /// owner's store are kept.
  void ask(std::shared_ptr<const void> owner, const SpanStore&, std::vector<std::uint32_t> rows,
           Instant from, Instant to, Heard);
  /// Ends the question; nothing is heard any more.
  void stop() { background_.stop(); }
  bool running() const { return background_.running(); }

 private:
  struct Summed {
    std::shared_ptr<const void> owner;
    NameSums sums;
  };

  std::shared_ptr<const Summed> summed_;  // of the window's thread
  Background background_;                 // ends first
};

}  // namespace trainyard
