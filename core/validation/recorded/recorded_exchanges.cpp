#include "core/validation/recorded/recorded_exchanges.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "core/cost/kernel_times.h"
#include "core/validation/recorded/recorded_units.h"

namespace trainyard {
namespace {

using GroupStep = std::pair<std::uint32_t, std::int64_t>;  // group and number of a step
using Matched = std::vector<const RecordedCollective*>;    // of one process, in order
using ExchangeKey = std::tuple<CollectiveKind, std::int64_t, std::int64_t, std::int64_t>;

struct Repeats {
  std::vector<std::int64_t> times;
  std::int64_t calls = 0;  // of all processes
  bool waits = false;
  Matched last;
};

// Returns how many ranks of the group are in the node of its first one; 0 where that is not stated.
std::int64_t in_one_node(const RecordedGroup& group, std::int64_t per_node) {
  if (group.ranks.empty()) return 0;
  return std::count_if(group.ranks.begin(), group.ranks.end(), [&](std::int64_t rank) {
    return rank / per_node == group.ranks.front() / per_node;
  });
}

bool are_alike(const Matched& a, const Matched& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RecordedCollective* one, const RecordedCollective* other) {
                      return one->kind == other->kind &&
                             (one->bytes == other->bytes || one->kind == CollectiveKind::AllToAll);
                    });
}

class ExchangeReader {
 public:
  ExchangeReader(const RecordedTrace& trace, std::int64_t per_node,
                 const std::function<Duration(const RecordedCollective&)>& time)
      : trace_(trace), per_node_(per_node), time_(time) {}

  RecordedExchanges read() {
    for (std::uint32_t process = 0; process < trace_.processes.size(); ++process) place(process);
    for (const auto& [where, by_process] : placed_) match(where.first, by_process);
    RecordedExchanges found;
    for (const auto& [key, repeats] : repeats_) {
      const auto [kind, ranks, in_node, bytes] = key;
      const Duration time{std::max<std::int64_t>(1, quantile(repeats.times, 0.5))};
      found.list.push_back({{kind, ranks, Bytes{bytes}, time, in_node},
                            static_cast<double>(repeats.calls) / std::max(1.0, steps_),
                            repeats.waits,
                            repeats.last});
    }
    for (const auto& [name, count] : others_)
      found.unseen.push_back(
          fmt::format("{}: {} in the recording, of which no price is made{}", name, count,
                      name == "send" || name == "recv" || name == "coalesced"
                          ? ", because a message lasts as long as the other end makes it wait"
                          : ""));
    return found;
  }

 private:
  void place(std::uint32_t process) {
    const std::span<const RecordedStep> steps = measured_steps(trace_, process);
    bool any = false;
    for (const RecordedCollective& one : trace_.collectives) {
      if (one.process != process) continue;
      any = true;
      std::int64_t number = 0;
      if (!steps.empty()) {
        const auto step = std::find_if(steps.begin(), steps.end(), [&](const RecordedStep& s) {
          return one.from >= s.from && one.from < s.to;
        });
        if (step == steps.end()) continue;
        number = step->number;
      }
      if (one.kind && one.bytes.value > 0)
        placed_[{one.group, number}][process].push_back(&one);
      else if (!one.kind)
        ++others_[trace_.names[one.name]];
    }
    if (any) steps_ += static_cast<double>(std::max<std::size_t>(1, steps.size()));
  }

  void match(std::uint32_t number, const std::map<std::uint32_t, Matched>& by_process) {
    const RecordedGroup& group = trace_.groups[number];
    const Matched& first = by_process.begin()->second;
    const bool alike = std::all_of(by_process.begin(), by_process.end(), [&](const auto& other) {
      return are_alike(first, other.second);
    });
    if (!alike) {
      for (const auto& [process, own] : by_process)
        for (const RecordedCollective* one : own) take(group, {one}, true);
      return;
    }
    const bool all = static_cast<std::int64_t>(by_process.size()) == group.size;
    for (std::size_t i = 0; i < first.size(); ++i) {
      Matched same;
      for (const auto& [process, own] : by_process) same.push_back(own[i]);
      take(group, same, !all);
    }
  }

  void take(const RecordedGroup& group, const Matched& same, bool waits) {
    std::int64_t bytes = 0;  // tokens of experts differ from rank to rank
    for (const RecordedCollective* one : same) bytes += one->bytes.value;
    const RecordedCollective* const last = *std::min_element(
        same.begin(), same.end(),
        [](const auto* a, const auto* b) { return a->to - a->from < b->to - b->from; });
    const Duration shortest = time_ ? time_(*last) : last->to - last->from;
    const auto count = static_cast<std::int64_t>(same.size());
    Repeats& repeats = repeats_[{*same.front()->kind, group.size, in_one_node(group, per_node_),
                                 std::max<std::int64_t>(1, bytes / count)}];
    repeats.times.push_back(shortest.count());
    repeats.calls += count, repeats.waits |= waits;
    if (!waits) repeats.last.push_back(last);
  }

  const RecordedTrace& trace_;
  const std::int64_t per_node_;
  const std::function<Duration(const RecordedCollective&)>& time_;
  std::map<GroupStep, std::map<std::uint32_t, Matched>> placed_;
  std::map<ExchangeKey, Repeats> repeats_;
  std::map<std::string, std::int64_t> others_;
  double steps_ = 0;
};

}  // namespace

RecordedExchanges recorded_exchanges(
    const RecordedTrace& trace, std::int64_t per_node,
    const std::function<Duration(const RecordedCollective&)>& time) {
  return ExchangeReader(trace, std::max<std::int64_t>(1, per_node), time).read();
}

}  // namespace trainyard
