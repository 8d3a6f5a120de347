#include "core/io/documents/arena_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/trimmed.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostArenaBytes = std::int64_t{1} << 62;
constexpr std::size_t kMostRows = 1'000'000;

enum ArenaColumn : std::size_t { IdColumn, LowerColumn, UpperColumn, SizeColumn, OffsetColumn };
constexpr std::size_t kColumns = OffsetColumn + 1;
constexpr std::array<std::string_view, kColumns> kColumnNames = {"id", "lower", "upper", "size",
                                                                 "offset"};
struct Name {
  std::string_view name;
  ArenaColumn column;
};
constexpr std::array kNames = {Name{"id", IdColumn},        Name{"buffer", IdColumn},
                               Name{"buffer_id", IdColumn}, Name{"lower", LowerColumn},
                               Name{"start", LowerColumn},  Name{"begin", LowerColumn},
                               Name{"upper", UpperColumn},  Name{"end", UpperColumn},
                               Name{"size", SizeColumn},    Name{"offset", OffsetColumn}};
constexpr std::array<std::string_view, 3> kUnsupported = {"alignment", "gaps", "hint"};

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (bool more = true; more;) {
    const std::size_t comma = line.find(',');
    more = comma != std::string_view::npos;
    cells.push_back(trimmed(line.substr(0, comma)));
    if (more) line.remove_prefix(comma + 1);
  }
  return cells;
}

class ArenaReader {
 public:
  ArenaReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  ArenaCsv run() {
    if (!next_line()) refuse("expected a header id,lower,upper,size, found nothing");
    read_header();
    while (next_line()) read_row();
    return std::move(csv_);
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(Error::Kind::InvalidInput, message,
                {fmt::format("{}:{}", source_, std::max(line_number_, 1))});
  }

  // Empty lines at the end of the text are ignored.
  bool next_line() {
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos) return false;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    line_ = text_.substr(0, end);
    text_.remove_prefix(std::min(text_.size(), end + 1));
    ++line_number_;
    return true;
  }

  void read_header() {
    const std::vector<std::string_view> cells = cells_of(line_);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const ArenaColumn column = column_named(cells[i]);
      if (at_[column])
        refuse(fmt::format("expected one column of {}, found \"{}\" and \"{}\"",
                           kColumnNames[column], cells[*at_[column]], cells[i]));
      at_[column] = i;
      if (cells[i] == "end") csv_.inclusive = true;
    }
    for (const ArenaColumn column : {IdColumn, LowerColumn, UpperColumn, SizeColumn})
      if (!at_[column])
        refuse(fmt::format("expected a column {}, found \"{}\"", kColumnNames[column],
                           trimmed(line_)));
    columns_ = cells.size();
  }

  ArenaColumn column_named(std::string_view name) const {
    for (const Name& known : kNames)
      if (known.name == name) return known.column;
    std::vector<std::string_view> names;
    for (const Name& known : kNames) names.push_back(known.name);
    for (const std::string_view other : kUnsupported)
      if (other == name)
        refuse(
            fmt::format("a column {} is not supported; expected id, lower, upper, size and "
                        "perhaps offset",
                        name));
    refuse(fmt::format("no column is called \"{}\"{}", name, did_you_mean(name, names)));
  }

  void read_row() {
    const std::vector<std::string_view> cells = cells_of(line_);
    if (csv_.lives.size() == kMostRows) refuse(fmt::format("expected at most {} rows", kMostRows));
    if (cells.size() != columns_)
      refuse(fmt::format("expected {} cells, found {}", columns_, cells.size()));
    const std::string id(cells[*at_[IdColumn]]);
    if (id.empty()) refuse("expected an id, found nothing");
    if (!known_.insert(id).second)
      refuse(fmt::format("expected each id once, found \"{}\" again", id));
    Lifetime life{number(cells, LowerColumn), number(cells, UpperColumn),
                  Bytes{number(cells, SizeColumn)}};
    if (life.bytes < Bytes{}) refuse(fmt::format("expected a size, found {}", life.bytes.value));
    if (csv_.inclusive) ++life.to;
    if (life.to < life.from)
      refuse(fmt::format("expected an {} from {} on, found {}", csv_.inclusive ? "end" : "upper",
                         life.from, cells[*at_[UpperColumn]]));
    if (life.bytes.value >= kMostArenaBytes - sum_)
      refuse("expected sizes that sum up to less than 2^62");
    sum_ += life.bytes.value;
    csv_.ids.push_back(id);
    csv_.lives.push_back(life);
    if (!at_[OffsetColumn]) return;
    csv_.offsets.push_back(Bytes{number(cells, OffsetColumn)});
    if (csv_.offsets.back() < Bytes{})
      refuse(fmt::format("expected an offset, found {}", csv_.offsets.back().value));
  }

  std::int64_t number(const std::vector<std::string_view>& cells, ArenaColumn column) const {
    const std::string_view cell = cells[*at_[column]];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size())
      refuse(
          fmt::format("expected a whole number as {}, found \"{}\"", kColumnNames[column], cell));
    if (value >= kMostArenaBytes || value <= -kMostArenaBytes)
      refuse(fmt::format("expected a {} of less than 2^62, found {}", kColumnNames[column], cell));
    return value;
  }

  std::string_view text_, line_;
  const std::string& source_;
  int line_number_ = 0;
  std::size_t columns_ = 0;
  std::array<std::optional<std::size_t>, kColumns> at_{};
  std::set<std::string> known_;
  std::int64_t sum_ = 0;
  ArenaCsv csv_;
};

}  // namespace

ArenaCsv parse_arena_csv(std::string_view text, const std::string& source) {
  return ArenaReader(text, source).run();
}

std::string arena_csv(const ArenaCsv& csv, std::span<const Bytes> offsets) {
  std::string text = csv.inclusive ? "id,start,end,size,offset\n" : "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < csv.lives.size(); ++i) {
    const Lifetime& life = csv.lives[i];
    text += fmt::format("{},{},{},{},{}\n", csv.ids[i], life.from,
                        csv.inclusive ? life.to - 1 : life.to, life.bytes.value, offsets[i].value);
  }
  return text;
}

}  // namespace trainyard
