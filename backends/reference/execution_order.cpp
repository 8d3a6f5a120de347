#include "backends/reference/execution_order.h"

#include <cassert>
#include <cstdint>

namespace trainyard {
namespace {

// Who waits for each instruction, as one list sliced by instruction.
struct Dependents {
  std::vector<std::uint32_t> first, list, waits;

  explicit Dependents(const Program& p) : first(p.instructions.size() + 1), waits(first.size()) {
    each(p, [&](std::uint32_t before, std::uint32_t) { ++first[before + 1]; });
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    list.resize(first.back());
    std::vector<std::uint32_t> next = first;
    each(p, [&](std::uint32_t before, std::uint32_t after) {
      list[next[before]++] = after;
      ++waits[after];
    });
  }

 private:
  template <class F>
  static void each(const Program& p, F&& f) {
    for (const Stream& stream : p.streams)
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
        if (i > stream.first) f(i - 1, i);
        const Instruction& in = p.instructions[i];
        for (std::uint32_t a = in.first_after; a < in.first_after + in.afters; ++a)
          f(p.after[a].value, i);
      }
  }
};

}  // namespace

std::vector<InstructionId> execution_order(const Program& p) {
  Dependents dependents(p);
  std::vector<InstructionId> order;
  order.reserve(p.instructions.size());
  // What is ready is appended; two ends that meet are appended together.
  const auto ready = [&](std::uint32_t i) {
    const InstructionId peer = p.instructions[i].peer;
    if (!peer.valid()) {
      order.push_back({i});
      return;
    }
    if (dependents.waits[peer.value] > 0) return;
    const bool receives = p.task(InstructionId{i}).kind == TaskKind::Receive;
    order.push_back(receives ? peer : InstructionId{i});
    order.push_back(receives ? InstructionId{i} : peer);
  };
  // Both ends of a pair may be ready at the start: the later one sees it.
  for (std::uint32_t i = 0; i < p.instructions.size(); ++i) {
    const InstructionId peer = p.instructions[i].peer;
    if (dependents.waits[i] == 0 && !(peer.valid() && peer.value > i)) ready(i);
  }
  for (std::size_t at = 0; at < order.size(); ++at)
    for (std::uint32_t d = dependents.first[order[at].value];
         d < dependents.first[order[at].value + 1]; ++d)
      if (--dependents.waits[dependents.list[d]] == 0) ready(dependents.list[d]);
  assert(order.size() == p.instructions.size() && "verify() refuses programs that cannot end");
  return order;
}

}  // namespace trainyard
