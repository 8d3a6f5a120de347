#include "core/io/snapshots/pickle_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/units_text.h"
#include "core/base/utf8.h"
#include "core/io/snapshots/pickle_memory.h"
#include "core/io/snapshots/pickle_opcodes.h"

namespace trainyard {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kMostOnStack = std::size_t{1} << 26;
constexpr std::size_t kOpenSought = 256;
using Kind = PickleValue::Kind;

class Machine {
 public:
  Machine(ByteSource& bytes, const std::string& source, const PickleOptions& options)
      : bytes_(bytes), source_(source), options_(options), block_(kBlock) {}

  Pickle run() {
    for (bool stopped = false; !stopped;) {
      plain_steps();
      stopped = step();
    }
    if (stack_.empty()) refuse("expected a value before STOP, found none");
    pickle_.root = stack_.back();
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const {
    throw Error(Error::Kind::InvalidInput, sentence,
                {source_ + " (byte " + std::to_string(at_opcode_) + ")"});
  }

  // The next functions read bytes.

  void refill() {
    if (options_.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the import was cancelled");
    before_ += end_;
    at_ = 0;
    end_ = bytes_.read(block_.data(), block_.size());
    if (options_.progress) options_.progress(bytes_.share());
    if (end_ == 0) refuse("expected more of the pickle, found the end of the file");
  }
  unsigned char byte() {
    if (at_ == end_) refill();
    return static_cast<unsigned char>(block_[at_++]);
  }
  template <class T>
  T plain() {
    T value{};
    if (end_ - at_ >= sizeof value) {
      std::memcpy(&value, block_.data() + at_, sizeof value);
      at_ += sizeof value;
      return value;
    }
    std::array<char, sizeof(T)> bytes{};
    for (char& b : bytes) b = static_cast<char>(byte());
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  void take(std::uint64_t size, std::string& to) {
    keep(size);
    to.clear();
    while (size > 0) {
      if (at_ == end_) refill();
      const std::size_t some = std::min<std::uint64_t>(size, end_ - at_);
      to.append(block_.data() + at_, some);
      at_ += some;
      size -= some;
    }
  }
  std::string line() {
    std::string text;
    for (char c = static_cast<char>(byte()); c != '\n'; c = static_cast<char>(byte())) {
      text += c;
      if (text.size() > static_cast<std::size_t>(kLongestText.value))
        refuse("expected a line of at most " + readable(kLongestText) + ", found a longer one");
    }
    return text;
  }

  // Stored bytes are counted, so that a small file cannot use all memory.
  void keep(std::uint64_t size) {
    kept_ += size;
    if (kept_ > static_cast<std::uint64_t>(options_.limit.value))
      refuse("expected data that fits in " + readable(options_.limit) + ", found more");
  }

  // The next functions work on the stack.

  void push(PickleValue value) {
    if (stack_.size() >= kMostOnStack) refuse("expected fewer values that belong to nothing");
    stack_.push(value);
  }
  PickleValue pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
      refuse("expected a value on the stack, found none");
    const PickleValue value = stack_.back();
    stack_.pop();
    return value;
  }
  PickleValue& top() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
      refuse("expected a value on the stack, found none");
    return stack_.back();
  }
  // Removes the last mark and returns where the items above it begin.
  std::size_t pop_mark() {
    if (marks_.empty()) refuse("expected a mark on the stack, found none");
    const std::size_t from = marks_.back();
    marks_.pop_back();
    return from;
  }

  static PickleValue integer(std::int64_t value) {
    PickleValue made;
    made.kind = Kind::Integer;
    made.integer = value;
    return made;
  }
  static PickleValue numbered(Kind kind, std::uint64_t number) {
    PickleValue made;
    made.kind = kind;
    made.number = number;
    return made;
  }
  static PickleValue truth(bool value) {
    PickleValue made = integer(value ? 1 : 0);
    made.kind = Kind::Bool;
    return made;
  }
  static PickleValue real(double value) {
    PickleValue made;
    made.kind = Kind::Real;
    made.real = value;
    return made;
  }

  void push_text(std::string text) {
    if (!is_utf8(text))
      for (char& c : text)
        if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    pickle_.texts.push_back(std::move(text));
    keep(sizeof(std::string));
    push(numbered(Kind::Text, pickle_.texts.size() - 1));
  }
  void push_container(Kind kind, std::size_t from) {
    keep(sizeof(std::vector<PickleValue>));
    std::vector<PickleValue>& made = pickle_.containers.emplace_back();
    const PickleValue value = numbered(kind, pickle_.containers.size() - 1);
    if (from < stack_.size()) {
      keep((stack_.size() - from) * sizeof(PickleValue));
      made.assign(stack_.data() + from, stack_.end());
      stack_.shrink(from);
    }
    push(value);
  }

  // Moves the stack from `from` on into the container below it.
  void fill(Kind kind, std::size_t from) {
    const std::size_t count = stack_.size() - from;
    if (from == 0 || from - 1 < (marks_.empty() ? 0 : marks_.back()))
      refuse("expected a container on the stack, found none");
    if (kind == Kind::Dict && count % 2 != 0) refuse("expected a value for every key");
    PickleValue& target = stack_[from - 1];
    if (target.kind != kind)
      refuse(target.kind == Kind::Folded
                 ? "expected all items of a container at once, found more of one that was read"
                 : "expected a container of the kind that the opcode fills, found another");
    std::vector<PickleValue>& items = pickle_.containers[target.number];
    const std::span<const PickleValue> given(stack_.data() + from, count);
    std::uint64_t folded = 0;
    // Protocols 0 and 1 fill containers item by item, so they are not folded.
    if (items.empty() && count > 0 && protocol_ >= 2 && options_.fold &&
        options_.fold(pickle_, kind, given, folded)) {
      fold(target, folded);
    } else {
      keep(count * sizeof(PickleValue));
      items.insert(items.end(), given.begin(), given.end());
    }
    stack_.shrink(from);
  }

  // Replaces the container by its folded value wherever it is remembered. Containers close in the
  // reverse order of opening, so this one is near the end of those that are open.
  void fold(PickleValue& target, std::uint64_t folded) {
    const std::uint64_t number = target.number;
    const PickleValue made = numbered(Kind::Folded, folded);
    std::size_t i = open_.size();
    const std::size_t least = i > kOpenSought ? i - kOpenSought : 0;
    while (i > least && open_[i - 1].container != number) --i;
    const bool found = i > least;
    if (found) {
      memo_[open_[i - 1].memo] = made;
      open_.resize(i - 1);
    } else if (memo_.size() > 0) {
      unshared_from_ = std::max(unshared_from_, number + 1);
    }
    if (number + 1 == pickle_.containers.size() && number >= unshared_from_)
      pickle_.containers.pop_back();  // nothing else refers to the container, so its place can be
                                      // reused
    target = made;
  }

  void remember(std::uint64_t at) {
    const PickleValue value = top();
    if (at > 8 * (before_ + at_) + 1024)
      refuse("expected memo numbers in order, found one far off");
    if (at >= memo_.size()) {
      keep((at + 1 - memo_.size()) * sizeof(PickleValue));
      memo_.resize(at + 1);
    }
    memo_[at] = value;
    if (value.kind != Kind::List && value.kind != Kind::Dict) return;
    const bool again = !open_.empty() && open_.back().container == value.number;
    if (again || value.number + 1 != pickle_.containers.size()) share(value);
    open_.push_back({value.number, at});
  }
  void recall(std::uint64_t at) {
    if (at >= memo_.size()) refuse("expected what was remembered as " + std::to_string(at));
    share(memo_[at]);
    push(memo_[at]);
  }
  // The value is now referred to from two places, so its number must stay its own.
  void share(const PickleValue& value) {
    if (value.kind == Kind::List || value.kind == Kind::Dict)
      unshared_from_ = std::max(unshared_from_, value.number + 1);
  }

  std::int64_t long_of(std::uint64_t size) {
    if (size > 9) refuse("expected an integer of at most 8 bytes, found a longer one");
    std::uint64_t value = 0;
    unsigned char last = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      last = byte();
      if (i < 8)
        value |= std::uint64_t{last} << (8 * i);
      else if (last != 0)
        refuse("expected an integer of 64 bits, found a larger one");
    }
    if (size > 0 && size < 8 && (last & 0x80) != 0) value |= ~std::uint64_t{0} << (8 * size);
    // Addresses use all 64 bits; a ninth byte of zero says that the value is not negative.
    return static_cast<std::int64_t>(value);
  }

