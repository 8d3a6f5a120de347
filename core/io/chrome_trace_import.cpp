#include "core/io/chrome_trace_import.h"

#include <fmt/format.h>

#ifdef __clang__
// The reader adds to the null pointer of its empty stack; its sizes are right all the same.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/io/byte_source.h"
#include "core/io/chrome_trace_scan.h"
#include "core/io/decimal_time.h"
#include "core/io/trace_builder.h"

namespace trainyard {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr int kDeepestJson = 200;
constexpr std::int64_t kMicrosecond = 1000;  // ns

// The bytes as RapidJSON asks for them; names are the library's.
// NOLINTBEGIN(readability-identifier-naming)
class JsonStream {
 public:
  using Ch = char;
  JsonStream(ByteSource& bytes, const TraceImportOptions& options)
      : bytes_(bytes), options_(options), block_(kBlock) {
    refill();
  }
  Ch Peek() const { return *at_; }
  Ch Take() {
    const Ch c = *at_;
    if (++at_ == end_) refill();
    return c;
  }
  std::size_t Tell() const { return before_ + static_cast<std::size_t>(at_ - block_.data()); }
  // Only readers that change the text in place write.
  void Put(Ch) {}
  void Flush() {}
  Ch* PutBegin() { return nullptr; }
  std::size_t PutEnd(Ch*) { return 0; }

  std::uint64_t line() const {
    const char* const first = block_.data();
    const char* const here = at_;
    return lines_ + static_cast<std::uint64_t>(std::count(first, here, '\n'));
  }
  bool ended() const { return ended_ && *at_ == '\0'; }

 private:
  void refill() {
    if (ended_) return stay_at_end();
    if (options_.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the import was cancelled");
    if (end_ != nullptr) {
      lines_ += static_cast<std::uint64_t>(std::count(block_.data(), end_, '\n'));
      before_ += static_cast<std::size_t>(end_ - block_.data());
    }
    const std::size_t got = bytes_.read(block_.data(), block_.size());
    at_ = block_.data();
    end_ = at_ + got;
    if (options_.progress) options_.progress(bytes_.share());
    if (got == 0) stay_at_end();
  }
  // A zero byte is what the library takes for the end.
  void stay_at_end() {
    ended_ = true;
    block_[0] = '\0';
    at_ = block_.data();
    end_ = at_ + 1;
  }

  ByteSource& bytes_;
  const TraceImportOptions& options_;
  std::vector<char> block_;
  char *at_ = nullptr, *end_ = nullptr;
  std::size_t before_ = 0;
  std::uint64_t lines_ = 1;
  bool ended_ = false;
};
// NOLINTEND(readability-identifier-naming)

std::optional<double> real_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<std::int64_t> whole_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

bool contains(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

// What an event's category and name say of it.
struct EventKind {
  RecordedKind kind = RecordedKind::Host;
  bool device = false, launches = false, annotations = false;
};

// Of Trainyard's own traces, by the letter of the phase.
RecordedKind kind_of_phase(std::string_view phase) {
  if (phase == "W") return RecordedKind::WeightGradient;
  if (phase == "U") return RecordedKind::Optimizer;
  return phase.starts_with("B") ? RecordedKind::Backward : RecordedKind::Forward;
}

EventKind kind_of(std::string_view category, std::string_view name, std::string_view phase) {
  if (category == "kernel") return {kind_of_kernel(name), true};
  if (category == "gpu_memcpy" || category == "gpu_memset") return {RecordedKind::Transfer, true};
  if (category == "gpu_user_annotation") return {RecordedKind::Host, true, false, true};
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "hip_runtime")
    return {RecordedKind::Host, false, true};
  if (category == "compute") return {kind_of_phase(phase), true};
  if (category == "collective" || category == "send" || category == "receive")
    return {RecordedKind::Communication, true};
  return {};
}

// Where in the document the parser is.
enum class Where : std::uint8_t {
  Top,          // before anything
  Document,     // in the outer object
  Events,       // in the list of events
  Event,        // in one of them
  Args,         // in its arguments
  Device,       // in the list of devices or in one of them
  Distributed,  // in what the trace says of its run
  Ignored,
};

enum class Field : std::uint8_t {
  None,
  Name,
  Phase,
  Category,
  Time,
  Duration,
  Process,
  Thread,
  Id
};

Field field_of(std::string_view key) {
  constexpr std::pair<std::string_view, Field> kFields[] = {
      {"name", Field::Name},  {"ph", Field::Phase},     {"cat", Field::Category},
      {"ts", Field::Time},    {"dur", Field::Duration}, {"pid", Field::Process},
      {"tid", Field::Thread}, {"id", Field::Id},        {"id2", Field::Id}};
  for (const auto& [name, field] : kFields)
    if (name == key) return field;
  return Field::None;
}

struct Event {
  std::string name, phase, category, time, duration, process, thread, id;
  std::string arg_name, arg_phase;  // of a name's or a step's arguments
  std::optional<std::int64_t> correlation, sort_index, device_id, device_type;
  std::optional<double> allocated, reserved;
  std::vector<std::pair<std::string, double>> numbers;  // of a counter
  void clear() {
    for (std::string* text : {&name, &phase, &category, &time, &duration, &process, &thread, &id,
                              &arg_name, &arg_phase})
      text->clear();
    correlation = sort_index = device_id = device_type = {};
    allocated = reserved = {};
    numbers.clear();
  }
};

class EventReader {
 public:
  EventReader(TraceBuilder& builder, const JsonStream& stream)
      : builder_(builder), stream_(stream) {}

