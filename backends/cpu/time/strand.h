// A Strand is the queue of work of one device: any thread adds work, and one thread at a time runs
// it. No thread waits for a strand: a thread that finds it free runs the work, and one that does
// not leaves its work for the thread that owns the strand.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace trainyard {

/// Work is identified by a number below the size of `links` and may be in only one strand at a
/// time. Short work runs before long work.
class alignas(64) Strand {
 public:
  /// May be called from any thread. Returns true if the strand was free; the caller then owns it
  /// and must run its work until leave() succeeds, or hand it on.
  bool hand_in(std::uint32_t work, std::vector<std::uint32_t>& links) {
    std::uint32_t head = inbox_.load(std::memory_order_relaxed);
    do links[work] = head;
    while (!inbox_.compare_exchange_weak(head, work + 1));
    return !taken_.exchange(true);
  }

  // The remaining functions are for the owning thread.
  template <class IsShort>
  void collect(const std::vector<std::uint32_t>& links, IsShort is_short) {
    if (inbox_.load(std::memory_order_relaxed) == 0) return;
    arrived_.clear();
    for (std::uint32_t at = inbox_.exchange(0); at != 0; at = links[at - 1])
      arrived_.push_back(at - 1);
    for (auto work = arrived_.rbegin(); work != arrived_.rend(); ++work)
      keep(*work, is_short(*work));
  }
  void keep(std::uint32_t work, bool is_short) { (is_short ? short_ : long_).push(work); }
  bool next_short(std::uint32_t& work) { return short_.pop(work); }
  bool has_long() const { return !long_.empty(); }
  bool next_long(std::uint32_t& work) { return long_.pop(work); }
  /// The owning thread calls hand_on(), and the thread that continues calls take_over().
  void hand_on() { taken_.store(true, std::memory_order_release); }
  void take_over() const { static_cast<void>(taken_.load(std::memory_order_acquire)); }
  /// Returns false if more work has come in; the caller then still owns the strand.
  bool leave() {
    taken_.store(false);
    return inbox_.load() == 0 || taken_.exchange(true);
  }

 private:
  class Queue {
   public:
    bool empty() const { return first_ == items_.size(); }
    void push(std::uint32_t item) { items_.push_back(item); }
    bool pop(std::uint32_t& item) {
      if (empty()) return false;
      item = items_[first_++];
      if (empty()) items_.clear(), first_ = 0;
      return true;
    }

   private:
    std::vector<std::uint32_t> items_;
    std::size_t first_ = 0;
  };

  std::atomic<std::uint32_t> inbox_{0};  // the newest work + 1; each links to the one before
  std::atomic<bool> taken_{false};
  std::vector<std::uint32_t> arrived_;
  Queue short_, long_;
};

}  // namespace trainyard
