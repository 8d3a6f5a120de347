#include "visualizers/energy/energy_view.h"

#include <algorithm>

#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kHighestRow = 44, kLowestRow = 3, kCostRow = 58, kCosts = 380, kRankName = 92;

std::string energy_text(const EnergyModel& model, const EnergyPart& part) {
  if (!model.draw) return format_step_time(part.time) + " per device";
  return band_text(Banded<Joules>{part.energy, part.energy, part.energy, {}}).value;
}

double weight_of(const EnergyModel& model, const EnergyPart& part) {
  return model.draw ? part.energy.value : to_seconds(part.time);
}

double highest_sum(const EnergyModel& model) {
  double most = 0;
  for (std::size_t rank = 0; rank < model.ranks.size(); ++rank) {
    double sum = 0;
    for (const EnergyPart& part : energy_parts(model, rank)) sum += weight_of(model, part);
    most = std::max(most, sum);
  }
  return most;
}

void draw_rank_bar(Drawing& drawing, const Rect& row, const EnergyModel& model, std::size_t rank,
                   double most, const EnergyState& state) {
  const Item item{ItemKind::Lane, rank};
  float x = row.x + kRankName;
  const float room = row.width - kRankName - 84;
  const Rect bar{x, row.y, room, std::max(2.f, row.height - (row.height > 8 ? 6 : 1))};
  double sum = 0;
  for (const EnergyPart& part : energy_parts(model, rank)) {
    const auto width = static_cast<float>(weight_of(model, part) / most) * room;
    const Rect rect{x, bar.y, width, bar.height};
    if (part.idle) {
      fill(drawing, rect, {.ink = Ink::Canvas, .item = item});
      hatch(drawing, rect, Pattern::Idle, item);
    } else {
      box(drawing, rect, {.ink = part.ink, .item = item});
    }
    x += width;
    sum += weight_of(model, part);
  }
  if (state.selected == item) frame_selected(drawing, {bar.x, bar.y, x - bar.x, bar.height}, 2);
  if (row.height < 12) return;
  const float middle = bar.y + bar.height / 2;
  write(drawing, model.rank_word + " " + std::to_string(rank), {row.x, middle}, 11, Weight::Medium,
        Ink::Text);
  const EnergyPart whole{"", Ink::Text, false, model.ranks[rank].sum(), {sum}};
  write(drawing, model.draw ? energy_text(model, whole) : format_step_time(whole.time),
        {x + 8, middle}, 10.5f, Weight::Medium, Ink::Text2);
}

void draw_ranks(Drawing& drawing, const Rect& area, const EnergyModel& model,
                const EnergyState& state) {
  const double most = highest_sum(model);
  if (model.ranks.empty() || most <= 0) return;
  const ClipScope clip(drawing, area);
  write(drawing,
        model.draw ? "Energy per step by activity, " + format_count(model.replicas) +
                         (model.replicas == 1 ? " device per row" : " devices per row")
                   : "Time per step by activity; the device's power is not stated",
        {area.x, area.y + 8}, 10.5f, Weight::Regular, Ink::Text2);
  const float top = area.y + 24;
  const float pitch = std::clamp(
      (area.bottom() - top - 26) / static_cast<float>(model.ranks.size()), kLowestRow, kHighestRow);
  for (std::size_t rank = 0; rank < model.ranks.size(); ++rank) {
    const float y = top + pitch * static_cast<float>(rank);
    if (y + pitch > area.bottom() - 20) break;
    draw_rank_bar(drawing, {area.x, y, area.width, pitch}, model, rank, most, state);
  }
  const float y =
      std::min(area.bottom() - 8, top + pitch * static_cast<float>(model.ranks.size()) + 12);
  std::vector<LegendEntry> entries;
  for (const EnergyPart& part : energy_parts(model, 0))
    entries.push_back({part.name, part.idle ? idle_sign() : box_sign(part.ink)});
  draw_legend_after(drawing, {area.x + kRankName, y}, area.right(), entries);
}