  void push_decimal(std::string text) {
    if (text == "00" || text == "01") return push(truth(text == "01"));
    if (!text.empty() && text.back() == 'L') text.pop_back();
    const auto value = number_of<std::int64_t>(text);
    if (!value) refuse("expected an integer of 64 bits as text");
    push(integer(*value));
  }
  void push_real(const std::string& text) {
    const auto value = number_of<double>(text);
    if (!value) refuse("expected a number as text");
    push(real(*value));
  }

  // Executes the opcodes of which most of a large pickle consists, as long as they are valid and
  // the block does not end; step() executes or refuses the rest.
  void plain_steps() {
    constexpr std::size_t kLongest = 2 + 9;  // most bytes of one such opcode
    if (end_ - at_ < kLongest) return;
    const char* at = block_.data() + at_;
    const char* const last = block_.data() + end_ - kLongest;
    PickleValue* top = stack_.end();
    const PickleValue* const full = top + std::min(stack_.room(), kMostOnStack - stack_.size());
    const auto operand = [&](auto value) {
      std::memcpy(&value, at + 1, sizeof value);
      at += 1 + sizeof value;
      return value;
    };
    for (; at <= last && top != full; ++top) {
      const auto byte = static_cast<unsigned char>(at[1]);
      switch (static_cast<unsigned char>(*at)) {
        case 'h':
          if (byte >= memo_.size()) break;
          at += 2;
          share(*top = memo_[byte]);
          continue;
        case 'j':
          if (const auto number = operand(std::uint32_t{}); number < memo_.size()) {
            share(*top = memo_[number]);
            continue;
          }
          at -= 1 + sizeof(std::uint32_t);
          break;
        case 'K':
          at += 2;
          *top = integer(byte);
          continue;
        case 'M':
          *top = integer(operand(std::uint16_t{}));
          continue;
        case 'J':
          *top = integer(operand(std::int32_t{}));
          continue;
        case 0x8A: {  // a ninth byte of zero says that the value is not negative
          if (byte == 0 || byte > 9 || (byte == 9 && at[2 + 8] != 0)) break;
          std::uint64_t value = 0;
          std::memcpy(&value, at + 2, sizeof value);
          const int unused = byte < 8 ? 64 - 8 * byte : 0;
          *top = integer(static_cast<std::int64_t>(value << unused) >> unused);
          at += 2 + byte;
          continue;
        }
        case '}':
        case ']':
          // This is a container that is remembered, with the mark before its items.
          if (byte != 0x94 || at[2] != '(' || !has_room_for_container()) break;
          *top = open_container(*at == '}' ? Kind::Dict : Kind::List);
          marks_.push_back(static_cast<std::size_t>(top + 1 - stack_.data()));
          at += 3;
          continue;
        case 'u':
        case 'e':
          if (marks_.empty()) break;
          at_ = static_cast<std::size_t>(at - block_.data());
          at_opcode_ = before_ + at_;
          stack_.end_at(top);
          fill(*at == 'u' ? Kind::Dict : Kind::List, pop_mark());
          top = stack_.end() - 1;
          ++at;
          continue;
        default:
          break;
      }
      break;
    }
    stack_.end_at(top);
    at_ = static_cast<std::size_t>(at - block_.data());
  }
  static constexpr std::uint64_t kOfContainer =
      sizeof(std::vector<PickleValue>) + sizeof(PickleValue) + sizeof(std::size_t);
  bool has_room_for_container() const {
    return kept_ + kOfContainer <= static_cast<std::uint64_t>(options_.limit.value) &&
           memoized_ == memo_.size();
  }
  PickleValue open_container(Kind kind) {
    kept_ += kOfContainer;
    const PickleValue made = numbered(kind, pickle_.containers.size());
    pickle_.containers.emplace_back();
    if (!open_.empty() && open_.back().container == made.number) share(made);
    open_.push_back({made.number, memoized_});
    memo_.push(made);
    ++memoized_;
    return made;
  }

