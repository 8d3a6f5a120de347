// Ctrl-C as something that work may look at: the first is noted, a second one ends the program as
// usual.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace trainyard {

/// While it lives, the first SIGINT is only noted. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_{};
};

/// Since the guard was made.
bool interrupted();

/// A stop token that the first SIGINT stops, within some 20 ms.
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
