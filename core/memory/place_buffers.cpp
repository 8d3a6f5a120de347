#include "core/memory/place_buffers.h"

#include <algorithm>
#include <vector>

#include "core/memory/arena_solver.h"
#include "core/memory/memory_stream.h"

namespace trainyard {
namespace {

constexpr Bytes kAlignment{64};
// The time of a node is proportional to the number of buffers; this allows some tens of
// milliseconds in all.
constexpr std::int64_t kNodesTimesBuffers = 400'000;

}  // namespace

BufferPlaces place_buffers(const Program& p, const Timeline& t, DeviceId device) {
  using Key = std::pair<std::uint32_t, std::int32_t>;
  std::vector<Lifetime> lives;
  std::vector<Key> keys;
  Instant end{1};
  for (const Span& span : t.spans) end = std::max(end, span.end);
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b)
    if (const Buffer& buffer = p.buffers[b];
        buffer.persistent && buffer.device == device && buffer.category != Category::Framework)
      lives.push_back({0, end.count(), buffer.bytes}), keys.emplace_back(b, -1);

  std::map<Key, std::size_t> open;  // index into lives
  for (const BufferEvent& event : memory_stream(p, t, device)) {
    const Key key{event.buffer, event.microbatch};
    if (event.allocate) {
      open[key] = lives.size();
      lives.push_back({event.at.count(), end.count(), p.buffers[event.buffer].bytes});
      keys.push_back(key);
      continue;
    }
    // The microbatch of the release differs from that of the allocation only for versions of
    // weights, which are released oldest first.
    auto alive = open.find(key);
    if (alive == open.end()) alive = open.lower_bound({event.buffer, -1});
    if (alive == open.end() || alive->first.first != event.buffer) continue;
    Lifetime& life = lives[alive->second];
    life.to = std::max(event.at.count(), life.from + 1);  // every buffer exists for at least one
                                                          // nanosecond
    open.erase(alive);
  }

  const std::int64_t nodes =
      kNodesTimesBuffers / std::max<std::int64_t>(static_cast<std::int64_t>(lives.size()), 1);
  const SolvedArena placement = solve_arena(lives, {.alignment = kAlignment, .nodes = nodes});
  BufferPlaces places;
  for (std::size_t i = 0; i < lives.size(); ++i) places.offset[keys[i]] = placement.offsets[i];
  places.reach = placement.reach;
  places.lower_bound = placement.lower_bound;
  return places;
}

}  // namespace trainyard
