#include "visualizers/compare/outperforming_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kJudgedRow = 96, kJudgedPad = 12, kJudgedTitle = 16, kLaneA = 38, kLaneB = 60,
                kJudgedFoot = 82;
constexpr float kGaugeShare = 0.3f, kNameWidth = 20, kMostGauge = 360;

Item run_item(std::size_t figure, std::size_t run, bool b) {
  return {ItemKind::Dot, (std::uint64_t{figure} << 32) + 2 * std::uint64_t{run} + (b ? 1 : 0)};
}

/// The values of both sides along an axis.
struct DotAxis {
  Rect rect;
  double low = 0, high = 1;
  float x(double value) const {
    return rect.x + rect.width * static_cast<float>((value - low) / (high - low));
  }
};

DotAxis dot_axis(const Rect& rect, const OutperformingScores& scores) {
  DotAxis axis{rect, scores.a.front(), scores.a.front()};
  for (const std::vector<double>* side : {&scores.a, &scores.b})
    for (const double value : *side)
      axis.low = std::min(axis.low, value), axis.high = std::max(axis.high, value);
  const double room = axis.high > axis.low ? 0.05 * (axis.high - axis.low)
                                           : std::max(1e-9, std::abs(axis.low) / 20);
  axis.low -= room, axis.high += room;
  return axis;
}

Ink outcome_ink(const Outperforming& verdict) {
  return verdict.outcome == RunsVerdict::Better          ? Ink::Ok
         : verdict.outcome == RunsVerdict::NotMeaningful ? Ink::Warn
                                                         : Ink::Text2;
}

void draw_dots(Drawing& drawing, const DotAxis& axis, const JudgedFigure& figure,
               std::size_t index) {
  const OutperformingScores& scores = figure.scores;
  const float y[] = {axis.rect.y + kLaneA, axis.rect.y + kLaneB};
  for (int side = 0; side < 2; ++side) {
    line(drawing, {axis.rect.x, y[side]}, {axis.rect.right(), y[side]}, {.ink = Ink::Border});
    write(drawing, side == 0 ? "A" : "B", {axis.rect.x - kNameWidth, y[side]}, 11, Weight::SemiBold,
          Ink::Text2);
  }
  for (std::size_t i = 0; scores.paired && i < scores.a.size(); ++i) {
    const bool wins = scores.less_is_better ? scores.b[i] < scores.a[i] : scores.b[i] > scores.a[i];
    line(drawing, {axis.x(scores.a[i]), y[0]}, {axis.x(scores.b[i]), y[1]},
         {.ink = wins ? Ink::Ok : Ink::Text3, .alpha = 0.5f});
  }
  for (int side = 0; side < 2; ++side) {
    const std::vector<double>& values = side == 0 ? scores.a : scores.b;
    for (std::size_t i = 0; i < values.size(); ++i)
      disc(drawing, {axis.x(values[i]), y[side]}, 3.5f,
           {.ink = side == 0 ? Ink::Communication : Ink::Forward,
            .alpha = 0.8f,
            .item = run_item(index, i, side == 1)});
  }
  // Too narrow a plot has the two ends, and no words over each other.
  const double lowest = axis.low, highest = axis.high;
  write(drawing, judged_text(figure, lowest), {axis.rect.x, axis.rect.y + kJudgedFoot}, 10,
        Weight::Medium, Ink::Text3);
  write(drawing, judged_text(figure, highest), {axis.rect.right(), axis.rect.y + kJudgedFoot}, 10,
        Weight::Medium, Ink::Text3, Align::Right);
  if (axis.rect.width > 260)
    write(drawing, figure.scores.less_is_better ? "← better" : "better →",
          {axis.rect.x + axis.rect.width / 2, axis.rect.y + kJudgedFoot}, 10, Weight::Medium,
          Ink::Text3, Align::Center);
}

void draw_gauge(Drawing& drawing, const Rect& rect, const Outperforming& verdict,
                std::size_t index) {
  const float y = rect.y + (kLaneA + kLaneB) / 2;
  const auto x = [&](double share) { return rect.x + rect.width * static_cast<float>(share); };
  fill(drawing, {rect.x, rect.y, rect.width, rect.height},
       {.ink = Ink::Canvas, .alpha = 0, .item = {ItemKind::Other, index}});
  fill(drawing, {rect.x, y - 4, rect.width, 8}, {.ink = Ink::Border});
  for (const double mark : {1 - kMeaningful, 0.5, kMeaningful}) {
    line(drawing, {x(mark), y - 11}, {x(mark), y + 11}, {.ink = Ink::Axis});
    if (rect.width > 150)
      write(drawing, fmt::format("{:.0f} %", 100 * mark), {x(mark), rect.y + kJudgedFoot}, 10,
            Weight::Medium, Ink::Text3, Align::Center);
  }
  const Ink ink = outcome_ink(verdict);
  if (verdict.outcome != RunsVerdict::TooFew)
    fill(drawing, {x(verdict.low), y - 3, std::max(2.f, x(verdict.high) - x(verdict.low)), 6},
         {.ink = ink, .alpha = 0.6f});
  disc(drawing, {x(verdict.probability), y}, 5, {.ink = ink, .item = {ItemKind::Other, index}});
  write(drawing, "A wins", {rect.x, rect.y + kLaneA - 6}, 10, Weight::Medium, Ink::Text3);
  write(drawing, "B wins", {rect.right(), rect.y + kLaneA - 6}, 10, Weight::Medium, Ink::Text3,
        Align::Right);
}

}  // namespace