  Event& event() { return event_; }
  std::uint64_t shown() const { return shown_; }

  void take() {
    ++builder_.events;
    const Event& e = event_;
    if (e.phase.size() != 1)
      return defect("a phase of one letter as ph", e.phase.empty() ? "none" : "another text");
    switch (e.phase[0]) {
      case 'M':
        return take_name();
      case 'X':
      case 'B':
      case 'E':
      case 'i':
      case 'I':
      case 'R':
        return take_span();
      case 'b':
      case 'e':
      case 'S':
      case 'F':
        return take_by_id();
      case 'C':
        return take_counter();
      case 's':
      case 't':
      case 'f':
      case 'n':
      case 'T':
      case 'p':
      case 'N':
      case 'O':
      case 'D':
      case 'P':
      case 'v':
      case 'V':
      case 'c':
      case 'a':
      case '(':
      case ')':
        return;
      default:
        return defect("a phase of the format", "\"" + e.phase + "\"");
    }
  }

 private:
  void defect(const std::string& expected, const std::string& found,
              const std::string& assumed = "the event is left out") {
    // Lines are counted for the first of its kind only: a broken trace has millions.
    if (builder_.repeats(expected, found)) return;
    builder_.defect({expected, found, stream_.line(), stream_.Tell(), 1, assumed});
  }

  std::optional<std::int64_t> time() {
    if (const auto at = nanoseconds_of(event_.time, kMicrosecond)) return at;
    defect("a time in microseconds as ts", event_.time.empty() ? "none" : "another text");
    return {};
  }

  void take_name() {
    const Event& e = event_;
    if (e.name == "process_name")
      builder_.name_process(builder_.process(e.process), e.arg_name);
    else if (e.name == "thread_name")
      builder_.name_thread(builder_.thread(e.process, e.thread), e.arg_name);
    else if (e.name == "process_sort_index" && e.sort_index)
      builder_.sort_process(builder_.process(e.process), *e.sort_index);
    else if (e.name == "thread_sort_index" && e.sort_index)
      builder_.sort_thread(builder_.thread(e.process, e.thread), *e.sort_index);
  }

  std::uint32_t thread_of(const EventKind& kind) {
    const std::uint32_t thread = builder_.thread(event_.process, event_.thread, kind.annotations);
    if (kind.device) builder_.on_device(thread);
    return thread;
  }

