#include "visualizers/memory/tables_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr float kTablesWidth = 1400, kTablesRow = 360;
constexpr Bytes kLeastInMebi = 128_KiB;  // smaller ones are written in KiB
constexpr std::size_t kMostBars = 10;    // tables that have a bar
constexpr double kKibi = 1024, kMebi = 1024 * kKibi, kThousandFlops = 1e3, kMillion = 1e6,
                 kPercent = 100;

std::string rank_name(std::int64_t rank) { return rank == 0 ? "as rows" : std::to_string(rank); }

// The unit in which the smallest of some sizes is readable.
struct ByteUnit {
  const char* name;
  double bytes;
};
ByteUnit unit_for(Bytes smallest) {
  return smallest < kLeastInMebi ? ByteUnit{"KiB", kKibi} : ByteUnit{"MiB", kMebi};
}

// The lines of a curve by rank; tables as rows have no rank, and no place on its axis.
CurveModel rank_curve(const TableStudy& s) {
  CurveModel curve;
  curve.x_label = "rank";
  curve.log_x = true;
  for (const TablesAtRank& at : s.ranks) {
    if (at.rank == 0) continue;
    curve.x.push_back(static_cast<double>(at.rank));
    curve.x_names.push_back(std::to_string(at.rank));
  }
  if (s.rank > 0) curve.now = static_cast<double>(s.rank);
  return curve;
}

template <class Value>
CurveModel::Line rank_line(const TableStudy& s, std::string name, Ink ink, const Value& value) {
  CurveModel::Line line{std::move(name), ink, {}};
  for (const TablesAtRank& at : s.ranks)
    if (at.rank > 0) line.values.push_back(value(at));
  return line;
}

CurveModel bytes_curve(const TableStudy& s) {
  CurveModel curve = rank_curve(s);
  curve.title = "Numbers of all tables";
  const ByteUnit unit = unit_for(s.ranks[std::min<std::size_t>(1, s.ranks.size() - 1)].bytes);
  curve.unit = unit.name;
  curve.log_y = true;
  const auto in_unit = [&](Bytes bytes) { return static_cast<double>(bytes.value) / unit.bytes; };
  curve.lines.push_back(rank_line(s, "as cores", Ink::MemoryWeights,
                                  [&](const TablesAtRank& at) { return in_unit(at.bytes); }));
  const double whole = in_unit(s.ranks.front().bytes);
  CurveModel::Line rows{"as rows", Ink::Text3, std::vector<double>(curve.x.size(), whole), true};
  CurveModel::Line limit{fmt::format("{:g} times smaller", s.times), Ink::Ok,
                         std::vector<double>(curve.x.size(), whole / s.times), true};
  curve.lines.push_back(std::move(rows));
  curve.lines.push_back(std::move(limit));
  return curve;
}

CurveModel work_curve(const TableStudy& s) {
  CurveModel curve = rank_curve(s);
  curve.title = "FLOPs of a look-up in each table; rows take none";
  const bool large = s.ranks.back().backward_flops >= kMillion;
  const double unit = large ? kMillion : kThousandFlops;
  curve.unit = large ? "MFLOP" : "kFLOP";
  curve.log_y = true;
  curve.lines = {rank_line(s, "forward", Ink::Forward,
                           [&](const TablesAtRank& at) { return at.forward_flops / unit; }),
                 rank_line(s, "backward", Ink::Backward,
                           [&](const TablesAtRank& at) { return at.backward_flops / unit; })};
  return curve;
}

CurveModel cache_curve(const TableStudy& s) {
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  CurveModel curve;
  curve.title = fmt::format("Look-ups served, Zipf {:g}", s.zipf);
  curve.unit = "%";
  curve.x_label = "hot rows of each table";
  curve.log_x = true;
  CurveModel::Line hits{"hits", Ink::Forward, {}}, counted{"hits, counted", Ink::Forward, {}, true},
      spared{"spared", Ink::Optimizer, {}}, measured{"spared, counted", Ink::Optimizer, {}, true};
  for (const CachedRows& at : s.caches) {
    curve.x.push_back(static_cast<double>(at.rows));
    curve.x_names.push_back(readable_count(static_cast<double>(at.rows)));
    hits.values.push_back(kPercent * at.hits);
    spared.values.push_back(kPercent * at.spared);
    counted.values.push_back(at.counted_hits ? kPercent * *at.counted_hits : kMissing);
    measured.values.push_back(at.counted_spared ? kPercent * *at.counted_spared : kMissing);
  }
  curve.lines.push_back(std::move(hits));
  if (s.counted > 0) curve.lines.push_back(std::move(counted));
  curve.lines.push_back(std::move(spared));
  if (s.counted > 0) curve.lines.push_back(std::move(measured));
  return curve;
}

// Each number of a core takes what a number of a table does.
double bytes_of_number(const StudiedTable& table) {
  return static_cast<double>(table.bytes.value) /
         (static_cast<double>(table.rows) * static_cast<double>(table.width));
}

Bytes trained_bytes(const StudiedTable& table) {
  return table.train ? Bytes{std::llround(bytes_of_number(table) *
                                          static_cast<double>(table.train->weights()))}
                     : table.bytes;
}

