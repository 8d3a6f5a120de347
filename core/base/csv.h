// This file reads comma-separated values as RFC 4180 defines them: fields may be quoted, and a
// quoted field may hold commas, line breaks and doubled quotes. Lines end with LF or CRLF; a byte
// order mark is skipped.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

struct CsvRecord {
  int line = 0;  // the line on which it begins, from 1
  std::vector<std::string> fields;
};

/// Empty lines are left out. Throws Error{InvalidInput} at "SOURCE:LINE" for a quote that is never
/// closed, and for a closing quote that is followed by anything but a comma or the end of the line.
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& source);

/// CsvRecords reads the same from blocks of a text, front to back, and holds one record of it.
class CsvRecords {
 public:
  using Take = std::function<void(const CsvRecord&)>;

  /// Calls take for each record. Throws as parse_csv() does, and for a record of more bytes than
  /// `longest`.
  CsvRecords(std::string source, std::size_t longest, Take take)
      : source_(std::move(source)), longest_(longest), take_(std::move(take)) {}
  void feed(std::string_view block);
  /// The text has ended.
  void finish();

 private:
  enum class In : unsigned char { Begin, Plain, Quoted, Closed };  // of a field
  void record();

  std::string source_;
  std::size_t longest_;
  Take take_;
  std::string text_;  // of the record so far
  In in_ = In::Begin;
  int line_ = 1;
};

}  // namespace trainyard
