// This file reads comma-separated values as RFC 4180 defines them: fields may be quoted, and a
// quoted field may hold commas, line breaks and doubled quotes. Lines end with LF or CRLF; a byte
// order mark is skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct CsvRecord {
  int line = 0;  // the line on which it begins, from 1
  std::vector<std::string> fields;
};

/// Empty lines are left out. Throws Error{InvalidInput} at "SOURCE:LINE" for a quote that is never
/// closed, and for a closing quote that is followed by anything but a comma or the end of the line.
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& source);

}  // namespace trainyard
