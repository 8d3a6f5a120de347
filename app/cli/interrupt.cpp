#include "app/cli/interrupt.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace trainyard {
namespace {

std::atomic<bool> noted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // so a signal handler may write it

}  // namespace

InterruptGuard::InterruptGuard() {
  noted = false;
  struct sigaction action{};
  action.sa_handler = [](int) { noted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

bool interrupted() { return noted; }

InterruptStop::InterruptStop()
    : watch_([this](const std::stop_token& ended) {
        std::mutex alone;
        std::condition_variable_any never;
        std::unique_lock lock(alone);
        while (!ended.stop_requested() && !interrupted())
          never.wait_for(lock, ended, std::chrono::milliseconds(20), [] { return false; });
        if (interrupted()) stop_.request_stop();
      }) {}

}  // namespace trainyard
