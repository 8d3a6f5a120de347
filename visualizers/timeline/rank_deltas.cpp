#include "visualizers/timeline/rank_deltas.h"

#include <algorithm>

#include "core/result/figures.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kHead = 22, kRow = 22, kAxis = 22, kPad = 12, kFigure = 62, kRadius = 4;

std::string change_of(Duration change) {
  return change == Duration{} ? "0 s" : (change > Duration{} ? "+" : "") + format_duration(change);
}
std::string change_of(Bytes change) {
  return change == 0_B ? "0 B" : (change > 0_B ? "+" : "") + format_bytes(change);
}

// One of the two columns: where 0 and the most lie.
struct Scale {
  float left = 0, right = 0;
  double most = 1;
  float x(std::int64_t value) const {
    return left + (right - left) * static_cast<float>(static_cast<double>(value) / most);
  }
};

// The one as a ring, the other as a dot, a bar between them.
void draw_pair(Drawing& drawing, const Scale& scale, float y, std::int64_t a, std::int64_t b,
               const std::string& change, float figure_x) {
  const float from = scale.x(a), to = scale.x(b);
  const Ink ink = b > a ? Ink::Swap : Ink::Forward;
  if (from != to)
    fill(drawing, {std::min(from, to), y - 2.5f, std::abs(to - from), 5}, {.ink = ink});
  disc(drawing, {to, y}, kRadius, {.ink = Ink::WeightGradient});
  disc(drawing, {from, y}, kRadius, {.ink = Ink::Canvas});
  ring(drawing, {from, y}, kRadius, {.ink = Ink::Text, .stroke = 1.5f});
  write(drawing, change, {figure_x, y}, 11, Weight::Medium,
        a == b  ? Ink::Text3
        : b > a ? Ink::Warn
                : Ink::Ok,
        Align::Right);
}

}  // namespace

RankDeltas rank_deltas(const Experiment& a, const Experiment& b) {
  RankDeltas deltas;
  deltas.capacity = std::min(a.result.capacity, b.result.capacity);
  if (a.program.devices != b.program.devices) return deltas;
  const std::vector<Breakdown> mine = rank_breakdowns(a), theirs = rank_breakdowns(b);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const DeviceId device{static_cast<std::uint32_t>(i)};
    deltas.ranks.push_back({rank_name(a.program, device), mine[i].bubble, theirs[i].bubble,
                            peak_of(a.waves[i]), peak_of(b.waves[i])});
  }
  return deltas;
}

float rank_deltas_height(const RankDeltas& deltas) {
  return kHead + kRow * static_cast<float>(deltas.ranks.size()) + kAxis;
}

void draw_rank_deltas(Drawing& drawing, const Rect& area, const RankDeltas& deltas,
                      const ViewState& state) {
  const ClipScope clip(drawing, area);
  if (deltas.ranks.empty()) {
    write(drawing, fit_text("The two have different numbers of stages.", area.width - 2 * kPad, 11),
          {area.x + kPad, area.y + 16}, 11, Weight::Regular, Ink::Text3);
    return;
  }
  float names = 0;
  Scale idle, peak;
  for (const RankDelta& r : deltas.ranks) {
    names = std::max(names, text_width(r.name, 11));
    idle.most = std::max(
        {idle.most, static_cast<double>(r.idle_a.count()), static_cast<double>(r.idle_b.count())});
    peak.most = std::max(
        {peak.most, static_cast<double>(r.peak_a.value), static_cast<double>(r.peak_b.value)});
  }
  peak.most = std::max(peak.most, static_cast<double>(deltas.capacity.value));
  const float left = area.x + kPad + names + 12;
  const float half = std::max(60.f, (area.right() - kPad - left) / 2);
  idle.left = left, idle.right = left + half - kFigure - 14;
  peak.left = left + half + 2, peak.right = area.right() - kPad - kFigure - 10;
  const float idle_figure = left + half - 14, peak_figure = area.right() - kPad;
  const float pitch = std::min(
      kRow, std::max(6.f, (area.height - kHead - kAxis) / static_cast<float>(deltas.ranks.size())));
  write(drawing, "Bubble, A to B", {idle.left, area.y + 11}, 10.5f, Weight::Medium, Ink::Text2);
  write(drawing, "Peak memory, A to B", {peak.left, area.y + 11}, 10.5f, Weight::Medium,
        Ink::Text2);
  const float top = area.y + kHead, bottom = top + pitch * static_cast<float>(deltas.ranks.size());
  const float limit = peak.x(deltas.capacity.value);
  line(drawing, {limit, top}, {limit, bottom}, {.ink = Ink::Text2, .dash_on = 3, .dash_off = 3});
  for (std::size_t i = 0; i < deltas.ranks.size(); ++i) {
    const RankDelta& r = deltas.ranks[i];
    const Item item{ItemKind::Lane, i};
    const Rect row{area.x, top + pitch * static_cast<float>(i), area.width, pitch};
    if (state.selected == item) fill(drawing, row, {.ink = Ink::AccentBackground});
    const float y = row.y + pitch / 2;
    if (pitch >= 11) write(drawing, r.name, {area.x + kPad, y}, 11, Weight::Medium, Ink::Text2);
    draw_pair(drawing, idle, y, r.idle_a.count(), r.idle_b.count(),
              pitch >= 11 ? change_of(r.idle_b - r.idle_a) : "", idle_figure);
    draw_pair(drawing, peak, y, r.peak_a.value, r.peak_b.value,
              pitch >= 11 ? change_of(r.peak_b - r.peak_a) : "", peak_figure);
    fill(drawing, row, {.ink = Ink::Canvas, .alpha = 0, .item = item});
  }
  const float y = bottom + 11;
  ring(drawing, {area.x + kPad + 4, y}, kRadius, {.ink = Ink::Text, .stroke = 1.5f});
  write(drawing, "A", {area.x + kPad + 12, y}, 10, Weight::Medium, Ink::Text2);
  disc(drawing, {area.x + kPad + 30, y}, kRadius, {.ink = Ink::WeightGradient});
  write(drawing, "B", {area.x + kPad + 38, y}, 10, Weight::Medium, Ink::Text2);
  write(drawing, format_duration(Duration{static_cast<std::int64_t>(idle.most)}), {idle.right, y},
        10, Weight::Medium, Ink::Text2, Align::Right);
  write(drawing, format_bytes(deltas.capacity), {limit, y}, 10, Weight::Medium, Ink::Text2,
        Align::Right);
}

Hover describe_rank_delta(const RankDeltas& deltas, Item item) {
  if (item.kind != ItemKind::Lane || item.tag >= deltas.ranks.size()) return {};
  const RankDelta& r = deltas.ranks[item.tag];
  return {r.name,
          "A to B",
          change_of(r.idle_b - r.idle_a) + " bubble, " + change_of(r.peak_b - r.peak_a),
          {"bubble " + format_duration(r.idle_a) + " in A, " + format_duration(r.idle_b) + " in B",
           "peak " + format_bytes(r.peak_a) + " in A, " + format_bytes(r.peak_b) + " in B",
           "click to see its memory"}};
}

}  // namespace trainyard
