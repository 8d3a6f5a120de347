#include "visualizers/tables.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "visualizers/mesh/cluster_view.h"
#include "visualizers/run/run_causes.h"
#include "visualizers/run/run_panels.h"
#include "visualizers/run/run_readings.h"

namespace trainyard {
namespace {

using Row = std::vector<DataCell>;

DataCell count(std::uint64_t value) { return static_cast<std::int64_t>(value); }
DataCell words(std::string_view text) { return std::string(text); }
DataCell positive(double value) { return value > 0 ? DataCell{value} : DataCell{}; }

std::string_view fate_word(ParetoFate fate) {
  switch (fate) {
    case ParetoFate::TooLarge:
      return "too large";
    case ParetoFate::Dominated:
      return "dominated";
    case ParetoFate::Front:
      return "front";
    case ParetoFate::Best:
      return "best";
  }
  return "";
}

Row point_row(const Roofline& roofline, const RooflinePoint& point) {
  const RooflineBound limit = bound(roofline, point);
  return {point.name,
          words(to_string(point.math)),
          count(static_cast<std::uint64_t>(point.calls)),
          point.time.count(),
          point.share,
          point.flops.value,
          point.bytes.value,
          point.intensity(),
          point.achieved().value,
          limit.attainable.value,
          limit.roof};
}

Row traffic_row(const Roofline& roofline, const LinkPoint& link) {
  const SlopeRoof& roof = roofline.links[std::min(link.level, roofline.links.size() - 1)];
  return {link.name + " communication",
          {},
          {},
          link.time.count(),
          {},
          link.flops.value,
          link.bytes.value,
          link.bytes.value > 0 ? DataCell{link.intensity()} : DataCell{},
          {},
          link.bytes.value > 0 ? DataCell{roof.effective.value * link.intensity()} : DataCell{},
          roof.name};
}

}  // namespace

DataTable order_table(ExperimentPtr experiment, const OrderGrid& grid) {
  auto cells = std::make_shared<const OrderGrid>(grid);
  DataTable table{"Order",
                  {{"rank", DataUnit::Count},
                   {"lane", DataUnit::Words},
                   {"slot", DataUnit::Count},
                   {"slots", DataUnit::Count},
                   {"action", DataUnit::Words},
                   {"stage", DataUnit::Count},
                   {"microbatch", DataUnit::Count},
                   {"weight version", DataUnit::Count}},
                  cells->cells.size(),
                  {},
                  {}};
  table.item = [cells](std::size_t row) {
    return Item{ItemKind::Cell, cells->cells[row].instruction.value};
  };
  table.cell = [e = std::move(experiment), cells](std::size_t row, std::size_t column) -> DataCell {
    const OrderCell& cell = cells->cells[row];
    const Program& program = e->program;
    const Stream& stream = program.streams[cells->streams[cell.row]];
    const Action action = action_of(program, cell);
    switch (column) {
      case 0:
        return count(stream.device.value);
      case 1:
        return stream.name;
      case 2:
        return std::int64_t{cell.slot};
      case 3:
        return std::int64_t{cell.slots};
      case 4:
        return to_text(action);
      case 5:
        return count(action.stage.value);
      case 6:
        return std::int64_t{action.microbatch};
      default:
        return std::int64_t{action.weights};
    }
  };
  return table;
}

DataTable staleness_table(const StalenessModel& model) {
  std::vector<Row> rows;
  std::vector<Item> items;
  for (const StalenessCell& cell : model.cells) {
    items.push_back({ItemKind::Cell, rows.size()});
    rows.push_back({count(cell.stage), std::int64_t{cell.microbatch}, cell.start.count(),
                    std::int64_t{cell.delay}, words(cell.consistent ? "same" : "another")});
  }
  return listed_table("Staleness",
                      {{"stage", DataUnit::Count},
                       {"microbatch", DataUnit::Count},
                       {"forward starts", DataUnit::Time},
                       {"updates old", DataUnit::Count},
                       {"version that its backward reads", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

DataTable roofline_table(const Roofline& roofline) {
  std::vector<Row> rows;
  std::vector<Item> items;
  for (const RooflinePoint& point : roofline.points) {
    items.push_back({ItemKind::Dot, point_tag(point)});
    rows.push_back(point_row(roofline, point));
  }
  for (const LinkPoint& link : roofline.traffic) {
    if (roofline.links.empty()) break;
    items.push_back({ItemKind::Dot, traffic_tag(link)});
    rows.push_back(traffic_row(roofline, link));
  }
  return listed_table("Roofline",
                      {{"work", DataUnit::Words},
                       {"format", DataUnit::Words},
                       {"calls", DataUnit::Count},
                       {"time", DataUnit::Time},
                       {"share of busy time", DataUnit::Share},
                       {"work done", DataUnit::FlopCount},
                       {"moved", DataUnit::ByteCount},
                       {"intensity", DataUnit::Intensity},
                       {"achieved", DataUnit::Throughput},
                       {"attainable", DataUnit::Throughput},
                       {"bound by", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

DataTable layer_table(const LayerModel& model) {
  std::vector<Row> rows;
  std::vector<Item> items;
  for (const LayerBar& bar : model.bars) {
    items.push_back({ItemKind::Cell, rows.size()});
    rows.push_back({bar.name, count(bar.stage.value), bar.forward.count(), bar.backward.count(),
                    bar.weight.count(), bar.sum().count()});
  }
  return listed_table("Layers",
                      {{"layer", DataUnit::Words},
                       {"stage", DataUnit::Count},
                       {"forward", DataUnit::Time},
                       {"backward", DataUnit::Time},
                       {"weight gradient", DataUnit::Time},
                       {"sum", DataUnit::Time}},
                      std::move(rows), std::move(items));
}

DataTable cluster_table(ExperimentPtr experiment) {
  DataTable table{"Cluster",
                  {{"device", DataUnit::Count},
                   {"node", DataUnit::Count},
                   {"pipeline rank", DataUnit::Count},
                   {"tensor rank", DataUnit::Count},
                   {"peak", DataUnit::ByteCount},
                   {"capacity", DataUnit::ByteCount},
                   {"spare", DataUnit::ByteCount}},
                  static_cast<std::size_t>(experiment->workload.scenario.cluster.count),
                  {},
                  {}};
  table.item = [](std::size_t row) { return Item{ItemKind::Cell, row}; };
  table.cell = [e = std::move(experiment)](std::size_t row, std::size_t column) -> DataCell {
    const Scenario& scenario = e->workload.scenario;
    const auto device = static_cast<std::int64_t>(row);
    const DeviceId rank = pipeline_rank(scenario.plan.mesh, device);
    const auto found =
        std::find_if(e->result.memory.begin(), e->result.memory.end(),
                     [&](const StageMemory& memory) { return memory.device == rank; });
    const bool known = found != e->result.memory.end();
    switch (column) {
      case 0:
        return device;
      case 1:
        return device / devices_per_node(scenario.cluster);
      case 2:
        return count(rank.value);
      case 3:
        return tensor_rank(scenario.plan.mesh, device);
      case 4:
        return known ? DataCell{found->peak.value.value} : DataCell{};
      case 5:
        return e->result.capacity.value;
      default:
        return known ? DataCell{(e->result.capacity - found->peak.value).value} : DataCell{};
    }
  };
  return table;
}

DataTable pareto_table(const ParetoModel& model,
                       const std::function<std::string(std::uint64_t)>& plan_words) {
  std::vector<Row> rows;
  std::vector<Item> items;
  for (const ParetoPoint& point : model.points) {
    items.push_back({ItemKind::Dot, rows.size()});
    const bool named = point.family < model.families.size();
    rows.push_back({plan_words ? DataCell{plan_words(point.id)} : DataCell{},
                    named ? DataCell{model.families[point.family]} : DataCell{},
                    words(fate_word(point.fate)), seconds(point.step).count(),
                    static_cast<std::int64_t>(point.memory), positive(point.money),
                    words(point.bound ? "at least" : "priced")});
  }
  return listed_table("Plans",
                      {{"plan", DataUnit::Words},
                       {"family", DataUnit::Words},
                       {"fate", DataUnit::Words},
                       {"step", DataUnit::StepTime},
                       {"memory of the fullest device", DataUnit::ByteCount},
                       {"money a step", DataUnit::Money},
                       {"figures", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

DataTable validation_table(const ValidationModel& model) {
  std::vector<Row> rows;
  std::vector<Item> items;
  for (const ValidationPoint& point : model.points) {
    items.push_back({ItemKind::Dot, rows.size()});
    rows.push_back({point.id, model.sources[point.source].full, point.model, point.cluster,
                    point.plan, words(point.memory ? "memory in B" : "time in s"), point.measured,
                    point.predicted, point.low, point.high, point.error,
                    words(point.counts ? "yes" : "no"), point.note});
  }
  return listed_table("Published results",
                      {{"row", DataUnit::Words},
                       {"source", DataUnit::Words},
                       {"model", DataUnit::Words},
                       {"cluster", DataUnit::Words},
                       {"plan", DataUnit::Words},
                       {"figure", DataUnit::Words},
                       {"measured", DataUnit::Number},
                       {"predicted", DataUnit::Number},
                       {"low", DataUnit::Number},
                       {"high", DataUnit::Number},
                       {"error", DataUnit::Share},
                       {"counts", DataUnit::Words},
                       {"why not", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

DataTable schedules_table(const SchedulesModel& model) {
  std::vector<Row> rows;
  for (const SchedulePanel& panel : model.panels) {
    std::int64_t peak = 0;
    for (const StepCurve& curve : panel.memory.totals) peak = std::max(peak, peak_bytes(curve));
    const bool ran = !panel.timeline.ranks.empty();
    rows.push_back(
        {panel.name, panel.changed, ran ? DataCell{panel.step.length().count()} : DataCell{},
         ran ? DataCell{peak} : DataCell{}, model.budget.value, panel.why_not, panel.tokens});
  }
  return listed_table("Schedules",
                      {{"schedule", DataUnit::Words},
                       {"changed", DataUnit::Words},
                       {"step", DataUnit::StepTime},
                       {"memory of the fullest device", DataUnit::ByteCount},
                       {"budget", DataUnit::ByteCount},
                       {"why not", DataUnit::Words},
                       {"what its tokens are worth", DataUnit::Words}},
                      std::move(rows));
}

DataTable run_table(const RunModel& model) {
  std::vector<Row> rows;
  std::vector<Item> items;
  const auto add = [&](const std::string& what, std::initializer_list<std::int64_t> figures,
                       std::size_t at, const std::string& cause, Item item) {
    Row row(7);
    row[0] = what;
    for (const std::int64_t figure : figures) row[at++] = figure;
    if (!cause.empty()) row[6] = cause;
    rows.push_back(std::move(row)), items.push_back(item);
  };
  const auto add_all = [&](const std::optional<RunResiduals>& residuals, std::size_t at,
                           std::uint64_t tag) {
    if (!residuals) return;
    std::vector<RunResidual> parts = residuals->parts;
    parts.push_back(residuals->sum);
    for (const RunResidual& part : parts)
      add(residuals->of + ": " + part.name, {part.predicted, part.measured}, at, part.cause,
          {ItemKind::Other, tag++});
  };
  if (model.predicted) {
    add_all(time_residuals(model), 2, kTimeTag);
    if (model.comparison) add_all(memory_residuals(model), 4, kMemoryTag);
    if (const auto furthest = largest_deviation(model))
      add(furthest->name + ", furthest from its prediction",
          {furthest->predicted.count(), furthest->measured.length().count()}, 2, "",
          {ItemKind::Span, furthest->first.value});
  }
  std::uint64_t update = 0;
  for (const double loss : model.losses) {
    add("update " + std::to_string(update + 1), {}, 0, "", {ItemKind::Dot, update});
    rows.back()[1] = loss;
    ++update;
  }
  return listed_table("Run",
                      {{"what", DataUnit::Words},
                       {"loss", DataUnit::Number},
                       {"time predicted", DataUnit::Time},
                       {"time measured", DataUnit::Time},
                       {"memory predicted", DataUnit::ByteCount},
                       {"memory measured", DataUnit::ByteCount},
                       {"likely cause", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

DataTable waterfall_table(const std::vector<WaterfallModel>& models) {
  std::vector<Row> rows;
  for (const WaterfallModel& model : models) {
    const bool time = model.unit == WaterfallUnit::Time;
    const auto figures = [&](std::int64_t a, std::int64_t b) {
      Row row(6);
      const std::size_t at = time ? 0 : 3;
      row[at] = a, row[at + 1] = b, row[at + 2] = b - a;
      return row;
    };
    const auto add = [&](const std::string& cause, std::int64_t a, std::int64_t b) {
      Row row{model.title, cause};
      for (DataCell& cell : figures(a, b)) row.push_back(std::move(cell));
      rows.push_back(std::move(row));
    };
    for (const WaterfallPart& part : model.parts) add(part.name, part.a, part.b);
    add("sum", model.a(), model.b());
  }
  return listed_table("Difference",
                      {{"of", DataUnit::Words},
                       {"cause", DataUnit::Words},
                       {"time of A", DataUnit::Time},
                       {"time of B", DataUnit::Time},
                       {"time, B less A", DataUnit::Time},
                       {"memory of A", DataUnit::ByteCount},
                       {"memory of B", DataUnit::ByteCount},
                       {"memory, B less A", DataUnit::ByteCount}},
                      std::move(rows));
}

}  // namespace trainyard
