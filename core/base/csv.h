// Comma-separated values as RFC 4180 has them: fields may be quoted, a quoted field may hold
// commas, line breaks and doubled quotes. Lines end with LF or CRLF; a byte order mark is skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct CsvRecord {
  int line = 0;  // on which it begins, from 1
  std::vector<std::string> fields;
};

/// Lines without anything on them are left out. Throws Error{InvalidInput} at "SOURCE:LINE" for a
/// quote that is never closed, or that something stands behind.
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& source);

}  // namespace trainyard
