#include "core/memory/place_buffers.h"

#include <algorithm>

#include "core/memory/memory_stream.h"

namespace trainyard {
namespace {

std::int64_t rounded_up(Bytes bytes, Bytes alignment) {
  return (bytes.value + alignment.value - 1) / alignment.value * alignment.value;
}

// Most alive at once: at an instant what ends goes before what begins comes.
Bytes most_alive(std::span<const Lifetime> lives, const std::vector<std::int64_t>& sizes) {
  struct Change {
    std::int64_t at, bytes;
  };
  std::vector<Change> changes;
  for (std::size_t i = 0; i < lives.size(); ++i)
    if (sizes[i] > 0)
      changes.push_back({lives[i].from, sizes[i]}), changes.push_back({lives[i].to, -sizes[i]});
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at != b.at ? a.at < b.at : a.bytes < b.bytes;
  });
  std::int64_t now = 0, most = 0;
  for (const Change& change : changes) most = std::max(most, now += change.bytes);
  return Bytes{most};
}

struct Placed {
  std::int64_t from, to;   // time
  std::int64_t low, high;  // addresses
};

}  // namespace

Placement1D place(std::span<const Lifetime> lives, Bytes alignment) {
  Placement1D result;
  result.offsets.assign(lives.size(), Bytes{});
  std::vector<std::int64_t> sizes(lives.size(), 0);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    if (lives[i].from >= lives[i].to || lives[i].bytes.value == 0) continue;  // never there
    sizes[i] = rounded_up(lives[i].bytes, alignment);
    order.push_back(i);
  }
  result.lower_bound = most_alive(lives, sizes);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });

  std::vector<Placed> placed;  // by address
  placed.reserve(order.size());
  for (std::uint32_t i : order) {
    Placed made{lives[i].from, lives[i].to, 0, 0};
    for (const Placed& other : placed) {
      if (other.to <= made.from || made.to <= other.from) continue;
      if (other.low - made.low >= sizes[i]) break;
      made.low = std::max(made.low, other.high);
    }
    made.high = made.low + sizes[i];
    result.offsets[i] = Bytes{made.low};
    result.reach = std::max(result.reach, Bytes{made.high});
    placed.insert(std::upper_bound(placed.begin(), placed.end(), made,
                                   [](const Placed& a, const Placed& b) { return a.low < b.low; }),
                  made);
  }
  return result;
}

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
    // Who releases it has another number only where versions of weights go, oldest first.
    auto alive = open.find(key);
    if (alive == open.end()) alive = open.lower_bound({event.buffer, -1});
    if (alive == open.end() || alive->first.first != event.buffer) continue;
    Lifetime& life = lives[alive->second];
    life.to = std::max(event.at.count(), life.from + 1);  // it is there, however short
    open.erase(alive);
  }

  const Placement1D placement = place(lives);
  BufferPlaces places;
  for (std::size_t i = 0; i < lives.size(); ++i) places.offset[keys[i]] = placement.offsets[i];
  places.reach = placement.reach;
  places.lower_bound = placement.lower_bound;
  return places;
}

}  // namespace trainyard
