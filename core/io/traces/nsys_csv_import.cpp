#include "core/io/traces/nsys_csv_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/bytes/byte_source.h"
#include "core/io/bytes/csv_rows.h"
#include "core/io/bytes/decimal_time.h"
#include "core/io/traces/trace_builder.h"

namespace trainyard {
namespace {

constexpr const char* kReports =
    "nsys stats --format csv --report nvtx_pushpop_trace (or nvtx_gpu_proj_trace, cuda_gpu_trace)";

constexpr std::size_t kTitleShown = 40;  // most bytes of a head's cell shown in a message

enum class NsysColumn : std::uint8_t {
  Start,
  Duration,
  End,
  Name,
  Process,
  Thread,
  Device,
  Context,
  Stream,
  Correlation,
  GridX,
  GridY,
  GridZ,
  BlockX,
  BlockY,
  BlockZ,
};
constexpr std::size_t kNsysColumns = static_cast<std::size_t>(NsysColumn::BlockZ) + 1;

// A Title is a head's words in lower case and its unit: "start" and "us" for "Start (us)".
struct Title {
  std::string words;
  std::string unit;
};

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

Title title_of(std::string_view cell) {
  const std::string text = in_lower_case(cell);
  const std::size_t mark = text.find_first_of("(:");
  if (mark == std::string::npos || mark == 0) return {text, ""};
  std::string words = text.substr(0, mark), unit = text.substr(mark + 1);
  while (!words.empty() && words.back() == ' ') words.pop_back();
  // The unit may also be written as in the reports' internal names "ts_ns" and "dur_ns".
  if (text[mark] == ':') return {words, unit.substr(unit.rfind('_') + 1)};
  return {words, unit.substr(0, unit.find(')'))};
}

std::optional<std::int64_t> unit_of(const std::string& word) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ns", 1},         {"nsec", 1},         {"us", 1000},         {"usec", 1000},
      {"\u00b5s", 1000},  // the micro sign
      {"\u03bcs", 1000},  // the Greek letter
      {"ms", 1'000'000}, {"msec", 1'000'000}, {"s", 1'000'000'000}, {"sec", 1'000'000'000}};
  for (const auto& [name, unit] : kUnits)
    if (name == word) return unit;
  return {};
}

std::optional<NsysColumn> column_of(const std::string& words, bool projected) {
  if (projected) {
    if (words == "projected start") return NsysColumn::Start;
    if (words == "projected duration") return NsysColumn::Duration;
    if (words == "start" || words == "duration" || words == "dur" || words == "end") return {};
  }
  constexpr std::pair<std::string_view, NsysColumn> kWords[] = {
      {"start", NsysColumn::Start},   {"duration", NsysColumn::Duration},
      {"dur", NsysColumn::Duration},  {"end", NsysColumn::End},
      {"name", NsysColumn::Name},     {"pid", NsysColumn::Process},
      {"tid", NsysColumn::Thread},    {"device", NsysColumn::Device},
      {"ctx", NsysColumn::Context},   {"strm", NsysColumn::Stream},
      {"stream", NsysColumn::Stream}, {"corrid", NsysColumn::Correlation},
      {"grdx", NsysColumn::GridX},    {"grdy", NsysColumn::GridY},
      {"grdz", NsysColumn::GridZ},    {"blkx", NsysColumn::BlockX},
      {"blky", NsysColumn::BlockY},   {"blkz", NsysColumn::BlockZ},
  };
  for (const auto& [name, column] : kWords)
    if (name == words) return column;
  return {};
}

// A ReportHead is a report's head: the position of each column and the unit of its times.
struct ReportHead {
  struct Place {
    std::optional<std::size_t> cell;
    std::string title;      // as written
    std::int64_t unit = 0;  // unit of a time, in ns
  };
  std::array<Place, kNsysColumns> places;
  std::size_t cells = 0;
  bool projected = false;
  std::string lacks;  // why the report cannot be read; empty where it can

  const Place& at(NsysColumn column) const { return places[static_cast<std::size_t>(column)]; }
  bool has(NsysColumn column) const { return at(column).cell.has_value(); }
  bool of_device() const { return has(NsysColumn::Stream) && !has(NsysColumn::Thread); }
};

std::string lack_of(const ReportHead& head) {
  if (!head.has(NsysColumn::Name)) return "expected a column Name, found none";
  if (!head.has(NsysColumn::Duration) && !head.has(NsysColumn::End))
    return "expected a column Duration (ns) or End (ns), found neither";
  for (const NsysColumn column : {NsysColumn::Start, NsysColumn::Duration, NsysColumn::End})
    if (head.has(column) && head.at(column).unit == 0)
      return fmt::format(
          "expected the unit of \"{0}\" in its head, as {0} (ns); units are ns, us, "
          "ms and s",
          head.at(column).title);
  if (!head.has(NsysColumn::Stream) &&
      !(head.has(NsysColumn::Process) && head.has(NsysColumn::Thread)))
    return "expected columns PID and TID, or Device and Strm, found neither";
  return "";
}

