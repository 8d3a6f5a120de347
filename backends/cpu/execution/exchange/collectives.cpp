#include "backends/cpu/execution/exchange/collectives.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/cpu/execution/exchange/reduction.h"

namespace trainyard {
namespace {

std::size_t bytes_in(std::int64_t elements, DType type) {
  return static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes_of(type));
}

std::vector<std::size_t> members_here(const Company& company) {
  std::vector<std::size_t> here;
  for (std::size_t m = 0; m < company.members; ++m)
    if (company.here(m)) here.push_back(m);
  return here;
}

// Memory of a message, which stays until the last who reads it is done. It is not cleared first.
class Message {
 public:
  explicit Message(std::size_t bytes) : bytes_(new std::byte[bytes]) {}
  std::byte* data() const { return bytes_.get(); }

 private:
  std::shared_ptr<std::byte[]> bytes_;
};

void add_or_store(std::byte* to, std::span<const void* const> parts, DType type,
                  std::int64_t elements, bool adds) {
  void* out = to;
  if (adds)
    add_sum_to(out, parts, type, elements);
  else
    sum_into(parts, {&out, 1}, type, elements);
}

TravelPtr sum_all(const Company& company, std::span<const std::byte* const> from,
                  std::span<std::byte* const> to, DType type, std::int64_t elements, bool adds) {
  const std::vector<const void*> parts(from.begin(), from.end());
  std::vector<void*> outs;
  for (std::size_t m : members_here(company)) outs.push_back(to[m]);
  if (!adds)
    sum_into(parts, outs, type, elements);
  else
    for (void* out : outs) add_sum_to(out, parts, type, elements);
  return nullptr;
}

}  // namespace

PartRange slice_of(std::int64_t elements, std::size_t member, std::size_t members) {
  const auto n = static_cast<std::int64_t>(members), m = static_cast<std::int64_t>(member);
  return {elements * m / n, elements * (m + 1) / n - elements * m / n};
}

void finish(TravelPtr travel, Processes* processes) {
  while (travel) {
    processes->wait(travel->transfer());
    travel = travel->go_on();
  }
}

TravelPtr after(TravelPtr first, Travel::Then next) {
  if (!first) return next();
  Travel* const waits = first.get();
  return std::make_unique<Travel>(waits->take_transfer(),
                                  [first = std::shared_ptr<Travel>(std::move(first)),
                                   next = std::move(next)] { return after(first->go_on(), next); });
}

TravelPtr spread(const Company& company, std::vector<const std::byte*> from,
                 std::vector<std::size_t> bytes,
                 std::function<TravelPtr(std::span<const std::byte* const>)> then) {
  if (company.shared == nullptr) return then(from);
  const SharedGroup& shared = *company.shared;
  std::vector<std::size_t> of_process(shared.processes, 0);
  for (std::size_t m = 0; m < company.members; ++m) of_process[shared.place[m]] += bytes[m];
  std::vector<std::size_t> at(shared.processes, 0);
  std::size_t all = 0;
  for (std::size_t p = 0; p < at.size(); ++p) at[p] = std::exchange(all, all + of_process[p]);
  // A single member sends its bytes from where they lie.
  const std::vector<std::size_t> here = members_here(company);
  const bool packs = here.size() > 1;
  const Message mine(packs ? of_process[shared.own] : 0), come(all);
  std::size_t held = 0;
  for (std::size_t m : here) {
    if (packs && bytes[m] > 0) std::memcpy(mine.data() + held, from[m], bytes[m]);
    held += bytes[m];
  }
  std::vector<const std::byte*> parts(company.members);
  for (std::size_t m = 0; m < company.members; ++m) {
    parts[m] = company.here(m) ? from[m] : come.data() + at[shared.place[m]];
    at[shared.place[m]] += bytes[m];
  }
  TransferPtr transfer =
      shared.channel->all_gather(packs ? mine.data() : from[here[0]], come.data(), of_process);
  return std::make_unique<Travel>(
      std::move(transfer),
      [mine, come, parts = std::move(parts), then = std::move(then)] { return then(parts); });
}

TravelPtr deal(const Company& company, const Dealt& from,
               const std::function<std::size_t(std::size_t, std::size_t)>& bytes,
               std::function<TravelPtr(const Dealt&)> then) {
  if (company.shared == nullptr) return then(from);
  const SharedGroup& shared = *company.shared;
  const std::vector<std::size_t> here = members_here(company);
  std::vector<std::size_t> out(shared.processes, 0), in(shared.processes, 0);
  for (std::size_t m = 0; m < company.members; ++m) {
    if (company.here(m)) continue;
    for (std::size_t own : here) {
      out[shared.place[m]] += bytes(own, m);
      in[shared.place[m]] += bytes(m, own);
    }
  }
  const auto total = [](const std::vector<std::size_t>& of) {
    std::size_t all = 0;
    for (std::size_t one : of) all += one;
    return all;
  };
  const Message mine(total(out)), come(total(in));
  // To a process go the bytes of each member here to each member there, and so they come.
  std::vector<std::span<const std::byte>> parts(company.members * company.members);
  std::size_t sent = 0, received = 0;
  for (std::size_t p = 0; p < shared.processes; ++p) {
    if (p == shared.own) continue;
    for (std::size_t own : here)
      for (std::size_t m = 0; m < company.members; ++m) {
        if (shared.place[m] != p) continue;
        const std::span<const std::byte> part = from(own, m);
        if (!part.empty()) std::memcpy(mine.data() + sent, part.data(), part.size());
        sent += part.size();
      }
    for (std::size_t m = 0; m < company.members; ++m) {
      if (shared.place[m] != p) continue;
      for (std::size_t own : here) {
        const std::size_t size = bytes(m, own);
        parts[m * company.members + own] = {come.data() + received, size};
        received += size;
      }
    }
  }
  for (std::size_t own : here)
    for (std::size_t other : here) parts[own * company.members + other] = from(own, other);
  TransferPtr transfer = shared.channel->all_to_all(mine.data(), out, come.data(), in);
  return std::make_unique<Travel>(
      std::move(transfer),
      [mine, come, members = company.members, parts = std::move(parts), then = std::move(then)] {
        return then([&](std::size_t m, std::size_t to) { return parts[m * members + to]; });
      });
}

