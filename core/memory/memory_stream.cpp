#include "core/memory/memory_stream.h"

#include <algorithm>

namespace trainyard {

std::vector<BufferEvent> memory_stream(const Program& p, const Timeline& t, DeviceId device) {
  std::vector<BufferEvent> events;
  for (const Stream& s : p.streams) {
    if (s.device != device) continue;
    for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
      const Task& task = p.task(InstructionId{i});
      for (std::uint32_t e = task.first_effect; e < task.first_effect + task.effects; ++e) {
        const MemoryEffect& effect = p.effects[e];
        events.push_back({effect.at_end ? t.spans[i].end : t.spans[i].start, effect.allocate,
                          effect.buffer.value, p.instructions[i].microbatch});
      }
    }
  }
  std::stable_sort(events.begin(), events.end());
  return events;
}

}  // namespace trainyard
