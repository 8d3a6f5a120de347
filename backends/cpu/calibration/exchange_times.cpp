#include "backends/cpu/calibration/exchange_times.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "backends/cpu/calibration/timed_exchange.h"
#include "backends/cpu/execution/exchange/collectives.h"
#include "core/base/median.h"

namespace trainyard {
namespace {

constexpr std::int64_t kLeast = 1 << 10, kMost = 64 << 20, kFactor = 2;

// A message goes to the neighbour and comes back.
Duration time_message(Processes& processes, std::int64_t bytes, std::vector<std::byte>& memory) {
  const int other = processes.rank() ^ 1;
  if (other >= processes.count()) return median(timed_exchange(processes, bytes, [] {}));
  const std::span<std::byte> message(memory.data(), static_cast<std::size_t>(bytes));
  const auto send = [&] { processes.wait(*processes.send(other, 0, message)); };
  const auto receive = [&] {
    processes.wait(*processes.announcement(other, 0));
    processes.wait(*processes.receive(other, 0, message));
  };
  return median(timed_exchange(
             processes, bytes,
             [&] { processes.rank() < other ? (send(), receive()) : (receive(), send()); })) /
         2;
}

Duration time_collective(Processes& processes, const SharedGroup& group, CollectiveKind kind,
                         std::int64_t bytes, std::vector<std::byte>& in,
                         std::vector<std::byte>& out) {
  const std::size_t ranks = group.processes, own = group.own;
  const Company company{ranks, &group};
  const std::int64_t elements = bytes / 4;
  std::vector<PartRange> parts;
  for (std::size_t r = 0; r < ranks; ++r) parts.push_back(slice_of(elements, r, ranks));
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<std::byte*> to(ranks, nullptr);
  from[own] = in.data(), to[own] = out.data();
  const auto begin = [&]() -> TravelPtr {
    switch (kind) {
      case CollectiveKind::AllReduce:
        return all_reduce(company, from, to, DType::F32, elements, false);
      case CollectiveKind::ReduceScatter:
        return reduce_scatter(company, from, to, parts, DType::F32, false);
      case CollectiveKind::AllGather:
        return all_gather(company, from, to, parts, DType::F32);
      default:
        break;
    }
    const auto part = [&](std::size_t r) { return static_cast<std::size_t>(parts[r].count) * 4; };
    return deal(
        company,
        [&](std::size_t, std::size_t r) {
          return std::span(in.data() + parts[r].first * 4, part(r));
        },
        [&](std::size_t r, std::size_t) { return part(r); },
        [&](const Dealt& dealt) -> TravelPtr {
          std::byte* into = out.data();
          for (std::size_t r = 0; r < ranks; ++r) {
            const std::span<const std::byte> came = dealt(r, own);
            into = std::copy(came.begin(), came.end(), into);
          }
          return nullptr;
        });
  };
  return median(timed_exchange(processes, bytes, [&] { finish(begin(), &processes); }));
}

}  // namespace

MeasuredExchanges measure_exchanges(Processes& processes) {
  MeasuredExchanges made;
  const auto keep = [&](const ExchangeTiming& timing) {
    const bool known = std::countr_zero(static_cast<std::uint64_t>(timing.bytes.value)) % 2 == 0;
    (known ? made.known : made.held_back).push_back(timing);
  };
  std::vector<std::byte> in(static_cast<std::size_t>(kMost)), out(static_cast<std::size_t>(kMost));
  for (std::int64_t bytes = kLeast; bytes <= kMost; bytes *= kFactor)
    keep({std::nullopt, 2, Bytes{bytes}, time_message(processes, bytes, in)});
  for (int ranks = 2; ranks <= processes.count(); ++ranks) {
    if (processes.count() % ranks != 0) continue;
    const int first = processes.rank() / ranks * ranks;
    std::vector<int> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), first);
    SharedGroup group;
    group.channel = processes.channel(members);
    group.own = static_cast<std::size_t>(processes.rank() - first);
    group.processes = members.size();
    for (std::size_t r = 0; r < members.size(); ++r) group.place.push_back(r);
    for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
                                CollectiveKind::AllGather, CollectiveKind::AllToAll})
      for (std::int64_t bytes = kLeast; bytes <= kMost; bytes *= kFactor)
        keep({kind, ranks, Bytes{bytes}, time_collective(processes, group, kind, bytes, in, out)});
  }
  return made;
}

}  // namespace trainyard
