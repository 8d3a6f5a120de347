// JsonTokens gives a JSON document as a sequence of tokens, read once from front to back. It holds
// only a block of the document and one text, neither longer than its limit (bytes/limits.h). It is
// for documents of gigabytes; json.h is for documents that are needed as a whole.
//
// This is our own reader because nlohmann-json and the packaged RapidJSON (of 2016) do not safely
// reach the 100 MB/s at which Trainyard promises to open a trace of a gigabyte: RapidJSON reads 95
// to 111 MB/s, this reader 146 to 169 on the same machine.
//
// Beyond the standard, NaN and Infinity are accepted as numbers and a comma is allowed after the
// last entry, because other writers produce both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/bytes/byte_source.h"
#include "core/io/bytes/trace_import_options.h"

namespace trainyard {

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
    End,   // end of the document, or of the part that can be read
  };

  /// Both must outlive it. Of the options, only stop and progress are used.
  JsonTokens(ByteSource&, const TraceImportOptions&);

  /// Throws Error{Cancelled}, and whatever the source throws.
  Token next();
  /// Returns the text of a Key or Text with escapes resolved, of a Number as written, or of a Word.
  /// It is valid until the next token.
  std::string_view text() const { return text_; }
  /// Skips the rest of a value that began with the token.
  void pass(Token);

  /// Returns what was found where the text is not JSON: "no colon behind a key". Empty while all is
  /// well.
  const std::string& fault() const { return fault_; }
  bool is_too_deep() const { return too_deep_; }
  /// Returns whether reading failed because the text ends early.
  bool is_cut_short() const { return cut_short_; }
  /// These give the current position: line from 1, and offset in bytes.
  std::uint64_t line() const { return line_; }
  std::size_t offset() const { return before_ + static_cast<std::size_t>(at_ - block_.data()); }

 private:
  // What may come next: the first entry of an object or a list, an entry after a comma, or a comma.
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
  Token fail_long();
  static bool is_long(std::ptrdiff_t size);
  void skip_space();
  bool more(const char*& kept);
  bool at_end() { return at_ == end_ && !more(at_); }

  ByteSource& bytes_;
  const TraceImportOptions& options_;
  std::vector<char> block_;
  const char *at_ = nullptr, *end_ = nullptr;  // *end_ is a zero byte
  std::size_t before_ = 0;                     // bytes before the block
  std::uint64_t line_ = 1;
  std::string open_;  // open brackets, outermost first
  Next next_ = Next::Value;
  std::string_view text_;
  std::string resolved_, fault_;
  bool ended_ = false, cut_short_ = false, too_deep_ = false;
};

}  // namespace trainyard
