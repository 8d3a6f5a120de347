#include "core/timeline/buffer_lives.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

struct HeldChange {
  Instant at;
  InstructionId by;
};

struct HeldChanges {
  std::vector<HeldChange> allocations, releases;
};

// Adds what the instructions of one task do to the buffer.
void add_changes(const Timeline& t, const Program& p, BufferId buffer, InstructionId id,
                 HeldChanges& into) {
  const Task& task = p.task(id);
  for (std::uint32_t e = task.first_effect; e < task.first_effect + task.effects; ++e) {
    const MemoryEffect& effect = p.effects[e];
    if (effect.buffer != buffer) continue;
    const Span& span = t.spans[id.value];
    (effect.allocate ? into.allocations : into.releases)
        .push_back({effect.at_end ? span.end : span.start, id});
  }
}

bool earlier(const HeldChange& a, const HeldChange& b) {
  return a.at != b.at ? a.at < b.at : a.by < b.by;
}

}  // namespace

std::vector<BufferLife> lives_of(const Timeline& t, const Program& p, BufferId buffer) {
  const Instant end = makespan(t);
  if (p.buffers[buffer.value].persistent) return {{Instant{}, end, 0, 0, {}, {}}};
  std::map<std::pair<std::int32_t, std::int16_t>, HeldChanges> groups;
  for (std::uint32_t i = 0; i < p.instructions.size(); ++i) {
    const Instruction& in = p.instructions[i];
    const Task& task = p.task(in);
    const auto touches = [&](const MemoryEffect& effect) { return effect.buffer == buffer; };
    const auto first = p.effects.begin() + task.first_effect;
    if (std::any_of(first, first + task.effects, touches))
      add_changes(t, p, buffer, {i}, groups[{in.microbatch, in.wave}]);
  }
  std::vector<BufferLife> lives;
  const auto pair_up = [&](HeldChanges& changes, HeldChanges* left) {
    std::sort(changes.allocations.begin(), changes.allocations.end(), earlier);
    std::sort(changes.releases.begin(), changes.releases.end(), earlier);
    const std::size_t pairs = std::min(changes.allocations.size(), changes.releases.size());
    const auto add = [&](const HeldChange& allocation, Instant to, InstructionId released) {
      const Instruction& in = p.instructions[allocation.by.value];
      lives.push_back({allocation.at, to, in.microbatch, in.wave, allocation.by, released});
    };
    for (std::size_t i = 0; i < pairs; ++i)
      add(changes.allocations[i], changes.releases[i].at, changes.releases[i].by);
    for (std::size_t i = pairs; i < changes.allocations.size(); ++i)
      if (left == nullptr)
        add(changes.allocations[i], end, {});
      else
        left->allocations.push_back(changes.allocations[i]);
    for (std::size_t i = pairs; left != nullptr && i < changes.releases.size(); ++i)
      left->releases.push_back(changes.releases[i]);
  };
  HeldChanges left;
  for (auto& [key, changes] : groups) pair_up(changes, &left);
  pair_up(left, nullptr);
  std::sort(lives.begin(), lives.end(), [](const BufferLife& a, const BufferLife& b) {
    return a.from != b.from ? a.from < b.from : a.allocated < b.allocated;
  });
  return lives;
}

}  // namespace trainyard
