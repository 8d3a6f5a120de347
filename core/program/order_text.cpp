// Writes and parses the text form of an order.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/base/utf8.h"
#include "core/program/order.h"

namespace trainyard {
namespace {

constexpr std::string_view kLetters = "FBIWU";  // indexed by Phase

void write(std::string& out, const Action& a) {
  fmt::format_to(std::back_inserter(out), "{}{}{}", a.stage.value, letter(a.phase), a.microbatch);
  if (a.wave != 0) fmt::format_to(std::back_inserter(out), "/{}", a.wave);
  if (a.weights != 0) fmt::format_to(std::back_inserter(out), "@{}", a.weights);
}

/// Takes a number with its unit, such as " +1500ns", from the end of a lane's title. Returns false
/// and leaves the title where there is none.
template <class T>
bool take_number(std::string_view& title, std::string_view unit, T& number) {
  const std::size_t at = title.rfind(" +");
  if (at == std::string_view::npos || !title.ends_with(unit)) return false;
  const char *first = title.data() + at + 2, *last = title.data() + title.size() - unit.size();
  if (first >= last || *first == '-') return false;
  T value{};
  const auto [stop, failure] = std::from_chars(first, last, value);
  if (failure != std::errc() || stop != last) return false;
  number = value;
  title = title.substr(0, at);
  return true;
}
constexpr std::string_view kDelayUnit = "ns", kBehindUnit = " cycles";

/// Takes what a lane's title says of its start, " +1500ns +0.5 cycles", from its end.
bool take_start(std::string_view& title, Lane& lane) {
  const bool behind = take_number(title, kBehindUnit, lane.behind);
  Duration::rep delay = 0;
  const bool delayed = take_number(title, kDelayUnit, delay);
  lane.delay = Duration(delay);
  return behind || delayed;
}

void write(std::string& out, const Lane& lane) {
  fmt::format_to(std::back_inserter(out), "d{}/{}", lane.device.value, lane.name);
  // If a name seems to end with a delay, an explicit delay is written, so that reading it back does
  // not misinterpret the name.
  const std::string titled = "/" + lane.name;
  std::string_view misread = titled;
  Lane other;
  if (lane.delay.count() != 0 || take_start(misread, other))
    fmt::format_to(std::back_inserter(out), " +{}{}", lane.delay.count(), kDelayUnit);
  if (lane.behind != 0) fmt::format_to(std::back_inserter(out), " +{}{}", lane.behind, kBehindUnit);
  for (std::size_t i = 0; i < lane.actions.size(); ++i) {
    out += i == 0 ? "  " : " ";
    if (lane.actions[i].paired) out += '&';
    write(out, lane.actions[i]);
  }
  out += '\n';
}

/// Reads one line from left to right and tracks the column.
class OrderLineReader {
 public:
  OrderLineReader(std::string_view text, std::size_t line, const Place& place)
      : text_(text), line_(line), place_(place) {}

  bool done() const { return at_ == text_.size(); }
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool take(std::string_view word) {
    if (!starts(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view peek_until(std::string_view end) const {
    return text_.substr(at_, text_.find(end, at_) - at_);
  }
  [[noreturn]] void refuse(std::string_view expected) const {
    std::string_view found = text_.substr(at_);
    found = found.substr(0, std::min<std::size_t>(found.find(' ', 1), 40));
    throw Error(Error::Kind::InvalidInput,
                done() ? fmt::format("expected {}, found the end of the line", expected)
                       : fmt::format("expected {}, found \"{}\"", expected, found),
                {fmt::format("{}:{}:{}", place_.text, line_, at_ + 1)});
  }
  /// A whole number of at least 0 that T can hold.
  template <class T>
  T number(std::string_view expected) {
    T value{};
    const char *first = text_.data() + at_, *last = text_.data() + text_.size();
    const auto [stop, failure] = std::from_chars(first, last, value);
    if (failure != std::errc() || *first == '-') refuse(expected);
    at_ += static_cast<std::size_t>(stop - first);
    return value;
  }
  Action action() {
    constexpr std::string_view kExpected = "an action such as 3F12";
    const std::size_t start = at_;
    Action a;
    a.stage.value = number<std::uint32_t>(kExpected);
    const std::size_t phase = done() ? std::string_view::npos : kLetters.find(text_[at_]);
    if (phase == std::string_view::npos) refuse("F, B, I, W or U after the stage");
    a.phase = static_cast<Phase>(phase);
    ++at_;
    a.microbatch = number<std::int32_t>("a microbatch after the phase");
    if (take("/")) a.wave = number<std::int16_t>("a wave after \"/\"");
    if (take("@")) a.weights = number<std::int16_t>("a weight version after \"@\"");
    if (done() || text_[at_] == ' ') return a;
    at_ = start;
    refuse(kExpected);
  }

 private:
  std::string_view text_;
  std::size_t line_, at_ = 0;
  const Place& place_;
};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

Lane read_lane(OrderLineReader& in) {
  Lane lane;
  lane.device.value = in.number<std::uint32_t>("a device after \"d\"");
  if (!in.starts("/")) in.refuse("\"/\" and the lane's name after the device");
  std::string_view title = in.peek_until("  ");  // "/NAME", "/NAME +1500ns" or "/NAME +0.5 cycles"
  if (std::any_of(title.begin(), title.end(), is_control)) in.refuse("a lane's name in plain text");
  if (!is_utf8(title)) in.refuse("a lane's name in UTF-8");
  in.take(title);
  take_start(title, lane);
  lane.name = title.substr(1);
  for (in.skip_spaces(); !in.done(); in.skip_spaces()) {
    const bool paired = in.take("&");
    lane.actions.push_back(in.action());
    lane.actions.back().paired = paired;
  }
  return lane;
}

Precedence read_precedence(OrderLineReader& in) {
  Precedence p;
  p.before = in.action();
  if (!in.take(" < ")) in.refuse("\"<\" and a second action");
  p.after = in.action();
  in.skip_spaces();
  if (!in.done()) in.refuse("the end of the line");
  return p;
}

}  // namespace

char letter(Phase phase) { return kLetters[static_cast<std::size_t>(phase)]; }

std::string to_text(const Action& action) {
  std::string text;
  write(text, action);
  return text;
}

std::string to_text(const Order& order) {
  std::string text;
  for (const Lane& lane : order.lanes) write(text, lane);
  for (const Precedence& p : order.precedences) {
    write(text, p.before);
    text += " < ";
    write(text, p.after);
    text += '\n';
  }
  return text;
}

Order parse_order(std::string_view text, const Place& place) {
  Order order;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.empty()) continue;
    OrderLineReader in(content, line, place);
    if (in.take("d")) {
      if (!order.precedences.empty()) in.refuse("lanes before the precedences");
      order.lanes.push_back(read_lane(in));
    } else if (content.front() >= '0' && content.front() <= '9') {
      order.precedences.push_back(read_precedence(in));
    } else {
      in.refuse("a lane such as \"d0/compute  0F0 0B0\" or a precedence such as \"0F0 < 1F0\"");
    }
  }
  return order;
}

}  // namespace trainyard
