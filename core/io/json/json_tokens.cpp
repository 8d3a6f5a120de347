#include "core/io/json/json_tokens.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/limits.h"

namespace trainyard {
namespace {

constexpr std::size_t kTokenBlock = std::size_t{1} << 18;

using Chars = std::array<bool, 256>;
template <class Holds>
constexpr Chars chars_where(const Holds& holds) {
  Chars chars{};
  for (int c = 0; c < 256; ++c)
    chars[static_cast<std::size_t>(c)] = holds(static_cast<unsigned char>(c));
  return chars;
}
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr Chars kEndsRun = chars_where([](int c) { return c == '"' || c == '\\' || c < 0x20; });
constexpr Chars kOfWord = chars_where([](int c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
});

// Returns the first character from `at` on that is (or is not) among the chars; the zero byte after
// a block ends every run.
template <bool kOf>
const char* run_end(const char* at, const Chars& chars) {
  while (chars[static_cast<unsigned char>(*at)] == kOf) ++at;
  return at;
}

bool is_number(std::string_view text) {
  if (text == "-Infinity" || text == "-Inf") return true;
  const char *at = text.data(), *const end = at + text.size();
  const auto digits = [&] {
    const char* const first = at;
    while (at != end && is_digit(*at)) ++at;
    return at != first;
  };
  if (*at == '-') ++at;
  if (at != end && *at == '0')
    ++at;
  else if (!digits())
    return false;
  if (at != end && *at == '.') {
    ++at;
    if (!digits()) return false;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (!digits()) return false;
  }
  return at == end;
}

void append_utf8(unsigned code, std::string& text) {
  const auto add = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

}  // namespace

JsonTokens::JsonTokens(ByteSource& bytes, const TraceImportOptions& options)
    : bytes_(bytes), options_(options), block_(kTokenBlock + 1) {
  at_ = end_ = block_.data();
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // byte order mark, which has no meaning here
  const char* first = at_;
  while (end_ < first + kMark.size() && more(first)) continue;
  at_ = std::string_view(first, end_).starts_with(kMark) ? first + kMark.size() : first;
}

// Reads the next block and puts the bytes from `kept` on before it; returns false where there is no
// more. at_ is then at the beginning of the new bytes.
bool JsonTokens::more(const char*& kept) {
  if (ended_) return false;
  if (options_.stop.stop_requested())
    throw Error(Error::Kind::Cancelled, "the import was cancelled");
  const auto held = static_cast<std::size_t>(end_ - kept);
  before_ += static_cast<std::size_t>(kept - block_.data());
  std::memmove(block_.data(), kept, held);
  if (2 * held > block_.size()) block_.resize(2 * block_.size());
  const std::size_t got = bytes_.read(block_.data() + held, block_.size() - 1 - held);
  kept = block_.data();
  at_ = kept + held;
  end_ = at_ + got;
  block_[held + got] = '\0';
  ended_ = got == 0;
  if (options_.progress) options_.progress(bytes_.share());
  return got > 0;
}

void JsonTokens::skip_space() {
  if (static_cast<unsigned char>(*at_) > ' ') return;
  do {
    const char* at = at_;
    for (;; ++at) {
      if (*at == '\n')
        ++line_;
      else if (*at != ' ' && *at != '\t' && *at != '\r')
        break;
    }
    at_ = at;
  } while (at_ == end_ && more(at_));
}

JsonTokens::Token JsonTokens::fail(const char* found) {
  cut_short_ = at_end();
  fault_ = !cut_short_ ? found : offset() == 0 ? "nothing" : "the end of the file";
  next_ = Next::Nothing;
  return Token::End;
}

bool JsonTokens::is_long(std::ptrdiff_t size) { return size > kLongestText.value; }

JsonTokens::Token JsonTokens::fail_long() {
  fault_ = "a text of more than " + readable(kLongestText);
  next_ = Next::Nothing;
  return Token::End;
}

JsonTokens::Token JsonTokens::next() {
  if (next_ == Next::Nothing) return Token::End;
  skip_space();
  switch (next_) {
    case Next::Value:
      return value();
    case Next::Colon:
      if (*at_ != ':') return fail("no colon behind a key");
      ++at_;
      skip_space();
      return value();
    case Next::Comma:
      if (*at_ == '}' || *at_ == ']') return closed();
      if (*at_ != ',') return fail("no comma or bracket behind a value");
      ++at_;
      skip_space();
      return entry();
    default:
      return entry();
  }
}

void JsonTokens::pass(Token begun) {
  if (begun != Token::ObjectBegin && begun != Token::ListBegin) return;
  const std::size_t depth = open_.size();
  while (open_.size() >= depth && next() != Token::End) continue;
}

JsonTokens::Token JsonTokens::entry() {
  if (*at_ == '}' || *at_ == ']') return closed();
  if (open_.back() == '[') return value();
  if (*at_ != '"') return fail("no key in quotes");
  return quoted(Token::Key);
}

JsonTokens::Token JsonTokens::value() {
  switch (*at_) {
    case '{':
      return opened(Token::ObjectBegin);
    case '[':
      return opened(Token::ListBegin);
    case '"':
      return quoted(Token::Text);
    default:
      return unquoted();
  }
}

JsonTokens::Token JsonTokens::opened(Token token) {
  if (open_.size() == kDeepestNesting) {
    too_deep_ = true;
    return fail("too many lists and objects in each other");
  }
  open_ += *at_++;
  next_ = Next::Entry;
  return token;
}

JsonTokens::Token JsonTokens::closed() {
  const bool object = open_.back() == '{';
  if (*at_ != (object ? '}' : ']')) return fail("the other kind of bracket");
  ++at_;
  open_.pop_back();
  return complete(object ? Token::ObjectEnd : Token::ListEnd);
}

JsonTokens::Token JsonTokens::complete(Token token) {
  next_ = token == Token::Key ? Next::Colon : open_.empty() ? Next::Nothing : Next::Comma;
  return token;
}

JsonTokens::Token JsonTokens::quoted(Token token) {
  const char* first = ++at_;
  for (;;) {
    at_ = run_end<false>(at_, kEndsRun);
    if (is_long(at_ - first)) return fail_long();
    if (*at_ == '"') {
      text_ = {first, at_++};
      return complete(token);
    }
    if (*at_ == '\\') return resolved(first, token);
    if (at_ != end_) return fail("a control character in a text");
    if (!more(first)) return fail("a text that does not end");
  }
}

JsonTokens::Token JsonTokens::resolved(const char* first, Token token) {
  resolved_.assign(first, at_);
  for (;;) {
    if (*at_ == '"') {
      ++at_;
      text_ = resolved_;
      return complete(token);
    }
    if (*at_ == '\\') {
      ++at_;
      if (!resolve_escape()) return fail("an escape that JSON does not have");
    } else if (!at_end()) {
      if (kEndsRun[static_cast<unsigned char>(*at_)] && *at_ != '"' && *at_ != '\\')
        return fail("a control character in a text");
    } else {
      return fail("a text that does not end");
    }
    const char* const run = at_;
    at_ = run_end<false>(at_, kEndsRun);
    resolved_.append(run, at_);
    if (is_long(static_cast<std::ptrdiff_t>(resolved_.size()))) return fail_long();
  }
}

bool JsonTokens::resolve_escape() {
  if (at_end()) return false;
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  const char c = *at_++;
  if (c == 'u') return resolve_unicode();
  const std::size_t i = kEscapes.find(c);
  if (i == std::string_view::npos) return false;
  resolved_ += kMeant[i];
  return true;
}

// A surrogate without its pair becomes "?", as does all text that is not UTF-8.
bool JsonTokens::resolve_unicode() {
  const auto is_high = [](unsigned code) { return code >= 0xD800 && code < 0xDC00; };
  const auto is_low = [](unsigned code) { return code >= 0xDC00 && code < 0xE000; };
  unsigned code = 0;
  if (!hex(code)) return false;
  while (is_high(code)) {
    if (at_end() || *at_ != '\\') {
      resolved_ += '?';
      return true;
    }
    ++at_;
    if (at_end()) return false;
    if (*at_ != 'u') {
      resolved_ += '?';
      return resolve_escape();
    }
    ++at_;
    unsigned low = 0;
    if (!hex(low)) return false;
    if (is_low(low)) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      break;
    }
    resolved_ += '?';
    code = low;
  }
  if (is_low(code))
    resolved_ += '?';
  else
    append_utf8(code, resolved_);
  return true;
}

bool JsonTokens::hex(unsigned& code) {
  for (int i = 0; i < 4; ++i) {
    if (at_end()) return false;
    const char c = *at_++;
    const char letter = static_cast<char>(c | 0x20);
    if (is_digit(c))
      code = code << 4 | static_cast<unsigned>(c - '0');
    else if (letter >= 'a' && letter <= 'f')
      code = code << 4 | static_cast<unsigned>(letter - 'a' + 10);
    else
      return false;
  }
  return true;
}

JsonTokens::Token JsonTokens::unquoted() {
  const char* first = at_;
  do {
    at_ = run_end<true>(at_, kOfWord);
    if (is_long(at_ - first)) return fail_long();
  } while (at_ == end_ && more(first));
  text_ = {first, at_};
  if (text_.empty()) return fail("no value");
  if (is_digit(*first) || *first == '-') {
    if (is_number(text_)) return complete(Token::Number);
  } else if (text_ == "true" || text_ == "false" || text_ == "null") {
    return complete(Token::Word);
  } else if (text_ == "NaN" || text_ == "Infinity" || text_ == "Inf") {
    return complete(Token::Number);
  }
  return fail("neither a number nor a word of JSON");
}

}  // namespace trainyard