  // Executes one opcode; returns true at STOP. The opcodes of which events consist come first.
  bool step() {
    at_opcode_ = before_ + at_;
    const unsigned char op = byte();
    switch (op) {
      case 'h':
        recall(byte());
        return false;
      case 'j':
        recall(plain<std::uint32_t>());
        return false;
      case 0x94:  // MEMOIZE
        remember(memoized_++);
        return false;
      case 'q':
        remember(byte());
        return false;
      case 'r':
        remember(plain<std::uint32_t>());
        return false;
      case 'J':
        push(integer(plain<std::int32_t>()));
        return false;
      case 'K':
        push(integer(byte()));
        return false;
      case 'M':
        push(integer(plain<std::uint16_t>()));
        return false;
      case 0x8A:  // LONG1
        push(integer(long_of(byte())));
        return false;
      case '}':
        push_container(Kind::Dict, stack_.size());
        return false;
      case ']':
        push_container(Kind::List, stack_.size());
        return false;
      case 'u':  // SETITEMS
        fill(Kind::Dict, pop_mark());
        return false;
      case 'e':  // APPENDS
        fill(Kind::List, pop_mark());
        return false;
      case '.':
        return true;
      case 0x80:  // PROTO
        protocol_ = byte();
        if (protocol_ > 5) refuse("expected protocol 0 to 5, found " + std::to_string(protocol_));
        return false;
      case 0x95:  // FRAME
        plain<std::uint64_t>();
        return false;
      case '(':
        marks_.push_back(stack_.size());
        keep(sizeof(std::size_t));
        return false;
      case '0':  // POP
        if (!marks_.empty() && marks_.back() == stack_.size())
          marks_.pop_back();
        else
          pop();
        return false;
      case '1':  // POP_MARK
        stack_.shrink(pop_mark());
        return false;
      case '2':  // DUP
        share(top());
        push(top());
        return false;
      case 'N':
        push({});
        return false;
      case 0x88:
        push(truth(true));
        return false;
      case 0x89:
        push(truth(false));
        return false;
      default:
        return step_number(op);
    }
  }

