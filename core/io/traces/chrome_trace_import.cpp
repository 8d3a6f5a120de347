#include "core/io/traces/chrome_trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/printable.h"
#include "core/io/bytes/byte_source.h"
#include "core/io/bytes/decimal_time.h"
#include "core/io/bytes/limits.h"
#include "core/io/json/json_tokens.h"
#include "core/io/traces/chrome_collective.h"
#include "core/io/traces/chrome_event.h"
#include "core/io/traces/chrome_trace_scan.h"
#include "core/io/traces/trace_builder.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMicrosecond = 1000;  // ns

bool contains(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

// EventReader passes the events to the builder one by one as they are read.
class EventReader {
 public:
  EventReader(TraceBuilder& builder, const JsonTokens& tokens)
      : builder_(builder), tokens_(tokens) {}

  ChromeEvent& event() { return event_; }
  std::uint64_t shown() const { return shown_; }

  void take() {
    ++builder_.events;
    const ChromeEvent& e = event_;
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
        return defect("a phase of the format", "\"" + printable(e.phase) + "\"");
    }
  }

 private:
  void defect(const std::string& expected, const std::string& found,
              const std::string& assumed = "the event is left out") {
    // Only the first of each kind has a line, because a broken trace has millions of defects.
    if (builder_.repeats(expected, found)) return;
    builder_.defect({expected, found, tokens_.line(), tokens_.offset(), 1, assumed});
  }

  std::optional<std::int64_t> time() {
    if (const auto at = nanoseconds_of(event_.time, kMicrosecond)) return at;
    defect("a time in microseconds as ts", event_.time.empty() ? "none" : "another text");
    return {};
  }

  void take_name() {
    const ChromeEvent& e = event_;
    if (e.name == "process_name")
      builder_.name_process(builder_.process(e.process), e.arg_name);
    else if (e.name == "thread_name")
      builder_.name_thread(builder_.thread(e.process, e.thread), e.arg_name);
    else if (e.name == "process_sort_index" && e.sort_index)
      builder_.sort_process(builder_.process(e.process), *e.sort_index);
    else if (e.name == "thread_sort_index" && e.sort_index)
      builder_.sort_thread(builder_.thread(e.process, e.thread), *e.sort_index);
  }

  std::uint32_t thread_of(const ChromeEventKind& kind) {
    const std::uint32_t thread = builder_.thread(event_.process, event_.thread, kind.annotations);
    if (kind.device) builder_.on_device(thread);
    return thread;
  }

  void take_memory(std::int64_t at) {
    const ChromeEvent& e = event_;
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
    const ChromeEvent& e = event_;
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

  TraceSpan span_of(std::int64_t from, std::int64_t to, const ChromeEventKind& kind) {
    TraceSpan span{from, to, builder_.name(event_.name), kNoCorrelation, kind.kind, false};
    if (event_.correlation && *event_.correlation > 0 &&
        *event_.correlation < std::int64_t{kNoCorrelation}) {
      span.correlation = static_cast<std::uint32_t>(*event_.correlation);
      span.launches = kind.launches;
    }
    if (event_.operator_id && *event_.operator_id > 0 &&
        *event_.operator_id < std::int64_t{kNoCorrelation})
      span.operator_id = static_cast<std::uint32_t>(*event_.operator_id);
    if (const std::string sizes = sizes_of(event_); !sizes.empty())
      span.sizes = builder_.name(sizes);
    return span;
  }

  void add(std::int64_t from, std::int64_t to) {
    if (std::abs(from) > kFarthestTime || std::abs(to) > kFarthestTime)
      return defect("a time within 73 years", "one beyond");
    const ChromeEventKind kind = kind_of(event_);
    builder_.add(thread_of(kind), span_of(from, to, kind));
    if (kind.kind == RecordedKind::Communication && kind.device) take_collective(from, to);
    ++shown_;
  }

  void take_collective(std::int64_t from, std::int64_t to) {
    std::optional<TraceDefect> wrong;
    const auto stated = stated_collective(event_, wrong);
    if (wrong) return defect(wrong->expected, wrong->found, wrong->assumed);
    if (stated)
      builder_.add({builder_.process(event_.process), builder_.group(stated->group),
                    builder_.name(event_.collective), stated->kind, stated->bytes, Instant{from},
                    Instant{to}});
  }

  void take_begin_or_end(std::int64_t at, bool begins) {
    const ChromeEventKind kind = kind_of(event_);
    const std::uint32_t thread = thread_of(kind);
    if (begins) {
      builder_.begin(thread, span_of(at, at, kind));
      ++shown_;
    } else if (!builder_.end(thread, at)) {
      defect("a begin before every end", "an end alone");
    }
  }

  // Events by id may overlap, so each category has a thread of its own for them.
  void take_by_id() {
    const auto at = time();
    if (!at) return;
    const ChromeEvent& e = event_;
    const std::string key = e.process + '\0' + e.category + '\0' + e.id + '\0' + e.name;
    if (e.phase[0] == 'b' || e.phase[0] == 'S') {
      open_[key] = *at;
      return;
    }
    const auto found = open_.find(key);
    if (found == open_.end()) return defect("a begin before every end", "an end alone");
    const ChromeEventKind kind = kind_of(e);
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
    const ChromeEvent& e = event_;
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
  const JsonTokens& tokens_;
  ChromeEvent event_;
  std::unordered_map<std::string, std::int64_t> open_;
  std::uint64_t shown_ = 0;
};

// TraceDocument reads the document around the events and what it says of the run.
class TraceDocument {
 public:
  TraceDocument(JsonTokens& tokens, TraceBuilder& builder)
      : tokens_(tokens), builder_(builder), events_(builder, tokens) {}

  void read() {
    const Token first = tokens_.next();
    if (first == Token::ListBegin) return take_events();
    if (first == Token::ObjectBegin)
      take_members([&](const std::string& key, Token value) { take_member(key, value); });
  }
  bool found_events() const { return found_events_; }
  std::uint64_t shown() const { return events_.shown(); }

 private:
  using Token = JsonTokens::Token;

  static bool is_plain(Token token) {
    return token == Token::Text || token == Token::Number || token == Token::Word;
  }
  // Returns the text of a plain value: true and false become numbers; lists and objects give "".
  std::string_view plain_text(Token token) const {
    if (!is_plain(token)) return "";
    const std::string_view text = tokens_.text();
    if (token != Token::Word) return text;
    return text == "true" ? "1" : text == "false" ? "0" : "";
  }

  // Calls take(key, first token of the value) for each member; take must read the value to its end.
  template <class Take>
  void take_members(const Take& take) {
    std::string key;
    while (tokens_.next() == Token::Key) {
      key.assign(tokens_.text());
      take(key, tokens_.next());
    }
  }

  void take_member(const std::string& key, Token value) {
    if (key == "traceEvents" && value == Token::ListBegin) return take_events();
    if (key == "deviceProperties") return take_device(value);
    if (key == "distributedInfo" && value == Token::ObjectBegin)
      return take_members([&](const std::string& of, Token token) { take_distributed(of, token); });
    if (key == "baseTimeNanoseconds") take_epoch(value);
    tokens_.pass(value);
  }

  void take_events() {
    found_events_ = true;
    for (Token token = tokens_.next(); token != Token::ListEnd && token != Token::End;
         token = tokens_.next())
      if (token == Token::ObjectBegin)
        take_event();
      else
        tokens_.pass(token);
  }

  void take_event() {
    ChromeEvent& event = events_.event();
    clear(event);
    Token token = tokens_.next();
    for (; token == Token::Key; token = tokens_.next()) {
      const std::string_view key = tokens_.text();
      if (key == "args") {
        take_arguments(event);
        continue;
      }
      std::string* const field = field_of(event, key);
      const Token value = tokens_.next();
      if (field != nullptr && is_plain(value)) field->assign(plain_text(value));
      tokens_.pass(value);
    }
    if (token == Token::ObjectEnd) events_.take();
  }

  void take_arguments(ChromeEvent& event) {
    const Token begun = tokens_.next();
    if (begun != Token::ObjectBegin) return tokens_.pass(begun);
    while (tokens_.next() == Token::Key) {
      key_.assign(tokens_.text());
      const Token value = tokens_.next();
      if (is_plain(value)) set_argument(event, key_, plain_text(value));
      if (std::string* const list = value == Token::ListBegin ? list_of(event, key_) : nullptr)
        take_list(*list);
      else
        tokens_.pass(value);
    }
  }

  // Appends the rest of a list as it stands, without spaces, until it is too long to be used.
  void take_list(std::string& to) {
    to += '[';
    bool first = true;
    for (Token token = tokens_.next(); token != Token::ListEnd && token != Token::End;
         token = tokens_.next()) {
      if (!std::exchange(first, false) && to.size() <= kLongestSizes) to += ',';
      if (token == Token::ListBegin)
        take_list(to);
      else if (is_plain(token) && to.size() <= kLongestSizes)
        to += plain_text(token);
      else
        tokens_.pass(token);
    }
    to += ']';
  }

  // Takes the name of the first device that has one, at any depth.
  void take_device(Token value) {
    if (value == Token::ObjectBegin)
      return take_members([&](const std::string& key, Token token) {
        if (key == "name" && is_plain(token) && builder_.device.empty())
          builder_.device.assign(plain_text(token));
        take_device(token);
      });
    if (value != Token::ListBegin) return;
    for (Token token = tokens_.next(); token != Token::ListEnd && token != Token::End;
         token = tokens_.next())
      take_device(token);
  }

  void take_epoch(Token value) {
    const std::int64_t epoch = number_of<std::int64_t>(plain_text(value)).value_or(-1);
    if (epoch >= 0 && epoch <= kFarthestTime) builder_.epoch = epoch;
  }

  void take_distributed(const std::string& key, Token value) {
    const std::int64_t number = number_of<std::int64_t>(plain_text(value)).value_or(-1);
    tokens_.pass(value);
    if (number < 0 || number >= 1 << 24) return;
    if (key == "rank") builder_.rank = static_cast<int>(number);
    if (key == "world_size") builder_.ranks = number;
  }

  JsonTokens& tokens_;
  TraceBuilder& builder_;
  EventReader events_;
  std::string key_;
  bool found_events_ = false;
};

// Passes all events to the builder and returns how many bytes they took; refuses what is no trace.
Bytes read_events(ByteSource& bytes, const std::string& source, const TraceImportOptions& options,
                  TraceBuilder& builder) {
  JsonTokens tokens(bytes, options);
  TraceDocument document(tokens, builder);
  document.read();
  const auto refuse = [&](const std::string& sentence) {
    throw Error(Error::Kind::InvalidInput, sentence,
                {fmt::format("{}:{} (byte {})", source, tokens.line(), tokens.offset())});
  };
  if (tokens.is_too_deep())
    refuse(fmt::format("expected at most {} lists and objects in each other", kDeepestNesting));
  const bool broken = !tokens.fault().empty();
  if (broken && document.shown() == 0)
    refuse("expected trace events as JSON, found " + tokens.fault());
  if (!document.found_events())
    refuse("expected a list of events or an object with traceEvents, found neither");
  if (broken)
    builder.defect({tokens.is_cut_short() ? "the end of the list of events" : "JSON",
                    tokens.fault(), tokens.line(), tokens.offset(), 1,
                    "what comes before it is kept"});
  if (document.shown() == 0)
    refuse(fmt::format("expected events that can be shown, found none among {}", builder.events));
  return Bytes{static_cast<std::int64_t>(tokens.offset())};
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
  TraceExtent found = builder.extent(text);
  found.epoch = builder.epoch;
  return found;
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
  const auto bytes = file_bytes(path);  // what cannot be scanned is read, and refused there if it
                                        // is no trace
  return measure_trace(*bytes, path, options);
}

TraceExtent parse_chrome_trace_extent(std::string_view text, const std::string& source,
                                      const TraceImportOptions& options) {
  if (const auto found = scan_chrome_trace(*text_bytes(text), options)) return *found;
  const auto bytes = text_bytes(text);
  return measure_trace(*bytes, source, options);
}

}  // namespace trainyard
