#include "backends/cpu/time/alarms.h"

#include <utility>

namespace trainyard {

Alarms::~Alarms() = default;

void Alarms::set(Time at, std::function<void()> what) {
  {
    const std::lock_guard lock(mutex_);
    alarms_.push({at, number_++, std::move(what)});
  }
  changed_.notify_one();
}

bool Alarms::wait_and_do() {
  std::unique_lock lock(mutex_);
  if (alarms_.empty()) return false;
  const Time first = alarms_.top().at;
  lock.unlock();
  std::this_thread::sleep_until(first);
  lock.lock();
  const std::function<void()> what = take();
  lock.unlock();
  what();
  return true;
}

void Alarms::start() {
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { ring(stop); });
}

// The caller holds the lock.
std::function<void()> Alarms::take() {
  std::function<void()> what = alarms_.top().what;
  alarms_.pop();
  return what;
}

void Alarms::ring(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (alarms_.empty()) {
      changed_.wait(lock, stop, [&] { return !alarms_.empty(); });
    } else if (const Time first = alarms_.top().at; first > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, stop, first,
                          [&] { return alarms_.empty() || alarms_.top().at < first; });
    } else {
      const std::function<void()> what = take();
      lock.unlock();
      what();
      lock.lock();
    }
  }
}

}  // namespace trainyard
