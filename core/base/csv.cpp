#include "core/base/csv.h"

#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source) : text_(text), source_(source) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  std::vector<CsvRecord> run() {
    std::vector<CsvRecord> records;
    while (at_ < text_.size()) {
      CsvRecord record{line_, {}};
      do record.fields.push_back(field());
      while (take(','));
      end_of_line();
      if (record.fields.size() > 1 || !record.fields.front().empty())
        records.push_back(std::move(record));
    }
    return records;
  }

 private:
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void end_of_line() {
    take('\r');
    if (at_ == text_.size()) return;
    if (!take('\n'))
      refuse(line_, "expected a comma or the end of the line behind a quoted field, found \"" +
                        std::string(1, text_[at_]) + "\"");
    ++line_;
  }

  std::string field() {
    if (take('"')) return quoted();
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && !crlf()) ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  bool crlf() const {
    return text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n');
  }

  std::string quoted() {
    const int begun = line_;
    std::string value;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return value;
      if (c == '\n') ++line_;
      value += c;
    }
    refuse(begun, "expected the quote of a field to be closed, found the end of the file");
  }

  [[noreturn]] void refuse(int line, const std::string& message) const {
    throw Error(Error::Kind::InvalidInput, message, {source_ + ":" + std::to_string(line)});
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& source) {
  return CsvReader(text, source).run();
}

}  // namespace trainyard
