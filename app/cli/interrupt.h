// Turns Ctrl-C, SIGTERM (a queue or a container that ends) and SIGHUP (a terminal that closes) into
// a flag that work can check: the first is only recorded, a second of the same ends the program as
// usual.
#pragma once

#include <array>
#include <csignal>
#include <stop_token>
#include <thread>

namespace trainyard {

/// While a guard exists, the first SIGINT, SIGTERM or SIGHUP is only recorded; one that the program
/// was started to ignore, as by nohup, stays ignored. SIGPIPE is ignored meanwhile: who reads the
/// progress may be gone before what was found is kept. There may be one guard at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  std::array<struct sigaction, 4> before_{};
};

/// Returns the first signal recorded since forget_interrupt(), or 0. The program exits with 128 and
/// this, whatever the verb answers.
int interrupt_signal();
void forget_interrupt();

/// A stop token that the first signal triggers within some 20 ms.
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
