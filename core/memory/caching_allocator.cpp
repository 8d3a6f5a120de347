#include "core/memory/caching_allocator.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace trainyard {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::int64_t kBlock = 512;   // sizes are multiples of it
constexpr std::int64_t kSmall = kMiB;  // largest request served from a small segment
constexpr std::int64_t kSmallSegment = 2 * kMiB;
constexpr std::int64_t kLargeSegment = 20 * kMiB;
constexpr std::int64_t kOwnSegment = 10 * kMiB;  // requests from this size on get a segment of
                                                 // their own
constexpr std::int64_t kRound = 2 * kMiB;        // multiple to which its size is rounded
constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

std::int64_t page(bool small) { return small ? kSmallSegment : kLargeSegment; }

}  // namespace

Bytes CachingAllocator::rounded(Bytes bytes) {
  return Bytes{std::max(kBlock, round_up(bytes.value, kBlock))};
}

Bytes CachingAllocator::segment_of(Bytes block) {
  if (block.value <= kSmall) return Bytes{kSmallSegment};
  if (block.value < kOwnSegment) return Bytes{kLargeSegment};
  return Bytes{round_up(block.value, kRound)};
}

void CachingAllocator::reserve(std::int64_t change) {
  reserved_ += Bytes{change};
  most_reserved_ = std::max(most_reserved_, reserved_);
}

// Only free blocks that are mapped are listed.
void CachingAllocator::list(Address at, bool there) {
  const Segment& segment = segments_.at(at.first);
  const Block& block = segment.blocks.at(at.second);
  if (!block.free || !block.mapped) return;
  const Free entry{block.size, at.first, at.second};
  std::set<Free>& list = free_[segment.small ? 1 : 0];
  if (there)
    list.insert(entry);
  else
    list.erase(entry);
}

std::optional<CachingAllocator::Address> CachingAllocator::find(bool small,
                                                                std::int64_t size) const {
  const std::set<Free>& list = free_[small ? 1 : 0];
  const auto best = list.lower_bound({size, 0, 0});
  if (best == list.end()) return std::nullopt;
  return Address{std::get<1>(*best), std::get<2>(*best)};
}

std::optional<CachingAllocator::Address> CachingAllocator::make_segment(bool small,
                                                                        std::int64_t size) {
  const std::int64_t whole = segment_of(Bytes{size}).value;
  if (!room(whole)) return std::nullopt;
  const std::uint32_t id = next_segment_++;
  Segment& segment = segments_[id];
  segment.small = small;
  segment.blocks[0] = Block{whole, true, true, 0, clock_};
  list({id, 0}, true);
  reserve(whole);
  return Address{id, 0};
}

// Takes the first run of free addresses, mapped or not, that holds the request; its unmapped parts
// get pages.
std::optional<CachingAllocator::Address> CachingAllocator::expand(bool small, std::int64_t size) {
  std::optional<std::uint32_t>& range = ranges_[small ? 1 : 0];
  if (!range) {
    range = next_segment_++;
    Segment& made = segments_[*range];
    made.small = small, made.expandable = true;
    made.blocks[0] = Block{kEndless, true, false, 0, 0};
  }
  Segment& segment = segments_.at(*range);
  for (auto at = segment.blocks.begin(); at != segment.blocks.end(); ++at) {
    if (!at->second.free) continue;
    const auto before = at == segment.blocks.begin() ? segment.blocks.end() : std::prev(at);
    if (before != segment.blocks.end() && before->second.free)
      continue;  // it is not the first block of its run
    std::int64_t run = 0, unmapped = 0;
    auto end = at;
    for (; end != segment.blocks.end() && end->second.free && run < size; ++end) {
      const bool last = run + end->second.size >= size;
      const std::int64_t needed = last ? size - run : end->second.size;
      if (!end->second.mapped)
        unmapped += std::min(end->second.size, round_up(needed, page(small)));
      run += end->second.size;
    }
    if (run < size) continue;
    if (!room(unmapped)) return std::nullopt;
    const std::int64_t start = at->first;
    std::int64_t reach = 0;
    for (auto block = at; block != end;) {
      const std::int64_t offset = block->first;
      const Block piece = block->second;
      bool cut = false;  // the rest of it stays without pages
      if (piece.mapped) {
        list({*range, offset}, false);
        reach += piece.size;
      } else {
        const std::int64_t needed = std::min(piece.size, size - reach);
        const std::int64_t map = std::min(piece.size, round_up(needed, page(small)));
        cut = map < piece.size;
        if (cut) segment.blocks[offset + map] = Block{piece.size - map, true, false, 0, 0};
        reach += map;
        reserve(map);
      }
      block = segment.blocks.erase(block);
      if (cut) break;
    }
    segment.blocks[start] = Block{reach, true, true, 0, clock_};
    list({*range, start}, true);
    return Address{*range, start};
  }
  return std::nullopt;
}