  void take_memory(std::int64_t at) {
    const Event& e = event_;
    const std::uint32_t process = builder_.process(e.process);
    const std::string where =
        e.device_type.value_or(1) == 0
            ? std::string("host memory ")
            : "device " + std::to_string(e.device_id.value_or(0)) + " memory ";
    if (e.allocated) builder_.count(process, where + "allocated", true, at, *e.allocated);
    if (e.reserved) builder_.count(process, where + "reserved", true, at, *e.reserved);
    ++shown_;
  }

  void take_span() {
    const Event& e = event_;
    const auto at = time();
    if (!at) return;
    const char phase = e.phase[0];
    if (phase == 'X') {
      const auto taken = nanoseconds_of(e.duration, kMicrosecond);
      if (!taken || *taken < 0)
        return defect("a duration from 0 on as dur", e.duration.empty() ? "none" : "another text");
      return add(*at, *at + *taken);
    }
    if (phase == 'B' || phase == 'E') return take_begin_or_end(*at, phase == 'B');
    if (e.allocated || e.reserved) return take_memory(*at);
    add(*at, *at);
  }

  TraceSpan span_of(std::int64_t from, std::int64_t to, const EventKind& kind) {
    TraceSpan span{from, to, builder_.name(event_.name), kNoCorrelation, kind.kind, false};
    if (event_.correlation && *event_.correlation > 0 &&
        *event_.correlation < std::int64_t{kNoCorrelation}) {
      span.correlation = static_cast<std::uint32_t>(*event_.correlation);
      span.launches = kind.launches;
    }
    return span;
  }

  void add(std::int64_t from, std::int64_t to) {
    if (std::abs(from) > kFarthestTime || std::abs(to) > kFarthestTime)
      return defect("a time within 73 years", "one beyond");
    const EventKind kind = kind_of(event_.category, event_.name, event_.arg_phase);
    builder_.add(thread_of(kind), span_of(from, to, kind));
    ++shown_;
  }

  void take_begin_or_end(std::int64_t at, bool begins) {
    const EventKind kind = kind_of(event_.category, event_.name, event_.arg_phase);
    const std::uint32_t thread = thread_of(kind);
    if (begins) {
      builder_.begin(thread, span_of(at, at, kind));
      ++shown_;
    } else if (!builder_.end(thread, at)) {
      defect("a begin before every end", "an end alone");
    }
  }

  // Events by id may overlap: each category has a thread of its own for them.
  void take_by_id() {
    const auto at = time();
    if (!at) return;
    const Event& e = event_;
    const std::string key = e.process + '\0' + e.category + '\0' + e.id + '\0' + e.name;
    if (e.phase[0] == 'b' || e.phase[0] == 'S') {
      open_[key] = *at;
      return;
    }
    const auto found = open_.find(key);
    if (found == open_.end()) return defect("a begin before every end", "an end alone");
    const EventKind kind = kind_of(e.category, e.name, e.arg_phase);
    const std::string words = "by id: " + (e.category.empty() ? "events" : e.category);
    const std::uint32_t thread = builder_.thread(e.process, words);
    builder_.name_thread(thread, words);
    builder_.add(thread, span_of(found->second, std::max(found->second, *at), kind));
    open_.erase(found);
    ++shown_;
  }

  void take_counter() {
    const auto at = time();
    if (!at) return;
    const Event& e = event_;
    if (e.numbers.empty()) return defect("a number to count", "none");
    const std::uint32_t process = builder_.process(e.process);
    const std::string name = e.id.empty() ? e.name : fmt::format("{} {}", e.name, e.id);
    const bool bytes = contains(e.name, "bytes") || contains(e.name, "emory");
    for (const auto& [key, value] : e.numbers)
      builder_.count(
          process,
          e.numbers.size() == 1 && key == "value" ? name : fmt::format("{}: {}", name, key), bytes,
          *at, value);
    ++shown_;
  }

  TraceBuilder& builder_;
  const JsonStream& stream_;
  Event event_;
  std::unordered_map<std::string, std::int64_t> open_;
  std::uint64_t shown_ = 0;
};

// What RapidJSON calls as it reads; names are the library's.
// NOLINTBEGIN(readability-identifier-naming)
class Handler {
 public:
  Handler(TraceBuilder& builder, const JsonStream& stream)
      : builder_(builder), events_(builder, stream), where_{Where::Top} {}