  bool step_number(unsigned char op) {
    switch (op) {
      case 'I':
      case 'L':
        push_decimal(line());
        return false;
      case 0x8B:
        push(integer(long_of(plain<std::uint32_t>())));
        return false;
      case 'F':
        push_real(line());
        return false;
      case 'G': {  // big-endian
        auto bits = plain<std::uint64_t>();
        std::uint64_t turned = 0;
        for (int i = 0; i < 8; ++i, bits >>= 8) turned = turned << 8 | (bits & 0xFF);
        push(real(std::bit_cast<double>(turned)));
        return false;
      }
      default:
        return step_text(op);
    }
  }

  bool step_text(unsigned char op) {
    std::string text;
    switch (op) {
      case 'V':
        push_text(line());
        return false;
      case 'S':
        text = line();
        if (text.size() >= 2) text = text.substr(1, text.size() - 2);
        push_text(std::move(text));
        return false;
      case 'U':     // SHORT_BINSTRING
      case 'C':     // SHORT_BINBYTES
      case 0x8C: {  // SHORT_BINUNICODE
        take(byte(), text);
        push_text(std::move(text));
        return false;
      }
      case 'X':  // BINUNICODE
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
        take(plain<std::uint32_t>(), text);
        push_text(std::move(text));
        return false;
      case 0x8D:  // BINUNICODE8
      case 0x8E:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        take(plain<std::uint64_t>(), text);
        push_text(std::move(text));
        return false;
      default:
        return step_container(op);
    }
  }