// Bars of what gates and wires take for the operations that take most, by memory level.
void draw_operations(Drawing& drawing, const Rect& area, const EnergyModel& model,
                     const EnergyState& state) {
  constexpr float kRow = 18, kName = 150;
  constexpr Ink kLevels[] = {Ink::Recompute, Ink::Swap, Ink::Communication};
  if (model.operations.empty() || area.height < 5 * kRow) return;
  const ClipScope clip(drawing, area);
  const WorkEnergy all = total(model.operations);
  write(drawing,
        "Gates and wires at 45 nm: " +
            band_text(Banded<Joules>{all.total(), all.total(), all.total(), {}}).value +
            " per step by operation and memory level",
        {area.x, area.y + 8}, 10.5f, Weight::Regular, Ink::Text2);
  const double most = model.operations.front().energy.total().value;
  float y = area.y + 22;
  for (std::size_t i = 0; i < model.operations.size() && y + 2 * kRow < area.bottom(); ++i) {
    const OperationEnergy& one = model.operations[i];
    const Item item{ItemKind::Cell, i};
    const float room = area.width - kName - 70;
    float x = area.x + kName;
    const auto part = [&](Joules energy, Ink ink) {
      const auto width = static_cast<float>(energy.value / most) * room;
      box(drawing, {x, y, width, kRow - 5}, {.ink = ink, .item = item});
      x += width;
    };
    part(one.energy.arithmetic, Ink::Forward);
    for (std::size_t l = 0; l < one.energy.levels.size(); ++l)
      part(one.energy.levels[l].energy, kLevels[std::min(l, std::size(kLevels) - 1)]);
    if (state.selected == item)
      frame_selected(drawing, {area.x + kName, y, x - area.x - kName, kRow - 5}, 2);
    write(drawing, one.name, {area.x, y + kRow / 2 - 2}, 10.5f, Weight::Medium, Ink::Text);
    write(drawing, format_percent(one.energy.total().value / all.total().value),
          {x + 6, y + kRow / 2 - 2}, 10.5f, Weight::Medium, Ink::Text2);
    y += kRow;
  }
  std::vector<LegendEntry> entries = {{"arithmetic", box_sign(Ink::Forward)}};
  for (std::size_t l = 0; l < all.levels.size(); ++l)
    entries.push_back({std::string(energy_row(all.levels[l].level).name),
                       box_sign(kLevels[std::min(l, std::size(kLevels) - 1)])});
  draw_legend_after(drawing, {area.x + kName, y + 6}, area.right(), entries);
}

// Ranks above, operations beneath where there is room for both.
void draw_bars(Drawing& drawing, const Rect& area, const EnergyModel& model,
               const EnergyState& state) {
  constexpr float kOperations = 190;
  const float wanted = 24 + 46 + 22 * static_cast<float>(model.ranks.size());
  const bool both = !model.operations.empty() && area.height - kOperations > wanted;
  const float ranks = both ? area.height - kOperations : area.height;
  draw_ranks(drawing, {area.x, area.y, area.width, ranks}, model, state);
  if (both)
    draw_operations(drawing, {area.x, area.y + ranks + 8, area.width, kOperations - 8}, model,
                    state);
}

