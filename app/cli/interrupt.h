// Turns Ctrl-C into a flag that work can check: the first is only recorded, a second one ends the
// program as usual.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace trainyard {

/// While a guard exists, the first SIGINT is only recorded. There may be one guard at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_{};
};

/// Returns whether SIGINT has arrived since the guard was made.
bool interrupted();

/// A stop token that the first SIGINT triggers within some 20 ms.
class InterruptStop {
 public:
  InterruptStop();
  std::stop_token token() const { return stop_.get_token(); }

 private:
  InterruptGuard guard_;
  std::stop_source stop_;
  std::jthread watch_;  // ends first
};

}  // namespace trainyard