  bool found_events() const { return found_events_; }
  std::uint64_t shown() const { return events_.shown(); }
  bool too_deep() const { return too_deep_; }

  bool Null() { return plain(""); }
  bool Bool(bool value) { return plain(value ? "1" : "0"); }
  bool Int(int) { return true; }  // numbers come as their text
  bool Uint(unsigned) { return true; }
  bool Int64(std::int64_t) { return true; }
  bool Uint64(std::uint64_t) { return true; }
  bool Double(double) { return true; }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return plain({text, size}); }
  bool String(const char* text, rapidjson::SizeType size, bool) { return plain({text, size}); }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    switch (where_.back()) {
      case Where::Event:
        field_ = field_of(key);
        in_args_ = key == "args";
        break;
      case Where::Document:
      case Where::Args:
      case Where::Device:
      case Where::Distributed:
        key_.assign(key);
        break;
      default:
        break;
    }
    return true;
  }

  bool StartObject() {
    switch (where_.back()) {
      case Where::Top:
        return enter(Where::Document);
      case Where::Events:
        events_.event().clear();
        return enter(Where::Event);
      case Where::Event:
        return enter(in_args_ ? Where::Args : Where::Ignored);
      case Where::Device:
        return enter(Where::Device);
      case Where::Document:
        return enter(key_ == "distributedInfo" ? Where::Distributed : Where::Ignored);
      default:
        return enter(Where::Ignored);
    }
  }
  bool EndObject(rapidjson::SizeType) {
    if (where_.back() == Where::Event) events_.take();
    where_.pop_back();
    return true;
  }
  bool StartArray() {
    if (where_.back() == Where::Top ||
        (where_.back() == Where::Document && key_ == "traceEvents")) {
      found_events_ = true;
      return enter(Where::Events);
    }
    if (where_.back() == Where::Document && key_ == "deviceProperties") return enter(Where::Device);
    return enter(Where::Ignored);
  }
  bool EndArray(rapidjson::SizeType) {
    where_.pop_back();
    return true;
  }

 private:
  // The parser goes down by recursion: how deep is for us to say.
  bool enter(Where where) {
    where_.push_back(where);
    too_deep_ = where_.size() > kDeepestJson;
    return !too_deep_;
  }

  bool plain(std::string_view text) {
    switch (where_.back()) {
      case Where::Event:
        set_field(text);
        break;
      case Where::Args:
        set_argument(text);
        break;
      case Where::Device:
        if (key_ == "name" && builder_.device.empty()) builder_.device.assign(text);
        break;
      case Where::Distributed:
        set_distributed(text);
        break;
      case Where::Document:
        set_epoch(text);
        break;
      default:
        break;
    }
    return true;
  }

  void set_field(std::string_view text) {
    Event& e = events_.event();
    std::string* const fields[] = {nullptr,     &e.name,    &e.phase,  &e.category, &e.time,
                                   &e.duration, &e.process, &e.thread, &e.id};
    if (std::string* field = fields[static_cast<std::size_t>(field_)]) field->assign(text);
  }

  void set_argument(std::string_view text) {
    Event& e = events_.event();
    if (e.phase.empty() || e.phase == "C") {
      if (const auto value = real_of(text); value && e.numbers.size() < 64)
        e.numbers.emplace_back(key_, *value);
    }
    if (key_ == "name")
      e.arg_name.assign(text);
    else if (key_ == "phase")
      e.arg_phase.assign(text);
    else if (key_ == "correlation")
      e.correlation = whole_of(text);
    else if (key_ == "sort_index")
      e.sort_index = whole_of(text);
    else if (key_ == "Device Id")
      e.device_id = whole_of(text);
    else if (key_ == "Device Type")
      e.device_type = whole_of(text);
    else if (key_ == "Total Allocated")
      e.allocated = real_of(text);
    else if (key_ == "Total Reserved")
      e.reserved = real_of(text);
  }

  void set_epoch(std::string_view text) {
    const auto value = key_ == "baseTimeNanoseconds" ? whole_of(text) : std::nullopt;
    if (value && *value >= 0 && *value <= kFarthestTime) builder_.epoch = value;
  }

