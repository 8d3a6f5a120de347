#include "core/memory/replay_allocator.h"

#include <map>
#include <utility>

#include "core/memory/memory_stream.h"

namespace trainyard {
namespace {

class ReplayRun {
 public:
  ReplayRun(const Program& program, AllocatorRules rules) : p_(program), allocator_(rules) {}

  void hold(std::uint32_t buffer, std::int32_t microbatch) {
    std::vector<CachingAllocator::Handle>& held = held_[{buffer, microbatch}];
    const Buffer& b = p_.buffers[buffer];
    if (b.parts == 0) return take(b.bytes, held);
    for (std::uint32_t i = 0; i < b.parts; ++i) take(p_.parts[b.first_part + i].bytes, held);
  }

  void release(std::uint32_t buffer, std::int32_t microbatch) {
    auto at = held_.find({buffer, microbatch});
    // The microbatch of the release differs from that of the allocation only for versions of
    // weights, which are released oldest first.
    if (at == held_.end()) at = held_.lower_bound({buffer, -1});
    if (at == held_.end() || at->first.first != buffer) return;
    for (const CachingAllocator::Handle h : at->second) allocator_.free(h);
    held_.erase(at);
  }

  AllocatorReplay take() {
    replay_.allocated = allocator_.most_allocated();
    replay_.reserved = allocator_.most_reserved();
    replay_.retries = allocator_.retries();
    return replay_;
  }

 private:
  void take(Bytes bytes, std::vector<CachingAllocator::Handle>& held) {
    if (bytes.value == 0) return;
    const Bytes before = allocator_.most_reserved();
    if (const auto handle = allocator_.allocate(bytes))
      held.push_back(*handle);
    else
      replay_.ran_out = true;
    replay_.requested = std::max(replay_.requested, allocator_.requested());
    if (allocator_.most_reserved() == before) return;
    const CachingAllocator::Unused unused = allocator_.unused();
    replay_.rounding = allocator_.allocated() - allocator_.requested();
    replay_.small_free = unused.small, replay_.shared_free = unused.shared;
    replay_.own_free = unused.own, replay_.largest_free = unused.largest;
  }

  const Program& p_;
  CachingAllocator allocator_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::vector<CachingAllocator::Handle>> held_;
  AllocatorReplay replay_;
};

}  // namespace

AllocatorReplay replay_allocator(const Program& p, const Timeline& t, DeviceId device,
                                 AllocatorRules rules) {
  ReplayRun replay(p, rules);
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b)
    if (const Buffer& buffer = p.buffers[b];
        buffer.persistent && buffer.device == device && buffer.category != Category::Framework)
      replay.hold(b, -1);
  for (const BufferEvent& event : memory_stream(p, t, device))
    event.allocate ? replay.hold(event.buffer, event.microbatch)
                   : replay.release(event.buffer, event.microbatch);
  return replay.take();
}

}  // namespace trainyard
