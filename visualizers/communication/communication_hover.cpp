#include <algorithm>
#include <string>
#include <utility>

#include "core/cost/collectives/bus_bandwidth.h"
#include "visualizers/communication/communication_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostInTable = 4096;  // devices whose pairs are listed
constexpr std::size_t kNamesTold = 4;

std::string devices_text(std::int64_t first, std::int64_t count, std::int64_t devices) {
  const std::int64_t last = std::min(devices, first + count) - 1;
  return last <= first ? "device " + std::to_string(first)
                       : "devices " + std::to_string(first) + "\u2013" + std::to_string(last);
}

std::string names_of(const std::vector<const CommunicationFlow*>& flows) {
  std::vector<std::string> names;
  for (const CommunicationFlow* flow : flows)
    if (const std::string name = flow_name(*flow);
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  std::string words;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesTold); ++i)
    words += (words.empty() ? "" : ", ") + names[i];
  if (names.size() > kNamesTold)
    words += " and " + std::to_string(names.size() - kNamesTold) + " more";
  return words;
}

Hover describe_cell(const CommunicationModel& model, const TrafficGrid& grid, std::uint64_t tag) {
  const TrafficCell& cell = grid.cell[tag];
  if (cell.pairs == 0) return {};
  const auto row = static_cast<std::int64_t>(tag / grid.cells),
             column = static_cast<std::int64_t>(tag % grid.cells);
  const bool single = grid.per_cell == 1;
  Hover hover{devices_text(row * grid.per_cell, grid.per_cell, model.devices) + " \u2192 " +
                  devices_text(column * grid.per_cell, grid.per_cell, model.devices),
              single ? "" : format_count(cell.pairs) + " pairs",
              quantity_text(cell.sum.bytes, TrafficQuantity::Sent) + " per step",
              {}};
  hover.title[0] = 'D';
  const CommunicationLevel& link = level_between(model, cell.from, cell.to);
  const double reached = quantity_of(cell.sum, TrafficQuantity::Bandwidth);
  std::string rate = quantity_text(cell.sum.messages, TrafficQuantity::Messages) + " messages, " +
                     quantity_text(cell.sum.seconds, TrafficQuantity::Time) + ", " +
                     format_bandwidth({reached});
  if (link.bandwidth.value > 0)
    rate += " of " + format_bandwidth(link.bandwidth) + " (" +
            format_percent(reached / link.bandwidth.value) + ")";
  hover.lines.push_back(std::move(rate));
  hover.lines.push_back(names_of(flows_between(model, cell.from, cell.to)) + " over " + link.name);
  if (!single)
    hover.lines.push_back("largest: " + std::to_string(cell.from) + " \u2192 " +
                          std::to_string(cell.to) + ", " + quantity_text(cell.most, grid.quantity));
  hover.lines.push_back("collectives drawn as rings through their group in rank order");
  return hover;
}

Hover describe_flow(const CommunicationModel& model, const CommunicationFlow& flow) {
  const CommunicationLevel& link = model.levels[flow.level];
  Hover hover{flow_name(flow),
              "among " + std::to_string(flow.ranks) + " ranks",
              format_bytes(flow.each) + " each",
              {}};
  hover.title[0] = static_cast<char>(hover.title[0] - 'a' + 'A');
  const BytesPerSecond bus = bus_bandwidth(flow);
  hover.lines.push_back(format_count(static_cast<std::int64_t>(flow.calls + 0.5)) +
                        " calls per step, " + format_duration(flow.time) +
                        " each, alone on the link");
  if (flow.kind == TaskKind::Send) {
    hover.lines.push_back(format_bandwidth(bus) + " of " + format_bandwidth(link.bandwidth) + ", " +
                          link.name);
    return hover;
  }
  hover.lines.push_back("algbw " + format_bandwidth(algorithm_bandwidth(flow)) + ", busbw " +
                        format_bandwidth(bus) + " = algbw \u00D7 " +
                        std::string(bus_formula(flow.collective)) +
                        ", p = " + std::to_string(flow.ranks));
  hover.lines.push_back("priced as " + std::string(to_string(flow.algorithm)) + "; " + link.name +
                        " binds, " + format_bandwidth(link_rate(model, flow)) +
                        " per device and direction");
  return hover;
}

std::vector<DataCell> call_cells(const CommunicationModel& model, const CommunicationFlow& flow) {
  const bool message = flow.kind == TaskKind::Send;
  const CommunicationLevel& link = model.levels[flow.level];
  const BytesPerSecond rate = link_rate(model, flow);
  return {flow_name(flow),
          std::int64_t{flow.from.value},
          {},
          {},
          message ? DataCell{} : DataCell{flow.ranks},
          message ? DataCell{} : DataCell{std::string(to_string(flow.algorithm))},
          flow.each.value,
          flow.calls,
          flow.bytes,
          flow.messages,
          seconds(flow.seconds).count(),
          algorithm_bandwidth(flow).value,
          bus_bandwidth(flow).value,
          rate.value,
          link.name};
}

std::vector<DataCell> pair_cells(const CommunicationModel& model, std::int64_t from,
                                 const PairTraffic& pair) {
  const CommunicationLevel& link = level_between(model, from, pair.to);
  const double rate = quantity_of(pair, TrafficQuantity::Bandwidth);
  return {std::string("pair"),
          std::int64_t{rank_of(model, from).value},
          from,
          pair.to,
          {},
          {},
          {},
          {},
          pair.bytes,
          pair.messages,
          seconds(pair.seconds).count(),
          rate,
          rate,
          link.bandwidth.value,
          link.name};
}

}  // namespace

Hover describe_communication(const CommunicationModel& model, const TrafficGrid& grid, Item item) {
  if (item.kind == ItemKind::Cell && item.tag < grid.cell.size())
    return describe_cell(model, grid, item.tag);
  if (item.kind == ItemKind::Legend && item.tag < model.flows.size())
    return describe_flow(model, model.flows[item.tag]);
  return {};
}

std::string communication_words(const CommunicationModel& model, const TrafficGrid& grid) {
  if (grid.bytes <= 0) return "no device sends anything to another";
  return quantity_text(grid.bytes, TrafficQuantity::Sent) + " per step between " +
         format_count(model.devices) + " devices, " + format_percent(grid.inside / grid.bytes) +
         " of it inside nodes";
}

DataTable communication_table(const CommunicationModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (std::size_t i = 0; i < model.flows.size(); ++i) {
    rows.push_back(call_cells(model, model.flows[i]));
    items.push_back({ItemKind::Legend, i});
  }
  if (model.devices <= kMostInTable)
    for (std::int64_t device = 0; device < model.devices; ++device)
      for (const PairTraffic& pair : sent_by(model, device)) {
        rows.push_back(pair_cells(model, device, pair));
        items.push_back({});
      }
  return listed_table("Communication",
                      {{"call", DataUnit::Words},
                       {"pipeline rank", DataUnit::Count},
                       {"from device", DataUnit::Count},
                       {"to device", DataUnit::Count},
                       {"ranks", DataUnit::Count},
                       {"algorithm", DataUnit::Words},
                       {"each", DataUnit::ByteCount},
                       {"calls per step", DataUnit::Number},
                       {"sent per step", DataUnit::ByteCount},
                       {"messages per step", DataUnit::Number},
                       {"time per step", DataUnit::Time},
                       {"algbw", DataUnit::Bandwidth},
                       {"busbw", DataUnit::Bandwidth},
                       {"link", DataUnit::Bandwidth},
                       {"link's name", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

}  // namespace trainyard
