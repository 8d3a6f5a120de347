// A JSON document as a row of tokens, read once from front to back: a block of it, or the longest
// text in it if that is longer, is all the memory that it takes. For documents of gigabytes; those
// that are looked at as a whole are json.h's.
//
// Of our own because nlohmann-json and the RapidJSON that is packaged (of 2016) read traces at less
// than the 100 MB/s that a person who opens one of a gigabyte is promised: 95 to 111 MB/s with the
// latter, 146 to 169 with this on the same machine.
//
// Beyond the standard, NaN and Infinity are numbers and a comma may stand behind the last entry, as
// other writers have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/bytes/byte_source.h"
#include "core/io/bytes/trace_import_options.h"

namespace trainyard {

/// Lists and objects in each other; more are refused.
inline constexpr std::size_t kDeepestTokens = 200;

class JsonTokens {
 public:
  enum class Token : std::uint8_t {
    ObjectBegin,
    ObjectEnd,
    ListBegin,
    ListEnd,
    Key,
    Text,
    Number,
    Word,  // true, false, null
    End,   // of the document, or of what can be read of it
  };

  /// Both must outlive it. Of the options, those that stop and tell progress are heeded.
  JsonTokens(ByteSource&, const TraceImportOptions&);

  /// Throws Error{Cancelled}, and as the source does.
  Token next();
  /// Of a Key or Text, with its escapes resolved, of a Number as it is written, of a Word. Until
  /// the next token.
  std::string_view text() const { return text_; }
  /// Passes over the rest of a value that began with the token.
  void pass(Token);

  /// What was found where JSON could not be followed: "no colon behind a key". Empty while it can.
  const std::string& fault() const { return fault_; }
  bool is_too_deep() const { return too_deep_; }
  /// Whether it could not be followed because it ends.
  bool is_cut_short() const { return cut_short_; }
  /// Where it has come to: from 1, and in bytes.
  std::uint64_t line() const { return line_; }
  std::size_t offset() const { return before_ + static_cast<std::size_t>(at_ - block_.data()); }

 private:
  // What may come next: the first entry of an object or a list, or one behind a comma; a comma.
  enum class Next : std::uint8_t { Value, Entry, Colon, Comma, Nothing };

  Token value();
  Token entry();
  Token opened(Token);
  Token closed();
  Token complete(Token);
  Token quoted(Token);
  Token unquoted();
  Token resolved(const char* first, Token);
  bool resolve_escape();
  bool resolve_unicode();
  bool hex(unsigned& code);
  Token fail(const char* found);
  void skip_space();
  bool more(const char*& kept);
  bool at_end() { return at_ == end_ && !more(at_); }

  ByteSource& bytes_;
  const TraceImportOptions& options_;
  std::vector<char> block_;
  const char *at_ = nullptr, *end_ = nullptr;  // *end_ is a zero
  std::size_t before_ = 0;                     // bytes, of the block
  std::uint64_t line_ = 1;
  std::string open_;  // brackets, outermost first
  Next next_ = Next::Value;
  std::string_view text_;
  std::string resolved_, fault_;
  bool ended_ = false, cut_short_ = false, too_deep_ = false;
};

}  // namespace trainyard
