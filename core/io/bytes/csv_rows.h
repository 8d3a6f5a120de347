// CsvRows reads rows of comma-separated values (RFC 4180: quotes around cells, doubled within them)
// from front to back. It holds only a block of the file and one row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/bytes/byte_source.h"
#include "core/io/bytes/trace_import_options.h"

namespace trainyard {

class CsvRows {
 public:
  /// Source and options must outlive it. source is the file's name, for messages.
  CsvRows(ByteSource&, std::string source, const TraceImportOptions&);

  /// Goes to the next row; returns false where there is none. Throws Error{InvalidInput} for a row
  /// that is longer than its limit (limits.h), Error{Cancelled} when stopped, and whatever the
  /// source throws.
  bool next();

  std::size_t size() const { return ends_.size(); }
  /// Returns the i-th cell without its quotes; empty after the last cell. The result is valid until
  /// the next row.
  std::string_view operator[](std::size_t i) const;
  bool blank() const { return text_.empty() && ends_.size() <= 1; }
  std::uint64_t line() const { return row_line_; }      // line of its first cell, from 1
  std::uint64_t offset() const { return row_offset_; }  // bytes before it in the unpacked text
  std::uint64_t bytes_read() const { return before_ + at_; }

 private:
  bool refill();
  bool more() { return at_ < block_end_ || refill(); }
  void check_size() const;

  ByteSource& bytes_;
  std::string source_;
  const TraceImportOptions& options_;
  std::vector<char> block_;
  std::size_t at_ = 0, block_end_ = 0;
  std::uint64_t before_ = 0;  // bytes before the block
  std::uint64_t line_ = 1, row_line_ = 1, row_offset_ = 0;
  std::string text_;               // all cells of the row
  std::vector<std::size_t> ends_;  // end of each cell in it
};

}  // namespace trainyard
