#include "core/base/csv.h"

#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source, int line)
      : text_(text), source_(source), line_(line) {
    if (line == 1 && text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }
  int line() const { return line_; }

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
  int line_;
};

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& source) {
  return CsvReader(text, source, 1).run();
}

void CsvRecords::feed(std::string_view block) {
  for (std::size_t from = 0; from < block.size();) {
    std::size_t at = from;
    bool ends = false;
    for (; at < block.size() && !ends; ++at) {
      const char c = block[at];
      if (in_ == In::Quoted)
        in_ = c == '"' ? In::Closed : In::Quoted;
      else if (c == '"' && in_ != In::Plain)
        in_ = In::Quoted;  // a field begins, or a doubled quote goes on
      else if (ends = c == '\n'; ends || c == ',')
        in_ = In::Begin;
      else if (line_ > 1 || text_.size() + at - from >= kByteOrderMark.size() ||
               kByteOrderMark.find(c) == std::string_view::npos)
        in_ = In::Plain;
    }
    text_.append(block, from, at - from);
    if (text_.size() > longest_)
      throw Error(
          Error::Kind::InvalidInput,
          "expected a row of at most " + std::to_string(longest_) + " bytes, found a longer one",
          {source_ + ":" + std::to_string(line_)});
    if (ends) record();
    from = at;
  }
}

void CsvRecords::record() {
  CsvReader reader(text_, source_, line_);
  for (const CsvRecord& record : reader.run()) take_(record);
  line_ = reader.line();
  text_.clear();
}

void CsvRecords::finish() {
  if (!text_.empty()) record();
}

}  // namespace trainyard