CachingAllocator::Handle CachingAllocator::take(Address at, std::int64_t size, Bytes asked) {
  list(at, false);
  Segment& segment = segments_.at(at.first);
  Block& block = segment.blocks.at(at.second);
  const std::int64_t rest = block.size - size;
  const bool splits = segment.small || segment.expandable ? rest >= kBlock : rest > kSmall;
  if (splits) {
    segment.blocks[at.second + size] = Block{rest, true, true, 0, block.freed_at};
    block.size = size;
    list({at.first, at.second + size}, true);
  }
  block.free = false;
  block.asked = asked.value;
  allocated_ += Bytes{block.size};
  requested_ += asked;
  most_allocated_ = std::max(most_allocated_, allocated_);
  Handle handle = static_cast<Handle>(handles_.size());
  if (unused_.empty())
    handles_.push_back(at);
  else
    handle = unused_.back(), unused_.pop_back(), handles_[handle] = at;
  return handle;
}

std::optional<CachingAllocator::Handle> CachingAllocator::allocate(Bytes asked) {
  assert(asked.value > 0);
  ++clock_;
  const std::int64_t size = rounded(asked).value;
  const bool small = size <= kSmall;
  if (const auto found = find(small, size)) return take(*found, size, asked);
  if (rules_.collect_above > 0 && !rules_.expandable_segments)
    collect(segment_of(Bytes{size}).value);
  const auto make = [&] {
    return rules_.expandable_segments ? expand(small, size) : make_segment(small, size);
  };
  std::optional<Address> made = make();
  if (!made) {
    ++retries_;
    release_cached();
    made = make();
  }
  if (!made) return std::nullopt;
  return take(*made, size, asked);
}

CachingAllocator::Address CachingAllocator::join(Address at) {
  Segment& segment = segments_.at(at.first);
  auto block = segment.blocks.find(at.second);
  const auto joins = [](const Block& a, const Block& b) {
    return a.free && b.free && a.mapped == b.mapped;
  };
  if (const auto next = std::next(block);
      next != segment.blocks.end() && joins(block->second, next->second)) {
    list({at.first, next->first}, false);
    block->second.size += next->second.size;
    segment.blocks.erase(next);
  }
  if (block != segment.blocks.begin())
    if (const auto before = std::prev(block); joins(before->second, block->second)) {
      list({at.first, before->first}, false);
      before->second.size += block->second.size;
      before->second.freed_at = block->second.freed_at;
      segment.blocks.erase(block);
      return {at.first, before->first};
    }
  return at;
}

void CachingAllocator::free(Handle handle) {
  assert(handle < handles_.size() && handles_[handle]);
  const Address at = *handles_[handle];
  handles_[handle].reset();
  unused_.push_back(handle);
  Block& block = segments_.at(at.first).blocks.at(at.second);
  allocated_ -= Bytes{block.size};
  requested_ -= Bytes{block.asked};
  block.free = true, block.asked = 0, block.freed_at = ++clock_;
  list(join(at), true);
}