void draw_costs(Drawing& drawing, const Rect& area, const EnergyModel& model,
                const EnergyState& state) {
  const ClipScope clip(drawing, area);
  float y = area.y;
  const std::vector<EnergyCost> costs = energy_costs(model, state);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const EnergyCost& cost = costs[i];
    const Item item{ItemKind::Legend, i};
    const Rect card{area.x, y, area.width, kCostRow - 6};
    fill(drawing, card, {.ink = Ink::Panel, .item = item});
    outline(drawing, card, {.ink = state.selected == item ? Ink::Select : Ink::Border});
    write(drawing, cost.name, {card.x + 10, y + 13}, 11, Weight::SemiBold, Ink::Text);
    const std::string time =
        i == 0 ? format_step_time(model.step.value)
        : cost.days.value < 0.1
            ? format_duration(seconds(cost.days.value * 86400))
            : band_number({cost.days.value, cost.days.value, cost.days.value, {}}, "days").value;
    write(drawing, time, {card.right() - 10, y + 13}, 10.5f, Weight::Medium, Ink::Text2,
          Align::Right);
    const auto figure = [&](const BandText& text, float left) {
      write(drawing, text.value, {left, y + 29}, 12, Weight::SemiBold, Ink::Text);
      if (!text.range.empty())
        write(drawing, text.range, {left, y + 43}, 10, Weight::Regular, Ink::Text3);
    };
    const float column = (card.width - 20) / (cost.carbon ? 3.f : 2.f);
    if (cost.energy) figure(band_text(*cost.energy), card.x + 10);
    if (cost.money) figure(band_number(*cost.money, "$"), card.x + 10 + column);
    if (cost.carbon) figure(carbon_text(*cost.carbon), card.x + 10 + 2 * column);
    y += kCostRow;
  }
  y += 6;
  for (const std::string& source : energy_sources(model, state)) {
    const bool missing = source.substr(0, 7) == "missing";
    for (const std::string& line : wrapped_lines(source, area.width - 10, 10)) {
      if (y + 12 > area.bottom()) return;
      write(drawing, line, {area.x, y + 6}, 10, Weight::Regular, missing ? Ink::Warn : Ink::Text3);
      y += 14;
    }
    y += 4;
  }
}

Hover describe_operation(const OperationEnergy& one) {
  const auto words = [](Joules energy) {
    return band_text(Banded<Joules>{energy, energy, energy, {}}).value;
  };
  Hover hover{one.name,
              format_count(one.calls) + " calls in a step on all devices",
              words(one.energy.total()),
              {}};
  std::string parts = "arithmetic " + words(one.energy.arithmetic);
  for (const LevelEnergy& level : one.energy.levels)
    parts += ", " + std::string(energy_row(level.level).name) + " " + words(level.energy);
  hover.lines.push_back(parts);
  hover.lines.emplace_back(kEnergyTableSource);
  return hover;
}

}  // namespace

void draw_energy(Drawing& drawing, const Rect& area, const EnergyModel& model,
                 const EnergyState& state) {
  const ClipScope clip(drawing, area);
  const Rect header{area.x, area.y, area.width, kSectionBar};
  const std::string words = format_count(model.devices) + " \u00D7 " + model.device +
                            ", computing " + format_percent(model.busy) + " of the time";
  write_in_section_bar(drawing, header, draw_section_bar(drawing, header, "Energy and money"),
                       header.right() - 20, words);
  const bool beside = area.width >= 760;
  const float top = header.bottom() + 12, height = std::max(0.f, area.bottom() - top - 6);
  if (beside) {
    draw_bars(drawing, {area.x + 10, top, area.width - kCosts - 44, height}, model, state);
    draw_costs(drawing, {area.right() - kCosts - 10, top, kCosts, height}, model, state);
  } else {
    const float costs = std::min(height * 0.6f, 3 * kCostRow + 70);
    draw_costs(drawing, {area.x + 10, top, area.width - 20, costs}, model, state);
    draw_bars(drawing, {area.x + 10, top + costs + 8, area.width - 20, height - costs - 8}, model,
              state);
  }
}

