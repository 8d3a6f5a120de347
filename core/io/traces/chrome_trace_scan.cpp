#include "core/io/traces/chrome_trace_scan.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/bytes/decimal_time.h"
#include "core/io/bytes/limits.h"
#include "core/io/traces/chrome_event.h"
#include "core/io/traces/trace_measure.h"

namespace trainyard {
namespace {

constexpr std::size_t kScanBlock = std::size_t{1} << 18;
constexpr std::size_t kLongestWord = 256;  // the rest of a longer word is ignored

// Marks are the characters to stop at: all of JSON's syntax where words are used, elsewhere only
// brackets and quotes.
using Marks = std::array<bool, 256>;
constexpr Marks marks_of(std::string_view chars) {
  Marks marks{};
  for (const char c : chars) marks[static_cast<unsigned char>(c)] = true;
  return marks;
}
constexpr Marks kLookedAt = marks_of("\"{}[]:, \n\t\r"), kPassedOver = marks_of("\"{}[]");
constexpr Marks kEndsText = marks_of("\"\\");

const char* next_mark(const char* at, const char* end, const Marks& marks) {
  while (at < end && !marks[static_cast<unsigned char>(*at)]) ++at;
  return at;
}

class TraceScan {
 public:
  /// Returns false where the text is no JSON that this can follow.
  bool take(std::string_view block) {
    for (at_ = block.data(), end_ = at_ + block.size(); at_ < end_;)
      if (!(in_string_ ? take_string() : take_plain())) return false;
    return true;
  }
  std::uint64_t measured() const { return measured_; }
  TraceExtent extent(Bytes text) const {
    TraceExtent found = measure_.extent(events_, text);
    found.epoch = epoch_;
    return found;
  }

 private:
  bool in_event() const { return event_depth_ > 0 && open_.size() == event_depth_; }
  // Words are used only in the outermost object and directly in an event.
  bool is_looked_at() const { return open_.size() == 1 || in_event(); }

  void look_at(const char* first, const char* last) {
    if (word_.size() < kLongestWord) word_.append(first, last);
  }

  bool take_string() {
    const bool looked_at = is_looked_at();
    while (at_ < end_) {
      const char* const first = at_;
      if (escaped_) {
        escaped_ = false;
        ++at_;
      }
      at_ = next_mark(at_, end_, kEndsText);
      if (looked_at) look_at(first, at_);
      if (at_ == end_) break;
      const bool ends = *at_ == '"';
      ++at_;
      if (ends) {
        in_string_ = false;
        break;
      }
      escaped_ = true;
    }
    return true;
  }

  bool take_plain() {
    const bool looked_at = is_looked_at();
    const char* const first = at_;
    at_ = next_mark(at_, end_, looked_at ? kLookedAt : kPassedOver);
    if (looked_at && at_ > first) look_at(first, at_);
    if (at_ == end_) return true;
    const char c = *at_;
    ++at_;
    return take_char(c);
  }

  bool take_char(char c) {
    switch (c) {
      case '"':
        word_.clear();
        in_string_ = true;
        return true;
      case ':':
        key_.swap(word_);
        word_.clear();
        return true;
      case ',':
        end_value();
        return true;
      case '{':
      case '[':
        return open(c);
      case '}':
      case ']':
        return close(c);
      default:
        return true;
    }
  }

  bool open(char c) {
    if (open_.size() == kDeepestNesting) return false;
    open_.push_back(c);
    if (c == '[' && (open_.size() == 1 || (open_.size() == 2 && key_ == "traceEvents")))
      event_depth_ = open_.size() + 1;
    else if (c == '{' && in_event())
      phase_ = '\0', time_.clear(), duration_.clear(), name_.clear(), stream_ = false;
    return true;
  }

  bool close(char c) {
    if (open_.empty() || open_.back() != (c == '}' ? '{' : '[')) return false;
    end_value();
    if (c == '}' && in_event()) end_event();
    open_.pop_back();
    if (event_depth_ > 0 && open_.size() + 1 < event_depth_) event_depth_ = 0;
    key_.clear();
    word_.clear();
    return true;
  }

  void end_value() {
    if (open_.size() == 1 && key_ == "baseTimeNanoseconds") {
      const std::int64_t epoch = number_of<std::int64_t>(word_).value_or(-1);
      if (epoch >= 0 && epoch <= kFarthestTime) epoch_ = epoch;
    } else if (in_event()) {
      if (key_ == "ph")
        phase_ = word_.size() == 1 ? word_[0] : '\0';
      else if (key_ == "ts")
        time_ = word_;
      else if (key_ == "dur")
        duration_ = word_;
      else if (key_ == "name")
        name_ = word_;
      else if (key_ == "cat")
        stream_ = word_ == "gpu_user_annotation";
    }
    key_.clear();
    word_.clear();
  }

  void end_event() {
    ++events_;
    constexpr std::string_view kTimed = "XBEiIRbeSFC";
    if (phase_ == '\0' || kTimed.find(phase_) == std::string_view::npos) return;
    const auto from = nanoseconds_of(time_, 1000);
    if (!from) return;
    ++measured_;
    if (phase_ != 'X') {
      // For begins the end makes the span. Marks are spans without a length, except memory samples.
      if (phase_ == 'B' || phase_ == 'b' || phase_ == 'S' || phase_ == 'C' || name_ == "[memory]")
        measure_.time(*from, *from);
      else
        measure_.span(*from, *from);
      return;
    }
    const auto taken = nanoseconds_of(duration_, 1000);
    if (!taken || *taken < 0 || *from + *taken > kFarthestTime) return;
    measure_.span(*from, *from + *taken);
    if (const auto number = step_number(name_))
      measure_.step(*number, stream_, *from, *from + *taken);
  }

  const char *at_ = nullptr, *end_ = nullptr;
  std::vector<char> open_;       // open brackets, outermost first
  std::size_t event_depth_ = 0;  // number of open brackets in an event; 0: not in the list of
                                 // events
  bool in_string_ = false, escaped_ = false;
  std::string key_, word_;
  std::string time_, duration_, name_;
  char phase_ = '\0';
  bool stream_ = false;
  std::uint64_t events_ = 0, measured_ = 0;
  TraceMeasure measure_;
  std::optional<std::int64_t> epoch_;
};

}  // namespace

std::optional<TraceExtent> scan_chrome_trace(ByteSource& bytes, const TraceImportOptions& options) {
  std::vector<char> block(kScanBlock);
  TraceScan scan;
  std::int64_t read = 0;
  while (const std::size_t got = bytes.read(block.data(), block.size())) {
    if (options.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the import was cancelled");
    if (!scan.take({block.data(), got})) return std::nullopt;
    read += static_cast<std::int64_t>(got);
    if (options.progress) options.progress(bytes.share());
  }
  if (scan.measured() == 0) return std::nullopt;
  return scan.extent(Bytes{read});
}

}  // namespace trainyard