// Returns nothing where the row is no head of a report.
std::optional<ReportHead> head_of(const CsvRows& row) {
  ReportHead head;
  std::vector<Title> titles;
  for (std::size_t i = 0; i < row.size(); ++i) titles.push_back(title_of(row[i]));
  for (const Title& title : titles) head.projected |= title.words == "projected start";
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const auto column = column_of(titles[i].words, head.projected);
    if (!column || head.has(*column)) continue;
    ReportHead::Place& place = head.places[static_cast<std::size_t>(*column)];
    place.cell = i;
    place.title = clean_text(row[i].substr(0, kTitleShown));
    place.unit = unit_of(titles[i].unit).value_or(0);
  }
  const bool named =
      head.has(NsysColumn::Name) || head.has(NsysColumn::Duration) || head.has(NsysColumn::End);
  if (!head.has(NsysColumn::Start) || !named) return {};
  head.cells = row.size();
  while (head.cells > 0 && row[head.cells - 1].empty()) --head.cells;
  head.lacks = lack_of(head);
  return head;
}

class NsysReader {
 public:
  NsysReader(ByteSource& bytes, const std::string& source, const TraceImportOptions& options,
             TraceBuilder& builder)
      : rows_(bytes, source, options), source_(source), builder_(builder) {}

  /// Reads everything and returns the number of bytes.
  Bytes read() {
    while (rows_.next()) take_row();
    if (!found_) refuse(0, 0, no_report());
    if (shown_ == 0)
      refuse(first_bad_line_, first_bad_cell_,
             first_bad_.empty() ? "expected rows below the head, found none" : first_bad_);
    return Bytes{static_cast<std::int64_t>(rows_.bytes_read())};
  }

 private:
  [[noreturn]] void refuse(std::uint64_t line, std::size_t cell,
                           const std::string& sentence) const {
    std::string place = source_;
    if (line > 0) place += fmt::format(":{}", line);
    if (cell > 0) place += fmt::format(":{}", cell);
    throw Error(Error::Kind::InvalidInput, sentence, {place});
  }

  std::string no_report() const {
    return summary_line_ > 0
               ? fmt::format(
                     "expected a trace with a column Start (ns), as {} writes it; found a "
                     "summary in line {}, which has no times of its own",
                     kReports, summary_line_)
               : fmt::format(
                     "expected a head with Start (ns), Duration (ns) and Name, as {} "
                     "writes it; found none",
                     kReports);
  }

  void take_row() {
    if (rows_.blank()) return leave();
    if (head_ && rows_.size() >= head_->cells && time(NsysColumn::Start)) return take_span();
    if (auto head = head_of(rows_)) {
      if (!head->lacks.empty()) refuse(rows_.line(), 0, head->lacks);
      if (!found_) first_bad_line_ = rows_.line();
      found_ = true;
      head_ = std::move(head);
      return;
    }
    if (rows_[0].starts_with("Time (%)") || rows_[0].starts_with("Time(%)")) {
      if (summary_line_ == 0) summary_line_ = rows_.line();
      return leave();
    }
    if (is_prose()) return leave();
    if (head_) take_span();
  }

  // Ends the current report: at a blank line or at a message that nsys prints between reports.
  void leave() { head_.reset(); }
  bool is_prose() const {
    if (rows_.size() == 1) return rows_[0].front() < '0' || rows_[0].front() > '9';
    constexpr std::string_view kBegins[] = {
        "Processing ", "Generating ", "NOTICE:", "WARNING:", "ERROR:", "SKIPPED:", " ** "};
    return std::any_of(std::begin(kBegins), std::end(kBegins),
                       [&](std::string_view begin) { return rows_[0].starts_with(begin); });
  }

  std::string_view cell(NsysColumn column) const {
    const auto& place = head_->at(column);
    return place.cell ? rows_[*place.cell] : std::string_view();
  }
  std::optional<std::int64_t> time(NsysColumn column) const {
    return head_->has(column) ? nanoseconds_of(cell(column), head_->at(column).unit) : std::nullopt;
  }

  // column is the cell that is wrong.
  void defect(std::optional<NsysColumn> column, const std::string& expected,
              const std::string& found) {
    const std::size_t at = column && head_->has(*column) ? *head_->at(*column).cell + 1 : 0;
    if (first_bad_.empty()) {
      first_bad_line_ = rows_.line(), first_bad_cell_ = at;
      first_bad_ = fmt::format("expected {}, found {}", expected, found);
    }
    if (builder_.repeats(expected, found)) return;
    builder_.defect({expected, found, rows_.line(), rows_.offset(), 1, "the row is left out"});
  }
  void bad_time(NsysColumn column) {
    const auto& place = head_->at(column);
    defect(column, fmt::format("a number from 0 on as {}", place.title),
           cell(column).empty() ? "none" : "another text");
  }

