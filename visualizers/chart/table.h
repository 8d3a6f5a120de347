// The numbers behind a picture: columns with a unit and rows of exact values, asked for cell by
// cell so that a million rows take no room. The window shows them rounded and sorted; a CSV file
// has every digit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// What the values of a column are, and with that how they are written. A file has them in the
/// unit behind each, people read them in one that suits their size.
enum class DataUnit : std::uint8_t {
  Words,
  Count,       // a whole number
  Number,      // a plain one
  Rate,        // a plain one of each second, which people read to three digits
  Share,       // 1 is all of it
  Time,        // whole nanoseconds; in a file s
  StepTime,    // the same of one step, which people read to the millisecond
  ByteCount,   // B
  Bandwidth,   // B/s
  FlopCount,   // FLOP
  Throughput,  // FLOP/s
  Intensity,   // FLOP/B
  Energy,      // J
  Power,       // W
  Money,       // US dollars
  Digits,      // a plain one, which people read to five digits
};

struct DataColumn {
  std::string name;  // "duration"
  DataUnit unit = DataUnit::Words;
};

/// Nothing where a row has no such figure; never 0 or -1 for that.
using DataCell = std::variant<std::monostate, std::string, std::int64_t, double>;

struct DataTable {
  std::string title;  // "Timeline"
  std::vector<DataColumn> columns;
  std::size_t rows = 0;
  /// Of row < rows and column < columns.size(). Pure, and keeps alive what it reads.
  std::function<DataCell(std::size_t row, std::size_t column)> cell;
  /// What the view's drawing calls the row's thing; empty where it has no name for it.
  std::function<Item(std::size_t row)> item;
};

/// A table of values that are there already; items: none, or one a row.
DataTable listed_table(std::string title, std::vector<DataColumn>,
                       std::vector<std::vector<DataCell>> rows, std::vector<Item> items = {});

/// As people read it: "71.7 GiB", "34.7 %"; "" for nothing.
std::string cell_text(const DataColumn&, const DataCell&);
/// Figures by size, words by letters, nothing after everything.
bool cell_before(const DataCell&, const DataCell&);
/// "duration (s)", "rank".
std::string file_head(const DataColumn&);
/// RFC 4180 with a line of heads; figures in full, with a point, in the units of DataUnit.
std::string to_csv(const DataTable&);

}  // namespace trainyard
