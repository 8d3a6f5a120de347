#include "core/io/memory_snapshot_import.h"

#include <algorithm>
#include <array>
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

// Keys of dictionaries that say something here.
enum class Key : std::uint8_t {
  Unread,  // not looked at yet
  Other,
  Action,
  Address,
  Blocks,
  FileName,
  Frames,
  FunctionName,
  Line,
  Size,
  State,
  TimeUs,
};

Key key_named(std::string_view name) {
  constexpr std::pair<std::string_view, Key> kKeys[] = {
      {"action", Key::Action},     {"addr", Key::Address},  {"blocks", Key::Blocks},
      {"filename", Key::FileName}, {"frames", Key::Frames}, {"line", Key::Line},
      {"name", Key::FunctionName}, {"size", Key::Size},     {"state", Key::State},
      {"time_us", Key::TimeUs}};
  const auto* const found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                         [&](const auto& each) { return each.first == name; });
  return found == std::end(kKeys) ? Key::Other : found->second;
}

// A set of keys.
class Keys {
 public:
  void add(Key key) { bits_ |= bit(key); }
  bool has(Key key) const { return (bits_ & bit(key)) != 0; }

 private:
  static std::uint32_t bit(Key key) { return std::uint32_t{1} << static_cast<int>(key); }
  std::uint32_t bits_ = 0;
};

struct FreeBlock {
  Bytes bytes{};
  bool free = false;
};

class SnapshotReader {
 public:
  SnapshotReader(const std::string& source, const SnapshotImportOptions& options)
      : source_(source), options_(options) {
    snapshot_.source = source;
    snapshot_.stacks.emplace_back();
  }

  bool fold(Pickle& pickle, Kind kind, std::span<const PickleValue> items, std::uint64_t& folded) {
    if (kind == Kind::List) return fold_stack(items, folded);
    Keys keys;
    each(pickle, items, [&](Key key, const PickleValue&) { keys.add(key); });
    if (keys.has(Key::FileName) && keys.has(Key::FunctionName)) {
      folded = fold_frame(pickle, items);
      return true;
    }
    if (keys.has(Key::Action)) {
      folded = fold_event(pickle, items);
      return true;
    }
    if (!keys.has(Key::State) || !keys.has(Key::Size) || keys.has(Key::Blocks)) return false;
    folded = fold_block(pickle, items);
    return true;
  }

  double share = 0;  // of the file that is read

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

  // Writers name a key once and refer to it from then on: each text is compared once.
  Key key_of(const Pickle& pickle, const PickleValue& name) {
    if (name.kind != Kind::Text) return Key::Other;
    if (name.number >= keys_.size()) keys_.resize(name.number + 1, Key::Unread);
    Key& key = keys_[name.number];
    if (key == Key::Unread) key = key_named(pickle.text(name));
    return key;
  }

