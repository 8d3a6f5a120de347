// This file fills blanks of a row from other rows of its source: runs of a model in one source all
// used the same model.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/validation/rows/row_parts.h"

namespace trainyard {
namespace {

using Value = std::optional<std::int64_t> MeasuredRow::*;

// Counts how often each value was stated, by what the rows have in common.
template <class Key>
using Counts = std::map<Key, std::map<std::int64_t, int>>;

// Returns the most frequent value, the least of equally frequent ones.
std::int64_t commonest(const std::map<std::int64_t, int>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

auto shape_key(const MeasuredRow& r) { return std::tuple(r.source_family, r.hidden); }
auto run_key(const MeasuredRow& r) {
  return std::tuple(r.source_family, r.layers, r.hidden, r.pp, r.tp, r.schedule);
}

template <class KeyOf>
void fill(std::vector<FilledRow>& rows, Value value, KeyOf key_of, const char* setting,
          const char* why) {
  Counts<decltype(key_of(rows.front().row))> counts;
  for (const FilledRow& r : rows)
    if (r.row.*value) ++counts[key_of(r.row)][*(r.row.*value)];
  for (FilledRow& r : rows) {
    if (r.row.*value) continue;
    const auto found = counts.find(key_of(r.row));
    if (found == counts.end()) continue;
    const std::int64_t taken = commonest(found->second);
    r.row.*value = taken;
    r.assumptions.push_back({setting, std::to_string(taken), why});
  }
}

}  // namespace

std::vector<FilledRow> fill_blanks(const std::vector<MeasuredRow>& rows) {
  std::vector<FilledRow> filled;
  for (const MeasuredRow& row : rows) filled.push_back({row, {}});
  if (filled.empty()) return filled;
  std::vector<FilledRow> copy;
  // A row without a hidden size cannot be compared with others.
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < filled.size(); ++i)
    if (filled[i].row.hidden) copy.push_back(filled[i]), places.push_back(i);
  if (copy.empty()) return filled;
  fill(copy, &MeasuredRow::heads, shape_key, "heads",
       "not stated; what the source has most often at this hidden size");
  for (FilledRow& r : copy)  // with one stage there are no chunks, and no row states 1
    if (r.row.pp.value_or(1) == 1 && !r.row.vpp) r.row.vpp = 1;
  fill(copy, &MeasuredRow::vpp, run_key, "virtual-stages",
       "not stated; what the source has for the same model, degrees and schedule");
  for (std::size_t i = 0; i < places.size(); ++i) filled[places[i]] = std::move(copy[i]);
  return filled;
}

}  // namespace trainyard
