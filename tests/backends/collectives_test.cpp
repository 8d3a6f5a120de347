// Tests that sums, gathers and exchanges give the same bits wherever the devices of a group are.
#include "backends/cpu/execution/exchange/collectives.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <random>

#include "core/cluster/collective.h"
#include "tests/support/thread_processes.h"

namespace trainyard {
namespace {

using testing::finish_here;
using testing::Octets;
using testing::on_threads;

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
  on_threads(c.process, [&](const Company& company) { collect(c, company, apart); });
  RC_ASSERT(apart == alone);
}

}  // namespace
}  // namespace trainyard