  bool step_container(unsigned char op) {
    switch (op) {
      case ')':
        push_container(Kind::Tuple, stack_.size());
        return false;
      case 'l':
      case 'd':
      case 't': {
        const std::size_t from = pop_mark();
        if (op == 'd' && (stack_.size() - from) % 2 != 0) refuse("expected a value for every key");
        push_container(op == 'l' ? Kind::List : op == 'd' ? Kind::Dict : Kind::Tuple, from);
        return false;
      }
      case 0x85:
      case 0x86:
      case 0x87: {
        const std::size_t count = op - 0x84u;
        if (stack_.size() < count + (marks_.empty() ? 0 : marks_.back()))
          refuse("expected values for a tuple, found fewer");
        push_container(Kind::Tuple, stack_.size() - count);
        return false;
      }
      case 'a':  // APPEND
      case 's':  // SETITEM
      {
        const std::size_t count = op == 'a' ? 1 : 2;
        if (stack_.size() < count + 1) refuse("expected a container on the stack, found none");
        fill(op == 'a' ? Kind::List : Kind::Dict, stack_.size() - count);
        return false;
      }
      default:
        return step_memo(op);
    }
  }

  bool step_memo(unsigned char op) {
    const auto number = [&] {
      const auto value = number_of<std::uint64_t>(line());
      if (!value) refuse("expected a memo number as text");
      return *value;
    };
    switch (op) {
      case 'p':
        remember(number());
        return false;
      case 'g':
        recall(number());
        return false;
      default:
        break;
    }
    if (const char* name = refused_opcode(op))
      refuse(std::string("expected plain data, found the opcode ") + name +
             ", which is more than data: it is not carried out");
    refuse("expected an opcode of pickle, found byte " + std::to_string(op));
  }

  struct Made {
    std::uint64_t container = 0, memo = 0;
  };

  ByteSource& bytes_;
  const std::string& source_;
  const PickleOptions& options_;
  std::vector<char> block_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t before_ = 0, at_opcode_ = 0, kept_ = 0, memoized_ = 0;
  PickleStack stack_;
  PickleMemo memo_;
  std::vector<std::size_t> marks_;
  std::vector<Made> open_;  // containers that may still be filled, and where they are remembered
  std::uint64_t unshared_from_ = 0;  // other places may refer to containers with a smaller number
  unsigned protocol_ = 0;
  Pickle pickle_;
};

}  // namespace

std::string_view Pickle::text(const PickleValue& value) const {
  return value.kind == Kind::Text ? std::string_view(texts[value.number]) : std::string_view();
}

std::span<const PickleValue> Pickle::items(const PickleValue& value) const {
  if (value.kind != Kind::List && value.kind != Kind::Tuple && value.kind != Kind::Dict) return {};
  return containers[value.number];
}

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (dict.kind != Kind::Dict) return nullptr;
  const std::span<const PickleValue> list = items(dict);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2)
    if (list[i].kind == Kind::Text && text(list[i]) == key) return &list[i + 1];
  return nullptr;
}

Pickle read_pickle(ByteSource& bytes, const std::string& source, const PickleOptions& options) {
  return Machine(bytes, source, options).run();
}

Pickle parse_pickle(std::string_view bytes, const std::string& source,
                    const PickleOptions& options) {
  return read_pickle(*text_bytes(bytes), source, options);
}

}  // namespace trainyard