Hover describe_energy(const EnergyModel& model, const EnergyState& state, Item item) {
  if (item.kind == ItemKind::Lane && item.tag < model.ranks.size()) {
    Hover hover{model.rank_word + " " + std::to_string(item.tag),
                format_count(model.replicas) + (model.replicas == 1 ? " device" : " devices"),
                format_step_time(model.ranks[item.tag].sum()),
                {}};
    std::string words;
    for (const EnergyPart& part : energy_parts(model, item.tag))
      words += (words.empty() ? "" : ", ") + part.name + " " + energy_text(model, part);
    hover.lines.push_back(words);
    if (model.energy) hover.lines.push_back(model.energy->basis);
    return hover;
  }
  if (item.kind == ItemKind::Cell && item.tag < model.operations.size())
    return describe_operation(model.operations[item.tag]);
  const std::vector<EnergyCost> costs = energy_costs(model, state);
  if (item.kind != ItemKind::Legend || item.tag >= costs.size()) return {};
  const EnergyCost& cost = costs[item.tag];
  Hover hover{cost.name,
              format_count(static_cast<std::int64_t>(std::min(cost.steps + 0.5, 9e18))) +
                  (cost.steps == 1 ? " step" : " steps"),
              cost.energy ? band_text(*cost.energy).text() : "",
              {}};
  if (cost.money)
    hover.lines.push_back(band_number(*cost.money, "$").text() + ", " + cost.money->basis);
  if (cost.carbon)
    hover.lines.push_back(carbon_text(*cost.carbon).text() + ", " + cost.carbon->basis);
  if (cost.energy) hover.lines.push_back(cost.energy->basis);
  hover.lines.push_back(
      "energy = devices \u00D7 power \u00D7 time; money = devices \u00D7 hours "
      "\u00D7 price");
  return hover;
}

DataTable energy_table(const EnergyModel& model, const EnergyState& state) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  const bool known = model.draw.has_value();
  for (std::size_t rank = 0; rank < model.ranks.size(); ++rank)
    for (const EnergyPart& part : energy_parts(model, rank)) {
      rows.push_back({model.rank_word + " " + std::to_string(rank),
                      part.name,
                      part.time.count(),
                      known ? DataCell{part.energy.value} : DataCell{},
                      {},
                      {},
                      {},
                      {},
                      {},
                      1.0,
                      {}});
      items.push_back({ItemKind::Lane, rank});
    }
  std::size_t index = 0;
  for (const EnergyCost& cost : energy_costs(model, state)) {
    std::vector<DataCell> row = {std::string("all devices"), cost.name,
                                 seconds(cost.days.value * 86400).count()};
    const auto add = [&](bool there, double value, double low, double high) {
      for (const double figure : {value, low, high}) {
        DataCell& cell = row.emplace_back();
        if (there) cell = figure;
      }
    };
    const Banded<Joules> energy = cost.energy.value_or(Banded<Joules>{});
    const Banded<double> money = cost.money.value_or(Banded<double>{});
    add(cost.energy.has_value(), energy.value.value, energy.low.value, energy.high.value);
    add(cost.money.has_value(), money.value, money.low, money.high);
    row.emplace_back(cost.steps);
    row.emplace_back(cost.carbon ? DataCell{cost.carbon->value} : DataCell{});
    rows.push_back(std::move(row));
    items.push_back({ItemKind::Legend, index++});
  }
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const OperationEnergy& one = model.operations[i];
    const auto add = [&](std::string_view what, Joules energy) {
      rows.push_back(
          {"gates: " + one.name, std::string(what), {}, energy.value, {}, {}, {}, {}, {}, 1.0, {}});
      items.push_back({ItemKind::Cell, i});
    };
    add("arithmetic", one.energy.arithmetic);
    for (const LevelEnergy& level : one.energy.levels)
      add(energy_row(level.level).name, level.energy);
  }
  return listed_table("Energy and money",
                      {{"of", DataUnit::Words},
                       {"what", DataUnit::Words},
                       {"time", DataUnit::Time},
                       {"energy", DataUnit::Energy},
                       {"energy, low", DataUnit::Energy},
                       {"energy, high", DataUnit::Energy},
                       {"money", DataUnit::Money},
                       {"money, low", DataUnit::Money},
                       {"money, high", DataUnit::Money},
                       {"steps", DataUnit::Number},
                       {"carbon in kg CO2e", DataUnit::Number}},
                      std::move(rows), std::move(items));
}

}  // namespace trainyard
