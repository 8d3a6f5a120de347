// Alarms run functions at given times, without a waiting thread for each.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <vector>

namespace trainyard {

class Alarms {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// May be called from any thread. Alarms with equal times run in the order in which they were
  /// set.
  void set(Time, std::function<void()>);
  /// Blocks until the first alarm is due and runs it on this thread; returns false if none is set.
  /// Use this if no other thread sets alarms.
  bool wait_and_do();
  /// Alternatively, start() runs all alarms on a thread of their own until destruction.
  void start();
  ~Alarms();

 private:
  struct Alarm {
    Time at;
    std::uint64_t number;
    std::function<void()> what;
    friend bool operator>(const Alarm& a, const Alarm& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };
  std::function<void()> take();
  void ring(const std::stop_token&);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
  std::uint64_t number_ = 0;
  std::jthread thread_;
};

}  // namespace trainyard