float outperforming_height(const std::vector<JudgedFigure>& figures) {
  return kJudgedRow * static_cast<float>(figures.size());
}

void draw_outperforming(Drawing& drawing, const Rect& area,
                        const std::vector<JudgedFigure>& figures) {
  const float gauge = std::min(kMostGauge, area.width * kGaugeShare);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const JudgedFigure& figure = figures[i];
    const Rect row{area.x, area.y + kJudgedRow * static_cast<float>(i), area.width, kJudgedRow};
    const ClipScope clip(drawing, row);
    fill(drawing, row, {.ink = Ink::Panel});
    line(drawing, {row.x, row.bottom() - 0.5f}, {row.right(), row.bottom() - 0.5f},
         {.ink = Ink::Border});
    const float title = text_width(figure.title, 12, Weight::SemiBold) + 12;
    write(drawing, figure.title, {row.x + kJudgedPad, row.y + kJudgedTitle}, 12, Weight::SemiBold,
          Ink::Text);
    write_within(drawing, outperforming_sentence(figure.verdict),
                 {row.x + kJudgedPad + title, row.y + kJudgedTitle},
                 row.width - 2 * kJudgedPad - title, 12, Weight::Regular,
                 outcome_ink(figure.verdict));
    const Rect plot{row.x + kJudgedPad + kNameWidth, row.y,
                    std::max(1.f, row.width - gauge - 4 * kJudgedPad - kNameWidth), kJudgedRow};
    draw_dots(drawing, dot_axis(plot, figure.scores), figure, i);
    draw_gauge(drawing, {row.right() - kJudgedPad - gauge, row.y, gauge, kJudgedRow},
               figure.verdict, i);
  }
}

Hover describe_outperforming(const std::vector<JudgedFigure>& figures, Item item) {
  if (item.kind == ItemKind::Other && item.tag < figures.size()) {
    const JudgedFigure& figure = figures[item.tag];
    const Outperforming& v = figure.verdict;
    return {figure.title,
            "",
            fmt::format("B wins in {:.0f} % of {}", 100 * v.probability,
                        v.paired ? "pairs" : "all pairings"),
            {fmt::format("95 % interval {:.0f} % to {:.0f} %", 100 * v.low, 100 * v.high),
             fmt::format("p = {:.2g}", v.p_value), outcome_words(v)}};
  }
  const std::size_t index = item.tag >> 32;
  if (item.kind != ItemKind::Dot || index >= figures.size()) return {};
  const JudgedFigure& figure = figures[index];
  const bool b = item.tag % 2 == 1;
  const std::size_t run = (item.tag & 0xffffffff) / 2;
  const std::vector<double>& values = b ? figure.scores.b : figure.scores.a;
  if (run >= values.size()) return {};
  Hover hover{fmt::format("Run {} of {}", run + 1, b ? "B" : "A"),
              "",
              judged_text(figure, values[run]),
              {figure.title}};
  if (figure.scores.paired)
    hover.lines.push_back("its pair: " +
                          judged_text(figure, (b ? figure.scores.a : figure.scores.b)[run]));
  return hover;
}

std::string spell_outperforming(const std::vector<JudgedFigure>& figures) {
  std::string words;
  for (const JudgedFigure& figure : figures)
    words += (words.empty() ? "" : " ") + judged_sentence(figure);
  return words;
}

DataTable outperforming_table(const std::vector<JudgedFigure>& figures) {
  std::vector<std::vector<DataCell>> rows;
  for (const JudgedFigure& figure : figures)
    for (const auto& [name, values] :
         {std::pair{"A", &figure.scores.a}, std::pair{"B", &figure.scores.b}})
      for (std::size_t i = 0; i < values->size(); ++i)
        rows.push_back({figure.title, std::string(name), static_cast<std::int64_t>(i + 1),
                        judged_text(figure, (*values)[i])});
  return listed_table("Runs of A and B",
                      {{"figure", DataUnit::Words},
                       {"side", DataUnit::Words},
                       {"run", DataUnit::Count},
                       {"value", DataUnit::Words}},
                      std::move(rows));
}

}  // namespace trainyard
