// Tests that sums, gathers and exchanges give the same bits wherever the devices of a group are.
#include "backends/cpu/execution/collectives.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "core/cluster/collective.h"

namespace trainyard {
namespace {

using Octets = std::vector<std::byte>;

// Where processes that are threads of this one leave what they send: by exchange of a channel, then
// by sender and receiver.
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

void finish_here(TravelPtr travel) {
  while (travel) {
    if (travel->arrived())
      travel = travel->go_on();
    else
      std::this_thread::yield();
  }
}

struct SpreadCase {
  CollectiveKind kind = CollectiveKind::AllReduce;
  DType type = DType::F32;
  bool adds = false;
  std::vector<std::size_t> process;  // by member, rising
  std::vector<PartRange> ranges;     // by member
  std::int64_t elements = 0;
  std::vector<Octets> from, to;  // by member
};

SpreadCase any_spread_case() {
  SpreadCase c;
  c.kind = *rc::gen::element(CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
                             CollectiveKind::AllGather);
  c.type = *rc::gen::element(DType::F32, DType::BF16);
  c.adds = *rc::gen::arbitrary<bool>() && c.kind != CollectiveKind::AllGather;
  const auto members = *rc::gen::inRange<std::size_t>(1, 7);
  for (std::size_t m = 0; m < members; ++m)
    c.process.push_back(m == 0 ? 0 : c.process.back() + *rc::gen::inRange<std::size_t>(0, 2));
  for (std::size_t m = 0; m < members; ++m) {
    c.ranges.push_back({c.elements, *rc::gen::inRange<std::int64_t>(0, 700)});
    c.elements += c.ranges.back().count;
  }
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  const auto filled = [&](std::int64_t elements) {
    Octets bytes(static_cast<std::size_t>(elements) * (c.type == DType::F32 ? 4 : 2));
    for (std::int64_t i = 0; i < elements; ++i) {
      const float value = std::normal_distribution<float>(0, 1)(random);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      const std::uint16_t high = static_cast<std::uint16_t>(bits >> 16);
      if (c.type == DType::F32)
        std::memcpy(bytes.data() + 4 * i, &value, 4);
      else
        std::memcpy(bytes.data() + 2 * i, &high, 2);
    }
    return bytes;
  };
  for (std::size_t m = 0; m < members; ++m) {
    const bool part_in = c.kind == CollectiveKind::AllGather,
               part_out = c.kind == CollectiveKind::ReduceScatter;
    c.from.push_back(filled(part_in ? c.ranges[m].count : c.elements));
    c.to.push_back(filled(part_out ? c.ranges[m].count : c.elements));
  }
  return c;
}

// Does the collective for the members that are here, into `to`.
void collect(const SpreadCase& c, const Company& company, std::vector<Octets>& into) {
  std::vector<const std::byte*> from(company.members, nullptr);
  std::vector<std::byte*> to(company.members, nullptr);
  for (std::size_t m = 0; m < company.members; ++m)
    if (company.here(m)) from[m] = c.from[m].data(), to[m] = into[m].data();
  finish_here(c.kind == CollectiveKind::AllReduce
                  ? all_reduce(company, from, to, c.type, c.elements, c.adds)
              : c.kind == CollectiveKind::ReduceScatter
                  ? reduce_scatter(company, from, to, c.ranges, c.type, c.adds)
                  : all_gather(company, from, to, c.ranges, c.type));
}

RC_GTEST_PROP(Collectives, GiveTheSameBitsWhereverTheirMembersAre, ()) {
  const SpreadCase c = any_spread_case();
  std::vector<Octets> alone = c.to, apart = c.to;
  collect(c, {c.process.size(), nullptr}, alone);
  const std::size_t processes = c.process.back() + 1;
  Hub hub;
  std::vector<std::jthread> threads;
  for (std::size_t p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      const SharedGroup group{std::make_unique<ThreadChannel>(hub, p), c.process, p, processes};
      collect(c, {c.process.size(), processes > 1 ? &group : nullptr}, apart);
    });
  threads.clear();
  RC_ASSERT(apart == alone);
}

}  // namespace
}  // namespace trainyard
