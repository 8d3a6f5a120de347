#include "core/cluster/price.h"
#include "core/result/figures.h"
#include "visualizers/sweep/sweep_view.h"

namespace trainyard {
namespace {

using SweepCells = std::vector<DataCell>;

bool is_price(const SweepAxis& axis) { return axis.name == "price"; }

void put_words(SweepCells& cells, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  cells.emplace_back(std::move(text));
}

// A figure with its range, each as `cell` makes it; three empty cells where it is not known.
template <class T, class Cell>
void put_range(SweepCells& cells, const std::optional<Banded<T>>& figure, Cell cell) {
  if (!figure) return cells.resize(cells.size() + 3);
  for (const T& each : {figure->value, figure->low, figure->high}) cells.emplace_back(cell(each));
}

SweepCells sweep_cells(const SweepStudy& study, std::size_t i, std::size_t columns) {
  const SweepRow& row = study.rows[i];
  SweepCells cells;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (is_price(study.axes[a]))
      cells.emplace_back(parse_price(study.value(i, a)));
    else
      cells.emplace_back(study.value(i, a));
  cells.emplace_back(std::string(verdict_word(row)));
  cells.emplace_back(row.reason);
  put_words(cells, row.set);
  if (row.result) {
    const Result& r = *row.result;
    const auto number = [](double value) { return value; };
    const auto bytes = [](Bytes value) { return value.value; };
    const StageMemory* most = fullest(r);
    cells.emplace_back(r.fidelity);
    cells.emplace_back(r.devices);
    put_range(cells, std::optional(r.step), [](Duration d) { return d.count(); });
    cells.emplace_back(std::string(r.counts_tokens ? "tokens" : "samples"));
    put_range(cells, std::optional(rate(r)), number);
    cells.emplace_back(rate_per_device(r).value);
    put_range(cells, std::optional(utilisation(r)), number);
    put_range(cells, most == nullptr ? std::nullopt : std::optional(most->peak), bytes);
    for (const Bytes each : {reserved(r), r.capacity, r.verdict.margin})
      cells.emplace_back(each.value);
    put_range(cells, r.money, number);
    put_range(cells, money_for_work(r), number);
    put_range(cells, r.energy, [](Joules j) { return j.value; });
    cells.emplace_back(r.verdict.limit);
  }
  cells.resize(columns);
  return cells;
}

void add_range(std::vector<DataColumn>& columns, const std::string& name, DataUnit unit) {
  for (const char* end : {"", ", low", ", high"}) columns.push_back({name + end, unit});
}

}  // namespace

DataTable sweep_table(const SweepStudy& study) {
  std::vector<DataColumn> columns;
  for (const SweepAxis& axis : study.axes)
    columns.push_back({axis.name, is_price(axis) ? DataUnit::Money : DataUnit::Words});
  for (const char* name : {"verdict", "reason", "set", "fidelity"})
    columns.push_back({name, DataUnit::Words});
  columns.push_back({"devices", DataUnit::Count});
  add_range(columns, "step", DataUnit::StepTime);
  columns.push_back({"counts", DataUnit::Words});
  add_range(columns, "throughput", DataUnit::Number);
  columns.push_back({"throughput per device", DataUnit::Number});
  add_range(columns, "MFU", DataUnit::Share);
  add_range(columns, "peak", DataUnit::ByteCount);
  for (const char* name : {"reserved", "capacity", "spare"})
    columns.push_back({name, DataUnit::ByteCount});
  add_range(columns, "money per step", DataUnit::Money);
  add_range(columns, "money for 1e9 tokens or 1e6 samples", DataUnit::Money);
  add_range(columns, "energy per step", DataUnit::Energy);
  columns.push_back({"limit", DataUnit::Words});

  std::vector<SweepCells> rows;
  std::vector<Item> items;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    rows.push_back(sweep_cells(study, i, columns.size()));
    items.push_back({ItemKind::Cell, i});
  }
  return listed_table("Sweep", std::move(columns), std::move(rows), std::move(items));
}

}  // namespace trainyard
