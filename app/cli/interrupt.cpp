#include "app/cli/interrupt.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace trainyard {
namespace {

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free);  // so a signal handler may write it

constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

void note(int signal) {
  int none = 0;
  noted.compare_exchange_strong(none, signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : note;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int interrupt_signal() { return noted; }

void forget_interrupt() { noted = 0; }

InterruptStop::InterruptStop()
    : watch_([this](const std::stop_token& ended) {
        std::mutex alone;
        std::condition_variable_any never;
        std::unique_lock lock(alone);
        while (!ended.stop_requested() && interrupt_signal() == 0)
          never.wait_for(lock, ended, std::chrono::milliseconds(20), [] { return false; });
        if (interrupt_signal() != 0) stop_.request_stop();
      }) {}

}  // namespace trainyard
