#include "visualizers/chart/table.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/units_text.h"
#include "core/result/figures.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

double number_of(const DataCell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? 0 : *number;
}

std::int64_t whole_of(const DataCell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  constexpr double kLargest = 9.2e18;
  const double number = number_of(cell);
  return std::isfinite(number) && std::fabs(number) < kLargest ? std::llround(number) : 0;
}

// Nanoseconds as seconds, no digit lost: "1.000000002", "0.5".
std::string seconds_text(std::int64_t ns) {
  const bool negative = ns < 0;
  const std::uint64_t size =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  std::string text = (negative ? "-" : "") + std::to_string(size / kSecond);
  std::string part = std::to_string(size % kSecond);
  part.insert(0, 9 - part.size(), '0');
  while (!part.empty() && part.back() == '0') part.pop_back();
  return part.empty() ? text : text + "." + part;
}

std::string_view file_unit(DataUnit unit) {
  switch (unit) {
    case DataUnit::Time:
    case DataUnit::StepTime:
      return "s";
    case DataUnit::ByteCount:
      return "B";
    case DataUnit::Bandwidth:
      return "B/s";
    case DataUnit::FlopCount:
      return "FLOP";
    case DataUnit::Throughput:
      return "FLOP/s";
    case DataUnit::Intensity:
      return "FLOP/B";
    case DataUnit::Energy:
      return "J";
    case DataUnit::Power:
      return "W";
    case DataUnit::Money:
      return "US$";
    case DataUnit::Words:
    case DataUnit::Count:
    case DataUnit::Number:
    case DataUnit::Digits:
    case DataUnit::Rate:
    case DataUnit::Share:
      return "";
  }
  return "";
}

std::string five_digits(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.5g", number);
  return digits;
}

std::string file_text(const DataColumn& column, const DataCell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* whole = std::get_if<std::int64_t>(&cell))
    return file_unit(column.unit) == "s" ? seconds_text(*whole) : std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&cell))
    return std::isfinite(*number) ? to_text(*number) : "";
  return "";
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

DataTable listed_table(std::string title, std::vector<DataColumn> columns,
                       std::vector<std::vector<DataCell>> rows, std::vector<Item> items) {
  DataTable table{std::move(title), std::move(columns), rows.size(), {}, {}};
  table.cell = [cells = std::move(rows)](std::size_t row, std::size_t column) {
    return cells[row][column];
  };
  if (!items.empty()) table.item = [list = std::move(items)](std::size_t row) { return list[row]; };
  return table;
}

std::string cell_text(const DataColumn& column, const DataCell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "";
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  const double number = number_of(cell);
  switch (column.unit) {
    case DataUnit::Words:
    case DataUnit::Count:
      return format_count(whole_of(cell));
    case DataUnit::Number:
      return to_text(number);
    case DataUnit::Digits:
      return five_digits(number);
    case DataUnit::Rate:
      return readable_rate(number);
    case DataUnit::Share:
      return format_percent(number);
    case DataUnit::Time:
      return format_duration(Duration{whole_of(cell)});
    case DataUnit::StepTime:
      return format_step_time(Duration{whole_of(cell)});
    case DataUnit::ByteCount:
      return format_bytes({whole_of(cell)});
    case DataUnit::Bandwidth:
      return format_bandwidth({number});
    case DataUnit::FlopCount:
      return format_flops({number});
    case DataUnit::Throughput:
      return format_throughput({number});
    case DataUnit::Intensity:
      return format_intensity(number) + " FLOP/B";
    case DataUnit::Energy:
      return readable(Joules{number});
    case DataUnit::Power:
      return readable(Watts{number});
    case DataUnit::Money:
      return band_number({number, number, number, {}}, "$").value;
  }
  return "";
}

bool cell_before(const DataCell& a, const DataCell& b) {
  const auto rank = [](const DataCell& cell) {
    if (std::holds_alternative<std::monostate>(cell)) return 2;
    return std::holds_alternative<std::string>(cell) ? 1 : 0;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (rank(a) == 1) return std::get<std::string>(a) < std::get<std::string>(b);
  if (rank(a) == 2) return false;
  if (std::holds_alternative<std::int64_t>(a) && std::holds_alternative<std::int64_t>(b))
    return std::get<std::int64_t>(a) < std::get<std::int64_t>(b);
  return number_of(a) < number_of(b);
}

std::string file_head(const DataColumn& column) {
  const std::string_view unit = file_unit(column.unit);
  return unit.empty() ? column.name : column.name + " (" + std::string(unit) + ")";
}

std::string to_csv(const DataTable& table) {
  std::string out;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += (c > 0 ? "," : "") + field(file_head(table.columns[c]));
  out += "\r\n";
  for (std::size_t r = 0; r < table.rows; ++r) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += ',';
      out += field(file_text(table.columns[c], table.cell(r, c)));
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace trainyard