// Parts of tensors travel twice, as sums need them, and each member adds up one slice. Two members,
// short tensors, and sums in 16 bits that are added before they are rounded do as well or better
// when every member sends all of its own to the others.
TravelPtr all_reduce(const Company& company, std::vector<const std::byte*> from,
                     const std::vector<std::byte*>& to, DType type, std::int64_t elements,
                     bool adds) {
  constexpr std::size_t kShort = 4096;
  const std::size_t size = bytes_in(elements, type);
  if (company.shared == nullptr) return sum_all(company, from, to, type, elements, adds);
  if (company.members == 2 || size <= kShort || (adds && type != DType::F32)) {
    return spread(company, std::move(from), std::vector<std::size_t>(company.members, size),
                  [=](std::span<const std::byte* const> parts) {
                    return sum_all(company, parts, to, type, elements, adds);
                  });
  }
  std::vector<PartRange> slices;
  std::vector<std::byte*> sums(company.members, nullptr);
  std::vector<Message> held;  // whose memory `sums` lie in
  for (std::size_t m = 0; m < company.members; ++m) {
    slices.push_back(slice_of(elements, m, company.members));
    if (!company.here(m)) continue;
    sums[m] = held.emplace_back(bytes_in(slices[m].count, type)).data();
  }
  const auto sum_slice = [=](const Dealt& dealt) -> TravelPtr {
    std::vector<const std::byte*> own(company.members, nullptr);
    std::vector<std::size_t> bytes;
    for (std::size_t m = 0; m < company.members; ++m) {
      bytes.push_back(bytes_in(slices[m].count, type));
      if (!company.here(m)) continue;
      std::vector<const void*> parts;
      for (std::size_t p = 0; p < company.members; ++p) parts.push_back(dealt(p, m).data());
      add_or_store(sums[m], parts, type, slices[m].count, false);
      own[m] = sums[m];
    }
    return spread(company, own, bytes, [=](std::span<const std::byte* const> parts) -> TravelPtr {
      for (std::size_t m : members_here(company))
        for (std::size_t p = 0; p < company.members; ++p) {
          const void* part = parts[p];
          add_or_store(to[m] + bytes_in(slices[p].first, type), {&part, 1}, type, slices[p].count,
                       adds);
        }
      static_cast<void>(held);  // which the parts of this process lie in
      return nullptr;
    });
  };
  return deal(
      company,
      [&](std::size_t m, std::size_t p) {
        return std::span(from[m] + bytes_in(slices[p].first, type),
                         bytes_in(slices[p].count, type));
      },
      [&](std::size_t, std::size_t p) { return bytes_in(slices[p].count, type); }, sum_slice);
}

TravelPtr reduce_scatter(const Company& company, const std::vector<const std::byte*>& from,
                         const std::vector<std::byte*>& to, const std::vector<PartRange>& ranges,
                         DType type, bool adds) {
  return deal(
      company,
      [&](std::size_t m, std::size_t p) {
        return std::span(from[m] + bytes_in(ranges[p].first, type),
                         bytes_in(ranges[p].count, type));
      },
      [&](std::size_t, std::size_t p) { return bytes_in(ranges[p].count, type); },
      [=](const Dealt& dealt) -> TravelPtr {
        for (std::size_t m : members_here(company)) {
          if (ranges[m].count <= 0) continue;
          std::vector<const void*> parts;
          for (std::size_t p = 0; p < company.members; ++p) parts.push_back(dealt(p, m).data());
          add_or_store(to[m], parts, type, ranges[m].count, adds);
        }
        return nullptr;
      });
}

TravelPtr all_gather(const Company& company, std::vector<const std::byte*> from,
                     const std::vector<std::byte*>& to, const std::vector<PartRange>& ranges,
                     DType type) {
  std::vector<std::size_t> bytes;
  for (const PartRange& range : ranges) bytes.push_back(bytes_in(range.count, type));
  return spread(company, std::move(from), bytes,
                [=](std::span<const std::byte* const> parts) -> TravelPtr {
                  for (std::size_t m : members_here(company))
                    for (std::size_t p = 0; p < company.members; ++p) {
                      std::byte* const into = to[m] + bytes_in(ranges[p].first, type);
                      if (bytes[p] > 0 && into != parts[p]) std::memcpy(into, parts[p], bytes[p]);
                    }
                  return nullptr;
                });
}

}  // namespace trainyard
