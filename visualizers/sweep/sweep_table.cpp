#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/cluster/price.h"
#include "core/result/figures.h"
#include "visualizers/sweep/sweep_view.h"

namespace trainyard {
namespace {

struct SweepColumn {
  DataColumn head;
  std::function<DataCell(const SweepStudy&, std::size_t combination)> cell;
};
using SweepColumns = std::vector<SweepColumn>;

DataCell cell_of(double value) { return value; }
DataCell cell_of(std::int64_t value) { return value; }
DataCell cell_of(Duration value) { return value.count(); }
DataCell cell_of(Bytes value) { return value.value; }
DataCell cell_of(Joules value) { return value.value; }
DataCell cell_of(std::string value) { return value; }

// What a row has, also without a plan.
template <class F>
SweepColumn of_row(const std::string& name, F f) {
  return {{name, DataUnit::Words}, [f](const SweepStudy& study, std::size_t i) {
            return DataCell(std::string(f(study.rows[i])));
          }};
}

// What a result has; empty without one.
template <class F>
SweepColumn of_result(const std::string& name, DataUnit unit, F f) {
  return {{name, unit}, [f](const SweepStudy& study, std::size_t i) {
            const std::optional<Result>& r = study.rows[i].result;
            return r ? cell_of(std::invoke(f, *r)) : DataCell();
          }};
}

// A figure of a result, and with `range` its low and high end behind it.
template <class F>
void add_figure(SweepColumns& columns, const std::string& name, DataUnit unit, F f, bool range) {
  const auto add = [&](const char* end, auto member) {
    columns.push_back({{name + end, unit}, [f, member](const SweepStudy& study, std::size_t i) {
                         const std::optional<Result>& r = study.rows[i].result;
                         if (!r) return DataCell();
                         const std::optional figure(std::invoke(f, *r));
                         return figure ? cell_of((*figure).*member) : DataCell();
                       }});
  };
  using Figure =
      typename decltype(std::optional(std::invoke(f, std::declval<Result>())))::value_type;
  add("", &Figure::value);
  if (range) add(", low", &Figure::low), add(", high", &Figure::high);
}

std::optional<Banded<Bytes>> fullest_peak(const Result& r) {
  const StageMemory* most = fullest(r);
  return most == nullptr ? std::nullopt : std::optional(most->peak);
}

std::string counted_work(const Result& r) { return r.counts_tokens ? "tokens" : "samples"; }

Bytes spare(const Result& r) { return r.verdict.margin; }

void add_axis(SweepColumns& columns, const SweepStudy& study, std::size_t a) {
  const bool price = study.axes[a].name == "price";
  columns.push_back({{study.axes[a].name, price ? DataUnit::Money : DataUnit::Words},
                     [a, price](const SweepStudy& s, std::size_t i) {
                       return price ? cell_of(parse_price(s.value(i, a))) : cell_of(s.value(i, a));
                     }});
}

// With whole numbers as such, so that they are sorted by size.
void add_read_axis(SweepColumns& columns, const SweepStudy& study, std::size_t a) {
  constexpr std::size_t kMostDigits = 15;
  const std::vector<std::string>& values = study.axes[a].values;
  const bool whole = std::all_of(values.begin(), values.end(), [](const std::string& value) {
    return !value.empty() && value.size() <= kMostDigits &&
           value.find_first_not_of("0123456789") == std::string::npos;
  });
  if (!whole) return add_axis(columns, study, a);
  columns.push_back(
      {{study.axes[a].name, DataUnit::Count}, [a](const SweepStudy& s, std::size_t i) {
         return cell_of(std::int64_t{std::stoll(s.value(i, a))});
       }});
}

// "tokens"; "tokens or samples" where models count either.
std::string work_of(const SweepStudy& study) {
  const auto any = [&](bool tokens) {
    return std::any_of(study.rows.begin(), study.rows.end(), [&](const SweepRow& row) {
      return row.result && row.result->counts_tokens == tokens;
    });
  };
  return !any(false) ? "tokens" : any(true) ? "tokens or samples" : "samples";
}

bool names_region(const SweepStudy& study) {
  return std::any_of(study.rows.begin(), study.rows.end(), [](const SweepRow& row) {
    return row.result && !row.result->site.region.empty();
  });
}

DataTable table_of(const SweepStudy& study, const SweepColumns& columns) {
  std::vector<DataColumn> heads;
  for (const SweepColumn& column : columns) heads.push_back(column.head);
  std::vector<std::vector<DataCell>> rows(study.rows.size());
  std::vector<Item> items;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const SweepColumn& column : columns) rows[i].push_back(column.cell(study, i));
    items.push_back({ItemKind::Cell, i});
  }
  return listed_table("Sweep", std::move(heads), std::move(rows), std::move(items));
}

}  // namespace