std::optional<BarsModel> core_bars(const TableStudy& s) {
  BarsModel bars;
  bars.title = fmt::format("Cores of rank {}, of the largest tables", s.rank);
  const auto trained = std::find_if(s.tables.begin(), s.tables.end(),
                                    [](const StudiedTable& one) { return one.train.has_value(); });
  if (trained == s.tables.end()) return std::nullopt;
  const ByteUnit unit = unit_for(trained_bytes(*trained));
  bars.unit = unit.name;
  bars.parts = {{"first core", Ink::Forward},
                {"middle core", Ink::MemoryWeights},
                {"last core", Ink::Backward}};
  for (const StudiedTable& table : s.tables) {
    if (!table.train || bars.rows.size() == kMostBars) continue;
    const double number = bytes_of_number(table);
    BarsModel::Row row{fmt::format("{}: {} as rows", table.name, readable(table.bytes)), {}};
    for (std::size_t k = 0; k < kCores; ++k)
      row.values.push_back(number * static_cast<double>(table.train->row_bases[k]) *
                           static_cast<double>(table.train->slice(k)) / unit.bytes);
    bars.rows.push_back(std::move(row));
  }
  return bars;
}

DataTable rank_rows(const TableStudy& s) {
  std::vector<std::vector<DataCell>> rows;
  for (const TablesAtRank& at : s.ranks)
    rows.push_back({rank_name(at.rank), at.bytes.value, at.times, at.forward_flops,
                    at.backward_flops, at.priced ? DataCell(at.priced->step.count()) : DataCell(),
                    at.priced ? DataCell(at.priced->peak.value) : DataCell()});
  return listed_table("Tables by rank",
                      {{"rank", DataUnit::Words},
                       {"numbers", DataUnit::ByteCount},
                       {"times smaller", DataUnit::Digits},
                       {"forward", DataUnit::FlopCount},
                       {"backward", DataUnit::FlopCount},
                       {"step", DataUnit::StepTime},
                       {"peak", DataUnit::ByteCount}},
                      std::move(rows));
}

DataTable cache_rows(const TableStudy& s) {
  const auto share = [](const std::optional<double>& value) {
    return value ? DataCell(*value) : DataCell();
  };
  std::vector<std::vector<DataCell>> rows;
  for (const CachedRows& at : s.caches)
    rows.push_back({at.rows, at.hits, share(at.counted_hits), at.spared, share(at.counted_spared)});
  return listed_table("Hot rows",
                      {{"hot rows", DataUnit::Count},
                       {"hits by the law", DataUnit::Share},
                       {"hits counted", DataUnit::Share},
                       {"spared by the law", DataUnit::Share},
                       {"spared, counted", DataUnit::Share}},
                      std::move(rows));
}

std::string product_words(const CoreDigits& digits) {
  return fmt::format("{} x {} x {}", digits[0], digits[1], digits[2]);
}

DataTable table_rows(const TableStudy& s) {
  std::vector<std::vector<DataCell>> rows;
  for (const StudiedTable& table : s.tables) {
    const double numbers = static_cast<double>(table.rows) * static_cast<double>(table.width);
    if (!table.train) {
      rows.push_back({table.name, table.rows, table.width, table.bytes.value, "as rows",
                      std::monostate{}, table.bytes.value, 1.0});
      continue;
    }
    const auto held = static_cast<double>(table.train->weights());
    rows.push_back({table.name, table.rows, table.width, table.bytes.value,
                    product_words(table.train->row_bases), product_words(table.train->column_bases),
                    std::llround(static_cast<double>(table.bytes.value) * held / numbers),
                    numbers / held});
  }
  return listed_table("Cores by table",
                      {{"table", DataUnit::Words},
                       {"rows", DataUnit::Count},
                       {"width", DataUnit::Count},
                       {"as rows", DataUnit::ByteCount},
                       {"rows of the cores", DataUnit::Words},
                       {"columns of the cores", DataUnit::Words},
                       {"trained", DataUnit::ByteCount},
                       {"times smaller", DataUnit::Digits}},
                      std::move(rows));
}

}  // namespace

TablesChart tables_chart(const TableStudy& s, TablesPicture picture) {
  TablesChart chart;
  const auto with_points = [](CurveModel curve) {
    return curve.x.size() > 1 ? std::optional(std::move(curve)) : std::nullopt;
  };
  switch (picture) {
    case TablesPicture::Numbers:
      chart.curve = with_points(bytes_curve(s));
      chart.rows = rank_rows(s);
      break;
    case TablesPicture::Work:
      chart.curve = with_points(work_curve(s));
      chart.rows = rank_rows(s);
      break;
    case TablesPicture::Cache:
      chart.curve = with_points(cache_curve(s));
      chart.rows = cache_rows(s);
      break;
    case TablesPicture::Tables:
      chart.bars = core_bars(s);
      chart.rows = table_rows(s);
      break;
  }
  return chart;
}

void draw_tables(Drawing& drawing, const Rect& area, const TablesChart& chart, const ViewState&) {
  if (chart.curve) draw_curve(drawing, area, *chart.curve);
  if (chart.bars) draw_bars(drawing, area, *chart.bars);
}

Hover describe_tables(const TablesChart& chart, Item item) {
  if (chart.curve) return describe_curve(*chart.curve, item);
  return chart.bars ? describe_bars(*chart.bars, item) : Hover{};
}

std::string tables_words(const TablesChart& chart) {
  if (chart.curve) return curve_words(*chart.curve);
  return chart.bars ? bars_words(*chart.bars) : std::string();
}

Drawing tables_picture(const TableStudy& s) {
  constexpr TablesPicture kAll[] = {TablesPicture::Numbers, TablesPicture::Work,
                                    TablesPicture::Cache, TablesPicture::Tables};
  Drawing drawing({kTablesWidth, 2 * kTablesRow});
  for (std::size_t i = 0; i < std::size(kAll); ++i)
    draw_tables(drawing,
                {static_cast<float>(i % 2) * kTablesWidth / 2,
                 static_cast<float>(i / 2) * kTablesRow, kTablesWidth / 2, kTablesRow},
                tables_chart(s, kAll[i]), {});
  return drawing;
}

}  // namespace trainyard
