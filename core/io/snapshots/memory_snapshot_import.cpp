#include "core/io/snapshots/memory_snapshot_import.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/large_pages.h"
#include "core/io/bytes/byte_source.h"
#include "core/io/snapshots/pickle_reader.h"

namespace trainyard {
namespace {

using Kind = PickleValue::Kind;

// The highest byte of a folded value says what it stands for.
enum Folded : std::uint64_t { FrameTag = 1, StackTag, EventTag, BlockTag };
constexpr int kTagShift = 56;
constexpr std::uint64_t kNumber = (std::uint64_t{1} << kTagShift) - 1;

std::uint64_t tagged(Folded tag, std::uint64_t number) { return tag << kTagShift | number; }
bool is(const PickleValue& value, Folded tag) {
  return value.kind == Kind::Folded && value.number >> kTagShift == tag;
}

// These are the keys of dictionaries that are used.
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

// Values holds the values of a dictionary by key; null where it has none.
class Values {
 public:
  const PickleValue*& operator[](Key key) { return of_[static_cast<std::size_t>(key)]; }
  const PickleValue* operator[](Key key) const { return of_[static_cast<std::size_t>(key)]; }
  bool has(Key key) const { return (*this)[key] != nullptr; }
  /// Returns zero where there is no integer.
  std::int64_t integer(Key key) const { return is_integer(key) ? (*this)[key]->integer : 0; }
  bool is_integer(Key key) const { return has(key) && (*this)[key]->kind == Kind::Integer; }

 private:
  std::array<const PickleValue*, static_cast<std::size_t>(Key::TimeUs) + 1> of_{};
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
    Values values;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      values[word_of(pickle, items[i]).key] = &items[i + 1];
    if (values.has(Key::FileName) && values.has(Key::FunctionName)) {
      folded = fold_frame(pickle, values);
      return true;
    }
    if (values.has(Key::Action)) {
      folded = fold_event(pickle, values);
      return true;
    }
    if (!values.has(Key::State) || !values.has(Key::Size) || values.has(Key::Blocks)) return false;
    folded = fold_block(pickle, values);
    return true;
  }

  double share = 0;  // share of the file that is read

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

  // A Word is the meaning of a text as a key and as an action.
  struct Word {
    Key key = Key::Unread;
    std::optional<SnapshotAction> action;
  };
  // Writers store a key's text once and refer to it afterwards, so each text is compared only once.
  const Word& word_of(const Pickle& pickle, const PickleValue& text) {
    static const Word other{Key::Other, {}};
    if (text.kind != Kind::Text) return other;
    if (text.number >= words_.size()) words_.resize(text.number + 1);
    Word& word = words_[text.number];
    if (word.key == Key::Unread)
      word = {key_named(pickle.text(text)), action_of(pickle.text(text))};
    return word;
  }

  // Some writers repeat a frame at every event; it is stored once.
  std::uint64_t fold_frame(const Pickle& pickle, const Values& values) {
    const auto text = [&](Key key) {
      return values[key]->kind == Kind::Text ? values[key]->number + 1 : 0;
    };
    // These are the texts of file and function, and the line.
    const FrameParts parts = {text(Key::FileName), text(Key::FunctionName),
                              static_cast<std::uint64_t>(values.integer(Key::Line))};
    LastFrame& last = last_frames_[(parts[0] ^ parts[1] << 2 ^ parts[2]) % last_frames_.size()];
    if (last.parts == parts) return tagged(FrameTag, last.number);
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
    last = {parts, found->second};
    return tagged(FrameTag, found->second);
  }

