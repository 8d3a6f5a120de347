#include "core/io/bytes/csv_rows.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.h"
#include "core/io/bytes/limits.h"

namespace trainyard {
namespace {

constexpr std::size_t kCsvBlock = std::size_t{1} << 18;

bool ordinary(char c) { return c != ',' && c != '"' && c != '\n' && c != '\r'; }

}  // namespace

CsvRows::CsvRows(ByteSource& bytes, std::string source, const TraceImportOptions& options)
    : bytes_(bytes), source_(std::move(source)), options_(options), block_(kCsvBlock) {
  // A byte order mark has no meaning in UTF-8 and is skipped.
  for (const char mark : {'\xEF', '\xBB', '\xBF'})
    if (more() && block_[at_] == mark) ++at_;
}

std::string_view CsvRows::operator[](std::size_t i) const {
  if (i >= ends_.size()) return {};
  const std::size_t from = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(from, ends_[i] - from);
}

bool CsvRows::refill() {
  if (options_.stop.stop_requested())
    throw Error(Error::Kind::Cancelled, "the import was cancelled");
  before_ += block_end_;
  at_ = 0;
  block_end_ = bytes_.read(block_.data(), block_.size());
  if (options_.progress) options_.progress(bytes_.share());
  return block_end_ > 0;
}

void CsvRows::check_size() const {
  if (text_.size() > static_cast<std::size_t>(kLongestText.value) || ends_.size() >= kMostCells)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a row of at most {} bytes and {} cells, found a longer one",
                            kLongestText.value, kMostCells),
                {fmt::format("{}:{}", source_, row_line_)});
}

bool CsvRows::next() {
  text_.clear();
  ends_.clear();
  if (!more()) return false;
  row_line_ = line_;
  row_offset_ = before_ + at_;
  bool quoted = false, begins = true;
  while (more()) {
    const char c = block_[at_++];
    if (quoted) {
      line_ += c == '\n' ? 1 : 0;
      if (c != '"') {
        text_ += c;
      } else if (more() && block_[at_] == '"') {
        text_ += '"';
        ++at_;
      } else {
        quoted = false;
      }
    } else if (c == '"' && begins) {
      quoted = true;
      begins = false;
    } else if (c == ',') {
      ends_.push_back(text_.size());
      begins = true;
    } else if (c == '\n') {
      ++line_;
      break;
    } else if (c != '\r') {
      const std::size_t first = at_ - 1;
      while (at_ < block_end_ && ordinary(block_[at_])) ++at_;
      text_.append(block_.data() + first, at_ - first);
      begins = false;
    }
    check_size();
  }
  ends_.push_back(text_.size());
  return true;
}

}  // namespace trainyard
