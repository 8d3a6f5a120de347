#include "core/io/memory_snapshot_import.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/io/byte_source.h"
#include "core/io/pickle_reader.h"

namespace trainyard {
namespace {

using Kind = PickleValue::Kind;

// What a folded value stands for is in its highest byte.
enum Folded : std::uint64_t { Frame = 1, Stack, Event, Block };
constexpr int kTagShift = 56;
constexpr std::uint64_t kNumber = (std::uint64_t{1} << kTagShift) - 1;

std::uint64_t tagged(Folded tag, std::uint64_t number) { return tag << kTagShift | number; }
bool is(const PickleValue& value, Folded tag) {
  return value.kind == Kind::Folded && value.number >> kTagShift == tag;
}

struct FreeBlock {
  Bytes bytes{};
  bool free = false;
};

class SnapshotReader {
 public:
  explicit SnapshotReader(const std::string& source) : source_(source) {
    snapshot_.source = source;
    snapshot_.stacks.emplace_back();
  }

  bool fold(Pickle& pickle, Kind kind, std::span<const PickleValue> items, std::uint64_t& folded) {
    if (kind == Kind::List) return fold_stack(items, folded);
    return fold_frame(pickle, items, folded) || fold_event(pickle, items, folded) ||
           fold_block(pickle, items, folded);
  }