  bool fold_stack(std::span<const PickleValue> items, std::uint64_t& folded) {
    // A longer list arrives in parts, so it is not folded.
    if (items.size() >= 1000) return false;
    for (const PickleValue& item : items)
      if (!is(item, FrameTag)) return false;
    const std::uint64_t first = items.empty() ? 0 : items[0].number & kNumber;
    std::uint32_t& last = last_stacks_[first % last_stacks_.size()];
    if (!is_stack(items, last)) last = stack_of(items);
    folded = tagged(StackTag, last);
    return true;
  }
  bool is_stack(std::span<const PickleValue> items, std::uint32_t stack) const {
    const std::vector<std::uint32_t>& frames = snapshot_.stacks[stack];
    return std::equal(items.begin(), items.end(), frames.begin(), frames.end(),
                      [](const PickleValue& item, std::uint32_t frame) {
                        return (item.number & kNumber) == frame;
                      });
  }
  std::uint32_t stack_of(std::span<const PickleValue> items) {
    std::vector<std::uint32_t> frames;
    for (const PickleValue& item : items)
      frames.push_back(static_cast<std::uint32_t>(item.number & kNumber));
    key_.assign(reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof frames[0]);
    const auto [found, fresh] =
        stacks_.emplace(key_, static_cast<std::uint32_t>(snapshot_.stacks.size()));
    if (fresh) snapshot_.stacks.push_back(std::move(frames));
    return found->second;
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

  std::uint64_t fold_event(const Pickle& pickle, const Values& values) {
    SnapshotEvent event;
    const std::optional<SnapshotAction> action = word_of(pickle, *values[Key::Action]).action;
    const bool sized = values.is_integer(Key::Size) && plain_size(values.integer(Key::Size));
    if (!action || !sized) {
      ++(action ? without_size_ : unknown_actions_);
      return tagged(EventTag, kNumber);
    }
    event.action = *action;
    event.bytes = {values.integer(Key::Size)};
    event.address = static_cast<std::uint64_t>(values.integer(Key::Address));
    event.time_us = std::clamp<std::int64_t>(values.integer(Key::TimeUs), 0, kLatest);
    if (const PickleValue* stack = values[Key::Frames]; stack != nullptr && is(*stack, StackTag))
      event.stack = static_cast<std::uint32_t>(stack->number & kNumber);
    count(event.bytes);
    in_turn_ = in_turn_ && event.time_us > 0 &&
               (events_.empty() || event.time_us >= events_.back().time_us);
    if (events_.size() == events_.capacity()) make_room();
    events_.push_back(event);
    if (events_.size() == options_.first_events && options_.first_look && in_turn_) show_first();
    return tagged(EventTag, events_.size() - 1);
  }

  // With millions of events, reserves room for the number that the share of the file read so far
  // suggests.
  void make_room() {
    constexpr std::size_t kMany = 1 << 20;
    if (events_.size() < kMany || share <= 0) return;
    const double more = std::clamp(1.02 / share, 1.05, 64.0);
    std::vector<SnapshotEvent> larger;
    larger.reserve(static_cast<std::size_t>(static_cast<double>(events_.size()) * more));
    ask_for_large_pages(larger.data(), larger.capacity() * sizeof(SnapshotEvent));
    larger.assign(events_.begin(), events_.end());
    events_ = std::move(larger);
  }

  // Shows what is read so far to the caller.
  void show_first() {
    snapshot_.devices.push_back(std::move(events_));
    options_.first_look(snapshot_);
    events_ = std::move(snapshot_.devices.back());
    snapshot_.devices.pop_back();
  }

  std::uint64_t fold_block(const Pickle& pickle, const Values& values) {
    FreeBlock block;
    if (plain_size(values.integer(Key::Size))) block.bytes = {values.integer(Key::Size)};
    block.free = pickle.text(*values[Key::State]) == "inactive";
    blocks_.push_back(block);
    return tagged(BlockTag, blocks_.size() - 1);
  }

  // This keeps sums of what is read well within 64 bits.
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
                       return is(item, EventTag) && (item.number & kNumber) == next++;
                     });
    if (all) {  // avoids a copy of gigabytes
      events = std::move(events_);
      events_.clear();
      return;
    }
    for (const PickleValue& item : items)
      if (is(item, EventTag) && (item.number & kNumber) < events_.size())
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
        if (is(item, BlockTag) && blocks_[item.number & kNumber].free)
          segment.largest_free =
              std::max(segment.largest_free, blocks_[item.number & kNumber].bytes);
    snapshot_.segments.push_back(segment);
  }

  static constexpr std::int64_t kLatest = std::int64_t{1} << 52;  // microseconds since 1970

  const std::string& source_;
  const SnapshotImportOptions& options_;
  bool in_turn_ = true;  // no event so far is earlier than the one before
  MemorySnapshot snapshot_;
  std::vector<SnapshotEvent> events_;
  std::vector<FreeBlock> blocks_;
  std::unordered_map<std::string, std::uint64_t> frames_;
  std::unordered_map<std::string, std::uint32_t> stacks_;
  std::string key_;
  std::vector<Word> words_;  // by number of the text
  using FrameParts = std::array<std::uint64_t, 3>;
  struct LastFrame {
    FrameParts parts{~std::uint64_t{0}};  // no real frame has this value
    std::uint64_t number = 0;
  };
  // These cache the last frame and stack for each hash.
  std::array<LastFrame, 256> last_frames_{};
  std::array<std::uint32_t, 256> last_stacks_{};
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
