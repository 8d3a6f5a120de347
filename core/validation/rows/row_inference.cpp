// This file infers settings that a source leaves open from its memory figures: unfused attention
// keeps its scores, 32 bits are twice 16, and recomputation keeps next to nothing. There is one
// answer per source, from all its figures, so that no row is fitted on its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/validation/rows/row_parts.h"
#include "core/validation/rows/row_scenario.h"

namespace trainyard {

struct InferredSetting {
  std::string_view name;  // key of --set
  std::string MeasuredRow::* column;
  std::string_view value;  // the value as a row writes it
};

namespace {

constexpr std::size_t kFigures = 24;  // most figures of a source that are used
constexpr double kClear = 0.1;  // by how much an answer must be better, as difference of median log
                                // errors

constexpr InferredSetting kSettings[] = {
    {"precision", &MeasuredRow::precision, "tf32"},
    {"flash-attention", &MeasuredRow::flash_attention, "yes"},
    {"flash-attention", &MeasuredRow::flash_attention, "no"},
    {"recompute", &MeasuredRow::recompute, "full"},
};

// Returns the same run with its memory as the measured value; nothing where the row does not state
// it.
std::optional<MeasuredRow> memory_of(const MeasuredRow& row) {
  if (row.metric == "mem_gb") return row;
  MeasuredRow memory = row;
  memory.metric = "mem_gb";
  memory.flops_def = "GB";
  memory.notes += "; unit GB";
  if (const auto bytes = stated(row.also, "mem_bytes")) {
    memory.value = *bytes / 1e9;
  } else if (const auto gib = stated(row.also, "mem_gib")) {
    memory.value = *gib;
    memory.flops_def = "GiB";
  } else if (const auto gb = stated(row.also, "mem_gb")) {
    memory.value = *gb;
  } else {
    return {};
  }
  return memory.value > 0 ? std::optional(memory) : std::nullopt;
}

bool leaves_open(const MeasuredRow& row) {
  return std::any_of(std::begin(kSettings), std::end(kSettings),
                     [&](const InferredSetting& s) { return (row.*s.column).empty(); });
}

// Returns nothing where one of the rows cannot be predicted with these settings.
std::optional<double> median_error(const std::vector<FilledRow>& rows) {
  std::vector<double> errors;
  for (const FilledRow& row : rows) {
    const auto prepared = prepare_filled(row);
    const auto* ready = std::get_if<PreparedRow>(&prepared);
    if (ready == nullptr) return {};
    errors.push_back(std::abs(std::log(predict(*ready, Parameters{}) / ready->measured)));
  }
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

void take(std::vector<FilledRow>& rows, const InferredSetting& setting) {
  for (FilledRow& row : rows)
    if ((row.row.*setting.column).empty()) row.row.*setting.column = setting.value;
}

}  // namespace

InferredAnswer infer_from_memory(std::vector<FilledRow> rows) {
  // Rows that cannot be predicted at all are left out.
  std::erase_if(rows, [](const FilledRow& row) {
    return std::holds_alternative<SkippedRow>(prepare_filled(row));
  });
  if (rows.empty()) return {};
  std::sort(rows.begin(), rows.end(),
            [](const FilledRow& a, const FilledRow& b) { return a.row.id < b.row.id; });
  if (rows.size() > kFigures) {
    std::vector<FilledRow> some;
    for (std::size_t i = 0; i < kFigures; ++i) some.push_back(rows[i * rows.size() / kFigures]);
    rows = std::move(some);
  }
  InferredAnswer found;
  found.before = found.after = *median_error(rows);
  for (;;) {
    const InferredSetting* best = nullptr;
    double least = found.after - kClear;
    for (const InferredSetting& setting : kSettings) {
      std::vector<FilledRow> changed = rows;
      take(changed, setting);
      const auto error = median_error(changed);
      if (error && *error < least) least = *error, best = &setting;
    }
    if (best == nullptr) return found;
    take(rows, *best);
    found.settings.push_back(best);
    found.after = least;
  }
}

std::optional<MeasuredRow> memory_figure(const MeasuredRow& row) {
  if (!leaves_open(row) || row.trust == Trust::C || !row.suspect.empty()) return {};
  return memory_of(row);
}

void take_inferred(const InferredAnswer& answer, FilledRow& row) {
  for (const InferredSetting* setting : answer.settings) {
    if (!(row.row.*setting->column).empty()) continue;
    row.row.*setting->column = setting->value;
    row.assumptions.push_back(
        {std::string(setting->name), std::string(setting->value),
         fmt::format("not stated; the source's memory figures are then off by {:.0f} % instead of "
                     "{:.0f} %",
                     100 * std::expm1(answer.after), 100 * std::expm1(answer.before))});
  }
}

}  // namespace trainyard
