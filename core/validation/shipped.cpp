#include "core/validation/shipped.h"

#include <map>

#include "core/base/csv.h"

namespace trainyard {

void mark_suspects(std::vector<MeasuredRow>& rows) {
  static const std::map<std::string, std::string> why = [] {
    std::map<std::string, std::string> list;
    for (const CsvRecord& record : parse_csv(shipped_suspects(), "suspects.csv"))
      if (record.fields.size() == 2) list.emplace(record.fields[0], record.fields[1]);
    return list;
  }();
  for (MeasuredRow& row : rows)
    if (const auto found = why.find(row.id); found != why.end()) row.suspect = found->second;
}

const std::vector<MeasuredRow>& published_rows() {
  static const std::vector<MeasuredRow> rows = [] {
    std::vector<MeasuredRow> list = read_rows(shipped_rows(), "assets/validation/open.csv");
    mark_suspects(list);
    return list;
  }();
  return rows;
}

}  // namespace trainyard