  void set_distributed(std::string_view text) {
    const auto value = whole_of(text);
    if (!value || *value < 0 || *value >= 1 << 24) return;
    if (key_ == "rank") builder_.rank = static_cast<int>(*value);
    if (key_ == "world_size") builder_.ranks = *value;
  }

  TraceBuilder& builder_;
  EventReader events_;
  std::vector<Where> where_;
  std::string key_;
  Field field_ = Field::None;
  bool in_args_ = false, found_events_ = false, too_deep_ = false;
};
// NOLINTEND(readability-identifier-naming)

// Gives all events to the builder, and how many bytes they were; refuses what is no trace.
Bytes read_events(ByteSource& bytes, const std::string& source, const TraceImportOptions& options,
                  TraceBuilder& builder) {
  using namespace rapidjson;
  JsonStream stream(bytes, options);
  // A byte order mark says nothing here.
  for (const char mark : {'\xEF', '\xBB', '\xBF'})
    if (stream.Peek() == mark) stream.Take();
  Handler handler(builder, stream);
  Reader reader;
  constexpr unsigned kFlags = kParseNumbersAsStringsFlag | kParseNanAndInfFlag |
                              kParseTrailingCommasFlag | kParseStopWhenDoneFlag;
  reader.Parse<kFlags>(stream, handler);
  const auto refuse = [&](const std::string& sentence) {
    throw Error(Error::Kind::InvalidInput, sentence,
                {source + ":" + std::to_string(stream.line()) + " (byte " +
                 std::to_string(stream.Tell()) + ")"});
  };
  if (handler.too_deep())
    refuse("expected at most " + std::to_string(kDeepestJson) + " lists and objects in each other");
  if (!handler.found_events())
    refuse(reader.HasParseError()
               ? std::string("expected trace events as JSON, found: ") +
                     GetParseError_En(reader.GetParseErrorCode())
               : "expected a list of events or an object with traceEvents, found neither");
  if (reader.HasParseError())
    builder.defect(
        {stream.ended() ? "the end of the list of events" : "JSON",
         stream.ended() ? "the end of the file" : GetParseError_En(reader.GetParseErrorCode()),
         stream.line(), stream.Tell(), 1, "what comes before it is kept"});
  if (handler.shown() == 0)
    refuse("expected events that can be shown, found none among " + std::to_string(builder.events));
  return Bytes{static_cast<std::int64_t>(stream.Tell())};
}

RecordedTrace read_trace(ByteSource& bytes, const std::string& source,
                         const TraceImportOptions& options) {
  TraceBuilder builder(options);
  read_events(bytes, source, options, builder);
  return builder.finish(source, options.stop);
}

TraceExtent measure_trace(ByteSource& bytes, const std::string& source,
                          const TraceImportOptions& options) {
  TraceBuilder builder = TraceBuilder::of_extent();
  const Bytes text = read_events(bytes, source, options, builder);
  return builder.extent(text);
}

}  // namespace

RecordedTrace import_chrome_trace(const std::string& path, const TraceImportOptions& options) {
  const auto bytes = file_bytes(path);
  return read_trace(*bytes, path, options);
}

RecordedTrace parse_chrome_trace(std::string_view text, const std::string& source,
                                 const TraceImportOptions& options) {
  const auto bytes = text_bytes(text);
  return read_trace(*bytes, source, options);
}

TraceExtent chrome_trace_extent(const std::string& path, const TraceImportOptions& options) {
  if (const auto found = scan_chrome_trace(*file_bytes(path), options)) return *found;
  const auto bytes = file_bytes(path);  // what cannot be scanned is refused as it is read
  return measure_trace(*bytes, path, options);
}

TraceExtent parse_chrome_trace_extent(std::string_view text, const std::string& source,
                                      const TraceImportOptions& options) {
  if (const auto found = scan_chrome_trace(*text_bytes(text), options)) return *found;
  const auto bytes = text_bytes(text);
  return measure_trace(*bytes, source, options);
}

}  // namespace trainyard