  MemorySnapshot finish(const Pickle& pickle) {
    const PickleValue* segments = pickle.find(pickle.root, "segments");
    const PickleValue* traces = pickle.find(pickle.root, "device_traces");
    if (segments == nullptr && traces == nullptr)
      refuse(
          "expected a memory snapshot, a dictionary with segments and device_traces; found "
          "another pickle");
    if (traces != nullptr)
      for (const PickleValue& device : pickle.items(*traces)) take_device(pickle, device);
    if (segments != nullptr)
      for (const PickleValue& segment : pickle.items(*segments)) take_segment(pickle, segment);
    if (unknown_actions_ > 0)
      snapshot_.defects.push_back(std::to_string(unknown_actions_) +
                                  " events of kinds that say nothing of memory were left out");
    if (without_size_ > 0)
      snapshot_.defects.push_back(std::to_string(without_size_) +
                                  " events without a size or an address were left out");
    return std::move(snapshot_);
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const {
    throw Error(Error::Kind::InvalidInput, sentence, {source_});
  }

  // Calls with(key, value) for each item of a dictionary with keys of text.
  template <class With>
  static void each(const Pickle& pickle, std::span<const PickleValue> items, const With& with) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i].kind == Kind::Text) with(pickle.text(items[i]), items[i + 1]);
  }
  static bool has(const Pickle& pickle, std::span<const PickleValue> items, std::string_view key) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i].kind == Kind::Text && pickle.text(items[i]) == key) return true;
    return false;
  }

  bool fold_frame(const Pickle& pickle, std::span<const PickleValue> items, std::uint64_t& folded) {
    if (!has(pickle, items, "filename") || !has(pickle, items, "name")) return false;
    SnapshotFrame frame;
    each(pickle, items, [&](std::string_view key, const PickleValue& value) {
      if (key == "filename") frame.file = pickle.text(value);
      if (key == "name") frame.function = pickle.text(value);
      if (key == "line" && value.kind == Kind::Integer) frame.line = value.integer;
    });
    folded = tagged(Frame, snapshot_.frames.size());
    snapshot_.frames.push_back(std::move(frame));
    return true;
  }

  bool fold_stack(std::span<const PickleValue> items, std::uint64_t& folded) {
    // A longer list comes in parts.
    if (items.size() >= 1000) return false;
    for (const PickleValue& item : items)
      if (!is(item, Frame)) return false;
    key_.clear();
    for (const PickleValue& item : items) {
      const auto frame = static_cast<std::uint32_t>(item.number & kNumber);
      key_.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    }
    const auto [found, fresh] =
        stacks_.emplace(key_, static_cast<std::uint32_t>(snapshot_.stacks.size()));
    if (fresh) {
      std::vector<std::uint32_t> frames;
      for (const PickleValue& item : items)
        frames.push_back(static_cast<std::uint32_t>(item.number & kNumber));
      snapshot_.stacks.push_back(std::move(frames));
    }
    folded = tagged(Stack, found->second);
    return true;
  }

  static std::optional<SnapshotAction> action_of(std::string_view word) {
    if (word == "alloc") return SnapshotAction::Allocate;
    if (word == "free_completed") return SnapshotAction::Free;
    if (word == "free_requested" || word == "free") return SnapshotAction::FreeRequested;
    if (word == "segment_alloc" || word == "segment_map") return SnapshotAction::SegmentAllocate;
    if (word == "segment_free" || word == "segment_unmap") return SnapshotAction::SegmentFree;
    if (word == "oom") return SnapshotAction::OutOfMemory;
    return {};
  }

  static bool plain_size(std::int64_t bytes) {
    return bytes >= 0 && bytes <= std::int64_t{1} << 50;
  }

  bool fold_event(const Pickle& pickle, std::span<const PickleValue> items, std::uint64_t& folded) {
    if (!has(pickle, items, "action")) return false;
    SnapshotEvent event;
    std::optional<SnapshotAction> action;
    bool sized = false;
    each(pickle, items, [&](std::string_view key, const PickleValue& value) {
      if (key == "action") action = action_of(pickle.text(value));
      if (key == "frames" && is(value, Stack))
        event.stack = static_cast<std::uint32_t>(value.number & kNumber);
      if (value.kind != Kind::Integer) return;
      if (key == "addr") event.address = static_cast<std::uint64_t>(value.integer);
      if (key == "size" && plain_size(value.integer)) event.bytes = {value.integer}, sized = true;
      if (key == "time_us") event.time_us = std::clamp<std::int64_t>(value.integer, 0, kLatest);
    });
    folded = tagged(Event, kNumber);
    if (!action) return ++unknown_actions_, true;
    if (!sized) return ++without_size_, true;
    event.action = *action;
    count(event.bytes);
    folded = tagged(Event, events_.size());
    events_.push_back(event);
    return true;
  }

  bool fold_block(const Pickle& pickle, std::span<const PickleValue> items, std::uint64_t& folded) {
    if (!has(pickle, items, "state") || !has(pickle, items, "size") || has(pickle, items, "blocks"))
      return false;
    FreeBlock block;
    each(pickle, items, [&](std::string_view key, const PickleValue& value) {
      if (key == "size" && value.kind == Kind::Integer && plain_size(value.integer))
        block.bytes = {value.integer};
      if (key == "state") block.free = pickle.text(value) == "inactive";
    });
    folded = tagged(Block, blocks_.size());
    blocks_.push_back(block);
    return true;
  }

  // Sums of what is read stay far within 64 bits.
  void count(Bytes bytes) {
    bytes_ += bytes;
    if (bytes_.value > std::int64_t{1} << 61)
      refuse("expected at most 2 EiB allocated over all events, found more");
  }

  void take_device(const Pickle& pickle, const PickleValue& list) {
    std::vector<SnapshotEvent>& events = snapshot_.devices.emplace_back();
    for (const PickleValue& item : pickle.items(list))
      if (is(item, Event) && (item.number & kNumber) < events_.size())
        events.push_back(events_[item.number & kNumber]);
  }

  void take_segment(const Pickle& pickle, const PickleValue& value) {
    const auto number = [&](std::string_view key) -> std::int64_t {
      const PickleValue* found = pickle.find(value, key);
      return found != nullptr && found->kind == Kind::Integer && plain_size(found->integer)
                 ? found->integer
                 : 0;
    };
    SnapshotSegment segment;
    segment.device = static_cast<int>(std::min<std::int64_t>(number("device"), 1 << 20));
    segment.reserved = {number("total_size")};
    segment.allocated = {number("allocated_size")};
    count(segment.reserved);
    count(segment.allocated);
    if (const PickleValue* blocks = pickle.find(value, "blocks"))
      for (const PickleValue& item : pickle.items(*blocks))
        if (is(item, Block) && blocks_[item.number & kNumber].free)
          segment.largest_free =
              std::max(segment.largest_free, blocks_[item.number & kNumber].bytes);
    snapshot_.segments.push_back(segment);
  }

  static constexpr std::int64_t kLatest = std::int64_t{1} << 52;  // microseconds since 1970

  const std::string& source_;
  MemorySnapshot snapshot_;
  std::vector<SnapshotEvent> events_;
  std::vector<FreeBlock> blocks_;
  std::unordered_map<std::string, std::uint32_t> stacks_;
  std::string key_;
  Bytes bytes_{};
  std::uint64_t unknown_actions_ = 0, without_size_ = 0;
};

MemorySnapshot read_snapshot(ByteSource& bytes, const std::string& source,
                             const SnapshotImportOptions& options) {
  SnapshotReader reader(source);
  const Pickle pickle =
      read_pickle(bytes, source,
                  {options.stop, options.progress,
                   [&](Pickle& p, Kind kind, std::span<const PickleValue> items,
                       std::uint64_t& folded) { return reader.fold(p, kind, items, folded); }});
  return reader.finish(pickle);
}

}  // namespace

bool is_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

MemorySnapshot import_memory_snapshot(const std::string& path,
                                      const SnapshotImportOptions& options) {
  return read_snapshot(*file_bytes(path), path, options);
}

MemorySnapshot parse_memory_snapshot(std::string_view bytes, const std::string& source,
                                     const SnapshotImportOptions& options) {
  return read_snapshot(*text_bytes(bytes), source, options);
}

}  // namespace trainyard
