// Things to be done at an instant and not before, without a thread that waits for each.
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

  /// From any thread. Of two at one time the one set first goes first.
  void set(Time, std::function<void()>);
  /// Blocks until the first of them is due and does it on this thread; false when none is set. For
  /// those who have no other thread that sets any.
  bool wait_and_do();
  /// Or: from now on until the end all of them are done on a thread of their own.
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
