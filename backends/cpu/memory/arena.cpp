#include "backends/cpu/memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "backends/cpu/memory/free_ranges.h"
#include "backends/cpu/memory/held_text.h"
#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kStep = std::int64_t{2} << 20;  // a large page

std::int64_t rounded(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

// Addresses are reserved generously, since only touched ones cost memory: holes between places may
// take as much again as the limit, or as the machine has.
std::int64_t addresses_for(Bytes limit) {
  const std::int64_t machine =
      std::int64_t{sysconf(_SC_PHYS_PAGES)} * std::int64_t{sysconf(_SC_PAGE_SIZE)};
  const std::int64_t most = limit.value > 0 ? std::min(limit.value, machine) : machine;
  return rounded(2 * most, kStep) + 32 * kStep;
}

}  // namespace

// Ranges of addresses of one size, which turn into memory from their beginnings on, as they are
// used.
class Reservation {
 public:
  Reservation(const std::string& name, std::int64_t size, int copies)
      : size_(size), copies_(copies), stride_(copies > 1 ? size + kApart : size) {
    void* at =
        mmap(nullptr, whole(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      throw Error(Error::Kind::OutOfMemory,
                  name + " found no range of " + readable(Bytes{stride_ * copies_}) + " addresses");
    first_ = static_cast<std::byte*>(at);
  }
  ~Reservation() { munmap(first_, whole()); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  std::byte* first() const { return first_; }
  bool open(std::int64_t reach) {
    if (reach <= open_) return true;
    const std::int64_t to = std::min(rounded(reach, kStep), size_);
    for (int copy = 0; copy < copies_; ++copy)
      if (mprotect(first_ + copy * stride_ + open_, static_cast<std::size_t>(to - open_),
                   PROT_READ | PROT_WRITE) != 0)
        return false;
    open_ = to;
    return true;
  }
  std::int64_t stride() const { return stride_; }
  int copies() const { return copies_; }

 private:
  // Equal places of neighbouring copies are in different sets of the caches.
  static constexpr std::int64_t kApart = std::int64_t{17} * 4096;

  std::size_t whole() const { return static_cast<std::size_t>(stride_ * copies_); }

  std::byte* first_ = nullptr;
  std::int64_t size_;
  int copies_;
  std::int64_t stride_, open_ = 0;
};

struct Arena::Impl {
  Impl(const Program& p, std::string its_name, Bytes its_limit, int copies)
      : program(p),
        name(std::move(its_name)),
        limit(its_limit),
        memory(name, addresses_for(its_limit), copies),
        free(addresses_for(its_limit)) {
    wave.samples.push_back({});
  }

  const Buffer& buffer(BufferId id) const { return program.buffers[id.value]; }
  std::int64_t offset_of(const Allocation& a) const { return a.data - memory.first(); }
  std::optional<std::int64_t> place(BufferId, std::int32_t microbatch, std::int64_t size);
  [[noreturn]] void out_of_memory(const Held&) const;
  Held& held(const Allocation&);
  void log(const CategoryBytes&);
  // All ones is NaN in every floating-point format and no valid index.
  void poison(const Allocation& a) const {
    for (int copy = 0; copy < memory.copies(); ++copy)
      std::memset(a.data + copy * memory.stride(), 0xFF, static_cast<std::size_t>(a.bytes.value));
  }

  const Program& program;
  const std::string name;
  const Bytes limit;
  Reservation memory;
  FreeRanges free;
  BufferPlaces places;
  std::unordered_map<std::int64_t, Held> live;  // by offset
  Bytes sum{};                                  // the total of `live`
  CategoryBytes most_by_category{};
  MemoryWave wave;
  Instant now{};
};

std::optional<std::int64_t> Arena::Impl::place(BufferId id, std::int32_t microbatch,
                                               std::int64_t size) {
  const auto planned = places.offset.find({id.value, microbatch});
  if (planned != places.offset.end() && free.take_at(planned->second.value, size))
    return planned->second.value;
  return free.take(size);
}

void Arena::Impl::out_of_memory(const Held& wanted) const {
  const Buffer& asks = buffer(wanted.buffer);
  const Bytes whole = sum + wanted.bytes;
  std::string text = name;
  if (limit.value > 0) text += " has a limit of " + readable(limit) + ":";
  text += " '" + std::string(program.name(asks.name)) + "'";
  if (asks.layer >= 0) text += " of layer " + std::to_string(asks.layer);
  if (wanted.microbatch >= 0) text += ", microbatch " + std::to_string(wanted.microbatch) + ",";
  std::vector<Held> all;
  all.reserve(live.size());
  for (const auto& [offset, one] : live) all.push_back(one);
  text += " needs " + readable(wanted.bytes) + " and " + held_text(program, all) +
          "; it would take " + readable(whole);
  if (limit.value > 0 && whole > limit)
    text += ", " + readable(whole - limit) + " too much";
  else
    text += ", and the machine has no free range of that size";
  throw Error(Error::Kind::OutOfMemory, text);
}

Held& Arena::Impl::held(const Allocation& a) {
  const auto found = live.find(offset_of(a));
  if (found == live.end())
    throw Error(Error::Kind::Internal,
                name + " does not hold '" + std::string(program.name(buffer(a.buffer).name)) + "'");
  return found->second;
}

void Arena::Impl::log(const CategoryBytes& bytes) {
  if (wave.samples.back().at == now)
    wave.samples.back().bytes = bytes;
  else
    wave.samples.push_back({now, bytes});
}

Arena::Arena(const Program& program, DeviceId, std::string name, Bytes limit, int copies)
    : impl_(std::make_unique<Impl>(program, std::move(name), limit, copies)) {}
Arena::~Arena() = default;

std::ptrdiff_t Arena::stride() const { return impl_->memory.stride(); }
int Arena::copies() const { return impl_->memory.copies(); }
bool Arena::contains(const void* address) const {
  const std::byte* const at = static_cast<const std::byte*>(address);
  return at >= impl_->memory.first() && at < impl_->memory.first() + impl_->memory.stride();
}

void Arena::plan(const BufferPlaces& places) { impl_->places = places; }

Allocation Arena::allocate(BufferId id, std::int32_t microbatch) {
  return allocate(id, microbatch, impl_->buffer(id).bytes);
}

Allocation Arena::allocate(BufferId id, std::int32_t microbatch, Bytes bytes) {
  Impl& a = *impl_;
  Allocation made{nullptr, bytes, id, microbatch};
  if (bytes.value <= 0) return made;
  const Held wanted{id, microbatch, bytes};
  if (a.limit.value > 0 && bytes > a.limit - a.sum) a.out_of_memory(wanted);
  const std::int64_t size = rounded(bytes.value, kAlignment);
  const std::optional<std::int64_t> offset = a.place(id, microbatch, size);
  if (!offset) a.out_of_memory(wanted);
  if (!a.memory.open(*offset + size)) {
    a.free.give_back(*offset, size);
    a.out_of_memory(wanted);
  }
  a.live.emplace(*offset, wanted);
  const auto category = static_cast<std::size_t>(a.buffer(id).category);
  a.sum += bytes;
  held_[category] += bytes;
  a.most_by_category[category] = std::max(a.most_by_category[category], held_[category]);
  most_ = std::max(most_, a.sum);
  reach_ = std::max(reach_, Bytes{*offset + size});
  a.log(held_);
  made.data = a.memory.first() + *offset;
  if (poison_) a.poison(made);
  return made;
}

void Arena::release(Allocation& allocation) {
  Impl& a = *impl_;
  if (allocation) {
    const Held& held = a.held(allocation);
    const auto category = static_cast<std::size_t>(a.buffer(held.buffer).category);
    const Bytes bytes = held.bytes;
    const std::int64_t offset = a.offset_of(allocation);
    if (poison_) a.poison(allocation);
    a.live.erase(offset);
    a.free.give_back(offset, rounded(bytes.value, kAlignment));
    a.sum -= bytes;
    held_[category] -= bytes;
    a.log(held_);
  }
  allocation = {};
}

void Arena::rename(Allocation& allocation, BufferId id, std::int32_t microbatch) {
  Impl& a = *impl_;
  const Buffer& to = a.buffer(id);
  if (to.bytes != allocation.bytes)
    throw Error(Error::Kind::Internal, "'" + std::string(a.program.name(to.name)) + "' takes " +
                                           to_text(to.bytes) + " and cannot become a place of " +
                                           to_text(allocation.bytes));
  if (allocation) {
    Held& held = a.held(allocation);
    held_[static_cast<std::size_t>(a.buffer(held.buffer).category)] -= to.bytes;
    const auto category = static_cast<std::size_t>(to.category);
    held_[category] += to.bytes;
    a.most_by_category[category] = std::max(a.most_by_category[category], held_[category]);
    held = {id, microbatch, to.bytes};
    a.log(held_);
  }
  allocation.buffer = id;
  allocation.microbatch = microbatch;
}

void Arena::set_time(Instant now) {
  if (now < impl_->now) {
    impl_->wave = {};
    impl_->wave.samples.push_back({Instant{}, held_});
  }
  impl_->now = now;
}

CategoryBytes Arena::most_by_category() const { return impl_->most_by_category; }

MemoryWave Arena::take_wave() {
  MemoryWave wave = std::exchange(impl_->wave, {});
  impl_->wave.samples.push_back({Instant{}, held_});
  impl_->now = {};
  Bytes most{};
  for (std::size_t i = 0; i < wave.samples.size(); ++i)
    if (const Bytes sum = total(wave.samples[i].bytes); sum > most) most = sum, wave.peak = i;
  return wave;
}

}  // namespace trainyard
