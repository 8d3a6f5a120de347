#include "core/validation/rows/row_context.h"

#include <algorithm>

namespace trainyard {
namespace {

// A source's answer uses a few of its figures; of a table of millions only the first are kept.
constexpr std::size_t kMostFigures = 4096;

// Returns the most frequent value, the least of equally frequent ones.
std::int64_t commonest(const std::map<std::int64_t, int>& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// With one stage there are no chunks, and no row states 1.
bool has_no_chunks(const MeasuredRow& row) { return row.pp.value_or(1) == 1 && !row.vpp; }

template <class Map, class Key>
void fill(FilledRow& row, std::optional<std::int64_t> MeasuredRow::* value, const Map& counts,
          const Key& key, const char* setting, const char* why) {
  const auto found = row.row.*value ? counts.end() : counts.find(key);
  if (found == counts.end()) return;
  const std::int64_t taken = commonest(found->second);
  row.row.*value = taken;
  row.assumptions.push_back({setting, std::to_string(taken), why});
}

// Adds up the counts of the heads of each family, under its name.
template <class Map, class NameOf>
void name_families(Map& counts, const NameOf& name_of) {
  Map named;
  for (const auto& [key, values] : counts) {
    auto own = key;
    std::get<0>(own) = name_of(std::get<0>(key));
    for (const auto& [value, count] : values) named[own][value] += count;
  }
  counts = std::move(named);
}

}  // namespace

RowContext::ShapeKey RowContext::shape_key(const std::string& family, const MeasuredRow& r) {
  return {family, r.hidden};
}
RowContext::RunKey RowContext::run_key(const std::string& family, const MeasuredRow& r) {
  return {family, r.layers, r.hidden, r.pp, r.tp, r.schedule};
}

std::string RowContext::family_of(const MeasuredRow& row) const {
  return row.source_family.empty() ? families_.of(row) : row.source_family;
}

void RowContext::see(const MeasuredRow& row) {
  const std::string name = row.source_family.empty() ? RowFamilies::head(row) : row.source_family;
  if (row.source_family.empty()) families_.see(row);
  // A row without a hidden size cannot be compared with others.
  if (row.hidden) {
    if (row.heads) ++heads_[shape_key(name, row)][*row.heads];
    const std::optional<std::int64_t> chunks = has_no_chunks(row) ? 1 : row.vpp;
    if (chunks) ++chunks_[run_key(name, row)][*chunks];
  }
  if (figures_.size() < kMostFigures && memory_figure(row)) figures_.push_back(row);
}

void RowContext::settle() {
  const auto name_of = [&](const std::string& name) { return families_.of(name); };
  name_families(heads_, name_of);
  name_families(chunks_, name_of);
  std::map<std::string, std::vector<FilledRow>> by_source;
  for (const MeasuredRow& row : figures_) {
    const FilledRow filled = with_blanks_filled(row);
    by_source[filled.row.source_family].push_back(
        {memory_figure(filled.row).value_or(filled.row), filled.assumptions});
  }
  figures_ = {};
  for (auto& [source, figures] : by_source)
    answers_[source] = infer_from_memory(std::move(figures));
}

FilledRow RowContext::with_blanks_filled(const MeasuredRow& row) const {
  FilledRow filled{row, {}};
  const std::string& family = filled.row.source_family = family_of(row);
  if (!row.hidden) return filled;
  fill(filled, &MeasuredRow::heads, heads_, shape_key(family, row), "heads",
       "not stated; what the source has most often at this hidden size");
  if (has_no_chunks(row)) filled.row.vpp = 1;
  fill(filled, &MeasuredRow::vpp, chunks_, run_key(family, row), "virtual-stages",
       "not stated; what the source has for the same model, degrees and schedule");
  return filled;
}

FilledRow RowContext::filled(const MeasuredRow& row) const {
  FilledRow filled = with_blanks_filled(row);
  if (const auto found = answers_.find(filled.row.source_family); found != answers_.end())
    take_inferred(found->second, filled);
  return filled;
}

}  // namespace trainyard