  void take_span() {
    const ReportHead& head = *head_;
    // In projected reports a row without a name is no range but nsys's sum over a thread's ranges.
    if (head.projected && cell(NsysColumn::Name).empty()) return;
    ++builder_.events;
    if (rows_.size() < head.cells)
      return defect({}, fmt::format("{} cells, as the head has", head.cells), "fewer");
    const auto start = time(NsysColumn::Start);
    if (!start) return bad_time(NsysColumn::Start);
    const NsysColumn until =
        head.has(NsysColumn::Duration) ? NsysColumn::Duration : NsysColumn::End;
    const auto given = time(until);
    if (!given || *given < 0) return bad_time(until);
    const std::int64_t end = until == NsysColumn::End ? *given : *start + *given;
    if (*start < -kFarthestTime || end > kFarthestTime || end < *start)
      return defect(until, "an end behind the start and within 73 years", "another");
    TraceSpan span{*start, end, builder_.name(name())};
    if (!cell(NsysColumn::GridX).empty())
      span.sizes = builder_.name(
          grid_words(list_of_cells(NsysColumn::GridX, NsysColumn::GridY, NsysColumn::GridZ),
                     list_of_cells(NsysColumn::BlockX, NsysColumn::BlockY, NsysColumn::BlockZ)));
    add(span);
    ++shown_;
  }

  std::string list_of_cells(NsysColumn x, NsysColumn y, NsysColumn z) const {
    return fmt::format("[{},{},{}]", cell(x), cell(y), cell(z));
  }

  // A range in the default domain is called ":forward"; the colon is removed.
  std::string_view name() const {
    std::string_view text = cell(NsysColumn::Name);
    if (text.size() > 1 && text.front() == ':' && !head_->of_device()) text.remove_prefix(1);
    return text;
  }

  void add(TraceSpan span) {
    const auto correlation = number_of<std::int64_t>(cell(NsysColumn::Correlation));
    if (correlation && *correlation > 0 && *correlation < std::int64_t{kNoCorrelation}) {
      span.correlation = static_cast<std::uint32_t>(*correlation);
      span.launches = !head_->of_device();
    }
    if (head_->of_device())
      span.kind = cell(NsysColumn::Name).starts_with("[CUDA mem")
                      ? RecordedKind::Transfer
                      : kind_of_kernel(cell(NsysColumn::Name));
    builder_.add(thread(), span);
  }

  std::uint32_t thread() {
    if (head_->of_device()) return stream();
    const std::uint32_t thread =
        builder_.thread(cell(NsysColumn::Process), cell(NsysColumn::Thread), head_->projected);
    if (head_->projected)
      builder_.name_thread(thread,
                           fmt::format("thread {} on the device", cell(NsysColumn::Thread)));
    return thread;
  }

  // Streams with one number in several contexts, and so in several processes, are distinct.
  std::uint32_t stream() {
    const std::string_view device = cell(NsysColumn::Device), context = cell(NsysColumn::Context);
    std::string id(cell(NsysColumn::Stream));
    if (!context.empty() && context != "1") id += fmt::format(" of context {}", context);
    const std::string process = device.empty() ? "GPU" : std::string(device);
    const std::uint32_t thread = builder_.thread(process, id);
    builder_.on_device(thread);
    builder_.name_process(builder_.process(process), process);
    if (builder_.device.empty()) builder_.device = device.substr(0, device.rfind(" ("));
    return thread;
  }

  CsvRows rows_;
  std::string source_;
  TraceBuilder& builder_;
  std::optional<ReportHead> head_;  // of the current report
  bool found_ = false;              // whether any head was found
  std::uint64_t shown_ = 0, summary_line_ = 0, first_bad_line_ = 0;
  std::size_t first_bad_cell_ = 0;
  std::string first_bad_;
};

RecordedTrace read_reports(ByteSource& bytes, const std::string& source,
                           const TraceImportOptions& options) {
  TraceBuilder builder(options);
  NsysReader(bytes, source, options, builder).read();
  return builder.finish(source, options.stop);
}

TraceExtent measure_reports(ByteSource& bytes, const std::string& source,
                            const TraceImportOptions& options) {
  TraceBuilder builder = TraceBuilder::of_extent();
  const Bytes text = NsysReader(bytes, source, options, builder).read();
  return builder.extent(text);
}

}  // namespace

bool is_nsys_csv(std::string_view head) {
  const auto bytes = text_bytes(head);
  const TraceImportOptions none;
  try {
    CsvRows rows(*bytes, "", none);
    while (rows.next())
      if (const auto found = head_of(rows); found && found->lacks.empty()) return true;
  } catch (const Error&) {
    return false;  // a row is too long
  }
  return false;
}

RecordedTrace import_nsys_csv(const std::string& path, const TraceImportOptions& options) {
  const auto bytes = file_bytes(path);
  return read_reports(*bytes, path, options);
}

RecordedTrace parse_nsys_csv(std::string_view text, const std::string& source,
                             const TraceImportOptions& options) {
  const auto bytes = text_bytes(text);
  return read_reports(*bytes, source, options);
}

TraceExtent nsys_csv_extent(const std::string& path, const TraceImportOptions& options) {
  const auto bytes = file_bytes(path);
  return measure_reports(*bytes, path, options);
}

TraceExtent parse_nsys_csv_extent(std::string_view text, const std::string& source,
                                  const TraceImportOptions& options) {
  const auto bytes = text_bytes(text);
  return measure_reports(*bytes, source, options);
}

}  // namespace trainyard
