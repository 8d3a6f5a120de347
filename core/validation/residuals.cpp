#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <utility>

#include "core/base/csv.h"
#include "core/base/error.h"
#include "core/validation/bands.h"
#include "core/validation/shipped.h"

namespace trainyard {
namespace {

std::vector<std::string> header() {
  std::vector<std::string> names = {"id",     "group", "source",   "metric",
                                    "routed", "parts", "log_error"};
  for (std::string& name : feature_names()) names.push_back(std::move(name));
  return names;
}

constexpr std::size_t kError = 6;  // column of log_error; features follow

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

void write_record(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + quoted(fields[i]);
  out += '\n';
}

double number(const std::string& field, const Place& place) {
  double value = 0;
  const auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failure != std::errc() || end != field.data() + field.size() || !(value >= -1e6) ||
      !(value <= 1e6))
    throw Error(Error::Kind::InvalidInput,
                "expected a number, found \"" + field.substr(0, 60) + "\"", place);
  return value;
}

bool one_of(const std::string& field, std::string_view yes, std::string_view no,
            const Place& place) {
  if (field == yes) return true;
  if (field == no) return false;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {} or {}, found \"{}\"", yes, no, field.substr(0, 60)), place);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(';', from), text.size());
    parts.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

}  // namespace

std::string write_residuals(const std::vector<ValidatedRow>& rows) {
  std::string out;
  write_record(out, header());
  for (const ValidatedRow& row : rows) {
    std::string parts;
    for (const std::string& part : row.parts) parts += (parts.empty() ? "" : ";") + part;
    std::vector<std::string> fields = {row.id,
                                       row.group,
                                       row.source,
                                       row.memory ? "memory" : "time",
                                       row.routed ? "1" : "0",
                                       parts,
                                       fmt::format("{:.4f}", row.log_error)};
    for (const double value : row.features.values) fields.push_back(fmt::format("{:.4g}", value));
    write_record(out, fields);
  }
  return out;
}

std::vector<ValidatedRow> read_residuals(std::string_view csv, const std::string& source) {
  std::vector<ValidatedRow> rows;
  const std::vector<std::string> columns = header();
  const std::vector<CsvRecord> records = parse_csv(csv, source);
  for (std::size_t r = 0; r < records.size(); ++r) {
    const std::vector<std::string>& fields = records[r].fields;
    const Place place{source + ":" + std::to_string(records[r].line)};
    if (r == 0 && fields != columns)
      throw Error(Error::Kind::InvalidInput,
                  "expected the columns of residuals as `trainyard validate --cross --residuals` "
                  "writes them, found others",
                  place);
    if (r == 0) continue;
    if (fields.size() != columns.size())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected {} fields, found {}", columns.size(), fields.size()),
                  place);
    ValidatedRow row;
    row.id = fields[0], row.group = fields[1], row.source = fields[2];
    row.memory = one_of(fields[3], "memory", "time", place);
    row.routed = one_of(fields[4], "1", "0", place);
    row.parts = split(fields[5]);
    row.log_error = number(fields[kError], place);
    for (std::size_t i = kError + 1; i < fields.size(); ++i)
      row.features.values.push_back(number(fields[i], place));
    rows.push_back(std::move(row));
  }
  return rows;
}

const ValidatedRows& validated_rows() {
  static const ValidatedRows rows(
      read_residuals(shipped_residuals(), "assets/validation/residuals.csv"));
  return rows;
}

}  // namespace trainyard
