#include "core/memory/lifetime.h"

#include <algorithm>
#include <vector>

namespace trainyard {

Bytes most_alive(std::span<const Lifetime> lives, Bytes alignment) {
  struct Change {
    std::int64_t at, bytes;
  };
  std::vector<Change> changes;
  for (const Lifetime& life : lives) {
    if (!ever_there(life)) continue;
    const std::int64_t size = rounded_up(life.bytes, alignment);
    changes.push_back({life.from, size});
    changes.push_back({life.to, -size});
  }
  // At an instant, lifetimes that end are removed before those that begin are added.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.at != b.at ? a.at < b.at : a.bytes < b.bytes;
  });
  std::int64_t now = 0, most = 0;
  for (const Change& change : changes) most = std::max(most, now += change.bytes);
  return Bytes{most};
}

}  // namespace trainyard