  // Calls with(key, value) for each item of a dictionary.
  template <class With>
  void each(const Pickle& pickle, std::span<const PickleValue> items, const With& with) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      with(key_of(pickle, items[i]), items[i + 1]);
  }

  // Some writers repeat a frame at every event: it is kept once.
  std::uint64_t fold_frame(const Pickle& pickle, std::span<const PickleValue> items) {
    std::array<std::uint64_t, 3> parts{};  // texts of the file and of the function, line
    each(pickle, items, [&](Key key, const PickleValue& value) {
      if (key == Key::FileName && value.kind == Kind::Text) parts[0] = value.number + 1;
      if (key == Key::FunctionName && value.kind == Kind::Text) parts[1] = value.number + 1;
      if (key == Key::Line && value.kind == Kind::Integer)
        parts[2] = static_cast<std::uint64_t>(value.integer);
    });
    key_.assign(reinterpret_cast<const char*>(parts.data()), sizeof parts);
    auto found = frames_.find(key_);
    if (found == frames_.end()) {
      found = frames_.emplace(key_, snapshot_.frames.size()).first;
      SnapshotFrame frame;
      if (parts[0] > 0) frame.file = pickle.texts[parts[0] - 1];
      if (parts[1] > 0) frame.function = pickle.texts[parts[1] - 1];
      frame.line = static_cast<std::int64_t>(parts[2]);
      snapshot_.frames.push_back(std::move(frame));
    }
    return tagged(Frame, found->second);
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
    auto found = stacks_.find(key_);
    if (found == stacks_.end()) {
      found = stacks_.emplace(key_, static_cast<std::uint32_t>(snapshot_.stacks.size())).first;
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

  std::uint64_t fold_event(const Pickle& pickle, std::span<const PickleValue> items) {
    SnapshotEvent event;
    std::optional<SnapshotAction> action;
    bool sized = false;
    each(pickle, items, [&](Key key, const PickleValue& value) {
      if (key == Key::Action) action = action_of(pickle.text(value));
      if (key == Key::Frames && is(value, Stack))
        event.stack = static_cast<std::uint32_t>(value.number & kNumber);
      if (value.kind != Kind::Integer) return;
      if (key == Key::Address) event.address = static_cast<std::uint64_t>(value.integer);
      if (key == Key::Size && plain_size(value.integer))
        event.bytes = {value.integer}, sized = true;
      if (key == Key::TimeUs) event.time_us = std::clamp<std::int64_t>(value.integer, 0, kLatest);
    });
    if (!action || !sized) {
      ++(action ? without_size_ : unknown_actions_);
      return tagged(Event, kNumber);
    }
    event.action = *action;
    count(event.bytes);
    in_turn_ = in_turn_ && event.time_us > 0 &&
               (events_.empty() || event.time_us >= events_.back().time_us);
    if (events_.size() == events_.capacity()) make_room();
    events_.push_back(event);
    if (events_.size() == options_.first_events && options_.first_look && in_turn_) show_first();
    return tagged(Event, events_.size() - 1);
  }

  // Of millions of events the file tells how many more there will be, about.
  void make_room() {
    constexpr std::size_t kMany = 1 << 20;
    if (events_.size() < kMany || share <= 0) return;
    const double more = std::clamp(1.02 / share, 1.05, 64.0);
    events_.reserve(static_cast<std::size_t>(static_cast<double>(events_.size()) * more));
  }

  // Lends what is read so far.
  void show_first() {
    snapshot_.devices.push_back(std::move(events_));
    options_.first_look(snapshot_);
    events_ = std::move(snapshot_.devices.back());
    snapshot_.devices.pop_back();
  }

  std::uint64_t fold_block(const Pickle& pickle, std::span<const PickleValue> items) {
    FreeBlock block;
    each(pickle, items, [&](Key key, const PickleValue& value) {
      if (key == Key::Size && value.kind == Kind::Integer && plain_size(value.integer))
        block.bytes = {value.integer};
      if (key == Key::State) block.free = pickle.text(value) == "inactive";
    });
    blocks_.push_back(block);
    return tagged(Block, blocks_.size() - 1);
  }

  // Sums of what is read stay far within 64 bits.
  void count(Bytes bytes) {
    bytes_ += bytes;
    if (bytes_.value > std::int64_t{1} << 61)
      refuse("expected at most 2 EiB allocated over all events, found more");
  }

  void take_device(const Pickle& pickle, const PickleValue& list) {
    std::vector<SnapshotEvent>& events = snapshot_.devices.emplace_back();
    const std::span<const PickleValue> items = pickle.items(list);
    std::uint64_t next = 0;
    const bool all = items.size() == events_.size() &&
                     std::all_of(items.begin(), items.end(), [&](const PickleValue& item) {
                       return is(item, Event) && (item.number & kNumber) == next++;
                     });
    if (all) {  // of gigabytes there is no copy
      events = std::move(events_);
      events_.clear();
      return;
    }
    for (const PickleValue& item : items)
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
  const SnapshotImportOptions& options_;
  bool in_turn_ = true;  // each event is no earlier than the one before
  MemorySnapshot snapshot_;
  std::vector<SnapshotEvent> events_;
  std::vector<FreeBlock> blocks_;
  std::unordered_map<std::string, std::uint64_t> frames_;
  std::unordered_map<std::string, std::uint32_t> stacks_;
  std::string key_;
  std::vector<Key> keys_;  // of texts, by number
  Bytes bytes_{};
  std::uint64_t unknown_actions_ = 0, without_size_ = 0;
};

MemorySnapshot read_snapshot(ByteSource& bytes, const std::string& source,
                             const SnapshotImportOptions& options) {
  SnapshotReader reader(source, options);
  const Pickle pickle =
      read_pickle(bytes, source,
                  {options.stop,
                   [&](double share) {
                     reader.share = share;
                     if (options.progress) options.progress(share);
                   },
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