// Returns whole free pages of an expandable segment to the device.
void CachingAllocator::release_pages(std::uint32_t id, Segment& segment) {
  const std::int64_t size = page(segment.small);
  std::vector<std::int64_t> mapped;
  for (const auto& [offset, block] : segment.blocks)
    if (block.free && block.mapped) mapped.push_back(offset);
  for (const std::int64_t offset : mapped) {
    const Block block = segment.blocks.at(offset);
    const std::int64_t from = round_up(offset, size), to = (offset + block.size) / size * size;
    if (to <= from) continue;
    list({id, offset}, false);
    segment.blocks.erase(offset);
    const auto put = [&](std::int64_t begin, std::int64_t end, bool there) {
      if (end <= begin) return;
      segment.blocks[begin] = Block{end - begin, true, there, 0, block.freed_at};
      if (there) list({id, begin}, true);
    };
    put(offset, from, true);
    put(from, to, false);
    put(to, offset + block.size, true);
    reserve(from - to);
  }
  // Neighbouring free blocks without pages are merged again.
  for (auto at = segment.blocks.begin(); at != segment.blocks.end(); ++at)
    for (auto next = std::next(at); next != segment.blocks.end() && at->second.free &&
                                    next->second.free && !at->second.mapped && !next->second.mapped;
         next = std::next(at)) {
      at->second.size += next->second.size;
      segment.blocks.erase(next);
    }
}

void CachingAllocator::release_cached() {
  for (auto at = segments_.begin(); at != segments_.end();) {
    auto& [id, segment] = *at;
    if (segment.expandable) {
      release_pages(id, segment);
      ++at;
    } else if (segment.blocks.size() == 1 && segment.blocks.begin()->second.free) {
      list({id, 0}, false);
      reserve(-segment.blocks.begin()->second.size);
      at = segments_.erase(at);
    } else {
      ++at;
    }
  }
}

// Returns wholly free large segments that have been free for longer than the mean, until the new
// segment fits under the threshold.
void CachingAllocator::collect(std::int64_t wanted) {
  const double most = rules_.collect_above * static_cast<double>(rules_.capacity.value);
  const auto over = [&] {
    return static_cast<double>(reserved_.value + wanted) > most && rules_.capacity.value > 0;
  };
  if (!over()) return;
  const auto idle = [&](const Segment& s) {
    return !s.small && s.blocks.size() == 1 && s.blocks.begin()->second.free;
  };
  const auto age = [&](const Segment& s) { return clock_ - s.blocks.begin()->second.freed_at; };
  for (bool freed = true; freed && over();) {
    freed = false;
    std::uint64_t sum = 0, count = 0;
    for (const auto& [id, segment] : segments_)
      if (idle(segment)) sum += age(segment), ++count;
    for (auto at = segments_.begin(); at != segments_.end() && count > 0 && over();) {
      if (!idle(at->second) || age(at->second) * count < sum) {
        ++at;
        continue;
      }
      list({at->first, 0}, false);
      reserve(-at->second.blocks.begin()->second.size);
      at = segments_.erase(at);
      freed = true;
    }
  }
}

CachingAllocator::Unused CachingAllocator::unused() const {
  Unused sum;
  for (const std::set<Free>& list : free_)
    for (const auto& [size, id, offset] : list) {
      const Segment& segment = segments_.at(id);
      std::int64_t whole = 0;
      if (!segment.small && !segment.expandable)
        whole = segment.blocks.rbegin()->first + segment.blocks.rbegin()->second.size;
      (segment.small ? sum.small : whole == kLargeSegment ? sum.shared : sum.own) += Bytes{size};
      sum.largest = std::max(sum.largest, Bytes{size});
    }
  return sum;
}

CachingAllocator::Place CachingAllocator::place(Handle handle) const {
  assert(handle < handles_.size() && handles_[handle]);
  const Address at = *handles_[handle];
  return {at.first, Bytes{at.second}, Bytes{segments_.at(at.first).blocks.at(at.second).size}};
}

}  // namespace trainyard
