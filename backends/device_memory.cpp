#include "backends/device_memory.h"

#include <algorithm>

namespace trainyard {

void add_memory(std::vector<DeviceMemory>& all, const std::vector<DeviceMemory>& more) {
  for (const DeviceMemory& m : more) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const DeviceMemory& a) {
      return a.device == m.device && a.peer == m.peer;
    });
    if (same == all.end()) {
      all.push_back(m);
      continue;
    }
    same->most = std::max(same->most, m.most), same->reach = std::max(same->reach, m.reach);
    same->scratch = std::max(same->scratch, m.scratch), same->host = std::max(same->host, m.host);
    same->load = std::max(same->load, m.load);
    same->dropped = std::max(same->dropped, m.dropped);
    for (std::size_t c = 0; c < kCategories; ++c)
      same->most_by_category[c] = std::max(same->most_by_category[c], m.most_by_category[c]);
  }
}

}  // namespace trainyard
