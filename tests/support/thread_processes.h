// Processes that are threads of this one, for what devices of several processes do together.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cpu/execution/exchange/collectives.h"

namespace trainyard::testing {

using Octets = std::vector<std::byte>;

/// Where processes leave what they send: by exchange of a channel, then by sender and receiver.
struct Hub {
  std::mutex mutex;
  std::map<int, std::map<std::pair<std::size_t, std::size_t>, Octets>> left;
};

class ThreadTransfer final : public Transfer {
 public:
  ThreadTransfer(Hub& hub, int exchange, std::size_t own, std::byte* into,
                 std::vector<std::size_t> bytes)
      : hub_(hub), exchange_(exchange), own_(own), into_(into), bytes_(std::move(bytes)) {}
  bool done() override {
    const std::lock_guard lock(hub_.mutex);
    auto& left = hub_.left[exchange_];
    for (std::size_t p = 0; p < bytes_.size(); ++p)
      if (left.count({p, own_}) == 0) return false;
    std::byte* at = into_;
    for (std::size_t p = 0; p < bytes_.size(); ++p) {
      const Octets& come = left[{p, own_}];
      EXPECT_EQ(come.size(), bytes_[p]);
      at = std::copy(come.begin(), come.end(), at);
    }
    return true;
  }

 private:
  Hub& hub_;
  const int exchange_;
  const std::size_t own_;
  std::byte* const into_;
  const std::vector<std::size_t> bytes_;
};

class ThreadChannel final : public Channel {
 public:
  ThreadChannel(Hub& hub, std::size_t own) : hub_(hub), own_(own) {}
  TransferPtr all_gather(const std::byte* mine, std::byte* all,
                         std::span<const std::size_t> bytes) override {
    leave([&](std::size_t) { return Octets(mine, mine + bytes[own_]); }, bytes.size());
    return std::make_unique<ThreadTransfer>(hub_, exchanges_++, own_, all,
                                            std::vector(bytes.begin(), bytes.end()));
  }
  TransferPtr all_to_all(const std::byte* to, std::span<const std::size_t> to_bytes,
                         std::byte* from, std::span<const std::size_t> from_bytes) override {
    leave(
        [&](std::size_t p) {
          const std::byte* const first =
              to + std::accumulate(to_bytes.begin(),
                                   to_bytes.begin() + static_cast<std::ptrdiff_t>(p),
                                   std::size_t{0});
          return Octets(first, first + to_bytes[p]);
        },
        to_bytes.size());
    return std::make_unique<ThreadTransfer>(hub_, exchanges_++, own_, from,
                                            std::vector(from_bytes.begin(), from_bytes.end()));
  }

 private:
  template <class F>
  void leave(F&& part, std::size_t processes) {
    const std::lock_guard lock(hub_.mutex);
    for (std::size_t p = 0; p < processes; ++p) hub_.left[exchanges_][{own_, p}] = part(p);
  }

  Hub& hub_;
  const std::size_t own_;
  int exchanges_ = 0;
};

/// Waits until the exchange and all that follows it have ended.
inline void finish_here(TravelPtr travel) {
  while (travel) {
    if (travel->arrived())
      travel = travel->go_on();
    else
      std::this_thread::yield();
  }
}

/// Calls run(company) in a thread for each process of a group, of which `process` says where each
/// member is (rising from 0).
template <class F>
void on_threads(const std::vector<std::size_t>& process, F&& run) {
  const std::size_t processes = process.back() + 1;
  Hub hub;
  std::vector<std::jthread> threads;
  for (std::size_t p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      const SharedGroup group{std::make_unique<ThreadChannel>(hub, p), process, p, processes};
      run(Company{process.size(), processes > 1 ? &group : nullptr});
    });
}

}  // namespace trainyard::testing