DataTable sweep_table(const SweepStudy& study) {
  SweepColumns columns;
  for (std::size_t a = 0; a < study.axes.size(); ++a) add_axis(columns, study, a);
  columns.push_back(of_row("verdict", verdict_word));
  columns.push_back(of_row("reason", std::mem_fn(&SweepRow::reason)));
  columns.push_back(of_row("set", [](const SweepRow& row) {
    std::string text;
    for (const std::string& word : row.set) text += (text.empty() ? "" : " ") + word;
    return text;
  }));
  columns.push_back(of_result("fidelity", DataUnit::Words, &Result::fidelity));
  columns.push_back(of_result("devices", DataUnit::Count, &Result::devices));
  add_figure(columns, "step", DataUnit::StepTime, &Result::step, true);
  columns.push_back(of_result("counts", DataUnit::Words, counted_work));
  add_figure(columns, "throughput", DataUnit::Rate, rate, true);
  add_figure(columns, "throughput per device", DataUnit::Rate, rate_per_device, false);
  add_figure(columns, "MFU", DataUnit::Share, utilisation, true);
  add_figure(columns, "peak", DataUnit::ByteCount, fullest_peak, true);
  columns.push_back(of_result("reserved", DataUnit::ByteCount, reserved));
  columns.push_back(of_result("capacity", DataUnit::ByteCount, &Result::capacity));
  columns.push_back(of_result("spare", DataUnit::ByteCount, spare));
  add_figure(columns, "money per step", DataUnit::Money, &Result::money, true);
  add_figure(columns, "money for 1e9 tokens or 1e6 samples", DataUnit::Money, money_for_work, true);
  add_figure(columns, "energy per step", DataUnit::Energy, &Result::energy, true);
  if (names_region(study))
    add_figure(columns, "kg of CO2 equivalents per step", DataUnit::Number, carbon, true);
  const auto limit = [](const Result& r) { return r.verdict.limit; };
  columns.push_back(of_result("limit", DataUnit::Words, limit));
  return table_of(study, columns);
}

DataTable sweep_summary(const SweepStudy& study) {
  const std::string work = work_of(study);
  SweepColumns columns;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (study.axes[a].values.size() > 1) add_read_axis(columns, study, a);
  columns.push_back(of_row("verdict", verdict_word));
  columns.push_back(of_row("plan", plan_words));
  add_figure(columns, "step", DataUnit::StepTime, &Result::step, false);
  add_figure(columns, work + " per second", DataUnit::Rate, rate, false);
  add_figure(columns, "per device", DataUnit::Rate, rate_per_device, false);
  add_figure(columns, "MFU", DataUnit::Share, utilisation, false);
  add_figure(columns, "peak", DataUnit::ByteCount, fullest_peak, false);
  columns.push_back(of_result("spare", DataUnit::ByteCount, spare));
  add_figure(columns, "money per step", DataUnit::Money, &Result::money, false);
  const std::string priced = work == "tokens"    ? "1e9 tokens"
                             : work == "samples" ? "1e6 samples"
                                                 : "1e9 tokens or 1e6 samples";
  add_figure(columns, "money for " + priced, DataUnit::Money, money_for_work, false);
  add_figure(columns, "energy per step", DataUnit::Energy, &Result::energy, false);
  if (names_region(study))
    add_figure(columns, "kg of CO2 equivalents per step", DataUnit::Number, carbon, false);
  columns.push_back(of_row("what limits it, or why there is no plan", remark));
  return table_of(study, columns);
}

}  // namespace trainyard
