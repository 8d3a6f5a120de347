#include "visualizers/utilisation/utilisation_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/statistics.h"

namespace trainyard {
namespace {

constexpr float kAllRanks = 84, kAllRanksMost = 140, kBelowAll = 6, kTallest = 110, kLowest = 8,
                kLink = 4;
constexpr double kWhole = 1e9;  // shares are counted in billionths

struct StackPart {
  Ink ink;
  const char* name;
};
constexpr std::array<StackPart, 5> kBusyParts = {{{Ink::Forward, "forward"},
                                                  {Ink::Backward, "backward"},
                                                  {Ink::WeightGradient, "weight gradient"},
                                                  {Ink::Recompute, "recompute"},
                                                  {Ink::Optimizer, "optimizer"}}};

double part(const BusyShare& share, Ink ink) {
  return static_cast<double>(share.share[static_cast<std::size_t>(ink)]) / kWhole;
}

// The FLOPs that a row has done by an instant. Those of a span are spread evenly over it.
double done_by(const SpanStore& store, const WorkDone& work, const std::vector<double>& done,
               Instant at) {
  const std::uint32_t next = window(store, work.row, at, at + Duration{1}).first;
  if (next + 1 >= done.size()) return done.back();
  const RowSpan span = span_at(store, work.row, next);
  const double length = to_seconds(span.end - span.start);
  const double past = to_seconds(std::max(Duration{0}, at - span.start));
  return done[next] + (length > 0 ? (done[next + 1] - done[next]) * past / length : 0);
}

void add_flops(BusyShare& sum, const SpanStore& store, const WorkDone& work, Instant from,
               Instant to) {
  const auto within = [&](const std::vector<double>& done) {
    return done_by(store, work, done, to) - done_by(store, work, done, from);
  };
  sum.hardware.value += within(work.hardware);
  sum.model.value += within(work.model);
}

// The bins of one row of the picture, from left to right.
using Bins = std::vector<BusyShare>;

Bins bins_of(const TimelineModel& timeline, const UtilisationModel& model, std::size_t rank,
             const Viewport& v, int count) {
  Bins bins(static_cast<std::size_t>(count));
  const double ns = static_cast<double>((v.to - v.from).count()) / count;
  const auto edge = [&](int i) {
    return v.from + Duration{std::llround(ns * static_cast<double>(i))};
  };
  for (int i = 0; i < count; ++i)
    bins[static_cast<std::size_t>(i)] = busy_share(timeline, model, rank, edge(i), edge(i + 1));
  return bins;
}

void draw_stack(Drawing& drawing, const Rect& plot, const Bins& bins, Item item) {
  fill(drawing, plot, {.ink = Ink::Canvas, .item = item});
  hatch(drawing, plot, Pattern::Idle, item);
  std::vector<double> below(bins.size(), 0.0);
  for (const StackPart& category : kBusyParts) {
    std::vector<Column> list;
    list.reserve(bins.size());
    bool any = false;
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const double share = part(bins[i], category.ink);
      const auto y = [&](double value) {
        return plot.bottom() - plot.height * static_cast<float>(std::min(1.0, value));
      };
      list.push_back({y(below[i] + share), y(below[i])});
      below[i] += share;
      any = any || share > 0;
    }
    if (any) columns(drawing, plot, list, {.ink = category.ink, .item = item});
  }
}

void draw_link(Drawing& drawing, const Rect& plot, const Bins& bins) {
  std::vector<Column> list;
  for (const BusyShare& bin : bins)
    list.push_back({plot.bottom() - plot.height * static_cast<float>(bin.link), plot.bottom()});
  columns(drawing, plot, list, {.ink = Ink::Communication});
}

double utilisation_of(const BusyShare& bin, const UtilisationModel& model, double seconds) {
  const double possible = seconds * model.peak.value;
  return possible > 0 ? std::min(1.0, bin.hardware.value / possible) : 0;
}

// Draws the mean of all ranks, the share of the peak that they reach, and lines for the MFU and the
// HFU of the step.
void draw_all(Drawing& drawing, const Rect& area, const TimelineModel& timeline,
              const UtilisationModel& model, const std::vector<Bins>& ranks, const Viewport& v) {
  const std::size_t count = ranks.front().size();
  Bins mean(count);
  for (const Bins& bins : ranks)
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < kCategorySlots; ++c)
        mean[i].share[c] += bins[i].share[c] / static_cast<std::int64_t>(ranks.size());
      mean[i].hardware += bins[i].hardware;
    }
  const Rect plot{v.plot.x, area.y + 4, v.plot.width, area.height - 10};
  draw_stack(drawing, plot, mean, {ItemKind::Other, 0});
  const double seconds =
      to_seconds(v.to - v.from) / static_cast<double>(count) * static_cast<double>(ranks.size());
  const auto y = [&](double share) {
    return plot.bottom() - plot.height * static_cast<float>(std::clamp(share, 0.0, 1.0));
  };
  std::vector<Point> curve;
  for (std::size_t i = 0; i < count; ++i)
    curve.push_back(
        {plot.x + plot.width * (static_cast<float>(i) + 0.5f) / static_cast<float>(count),
         y(utilisation_of(mean[i], model, seconds))});
  if (model.peak.value > 0 && curve.size() > 1)
    polyline(drawing, curve, {.ink = Ink::Text, .stroke = 1.5f});
  const Result& result = timeline.experiment->result;
  const auto mark = [&](double share, const std::string& name, float lift) {
    if (share <= 0) return;
    line(drawing, {plot.x, y(share)}, {plot.right(), y(share)},
         {.ink = Ink::Cursor, .dash_on = 5, .dash_off = 3});
    const std::string words = name + " " + format_percent(share);
    draw_tag(drawing, words, {plot.right() - tag_width(words) - 4, y(share) - 8 - lift}, 14,
             Ink::Panel, Ink::Text);
  };
  // Without recomputation the MFU and the HFU are the same.
  const bool same = result.hfu - result.mfu < 5e-4;
  mark(result.mfu, same ? "MFU = HFU" : "MFU", 0);
  if (!same) mark(result.hfu, "HFU", std::max(0.f, 15 - (y(result.mfu) - y(result.hfu))));
  for (const double share : {0.0, 0.5, 1.0})
    write(drawing, format_percent(share).substr(0, share > 0 ? (share < 1 ? 2 : 3) : 1) + " %",
          {plot.x - 8, std::clamp(y(share), plot.y + 5, plot.bottom() - 5)}, 10, Weight::Regular,
          Ink::Text3, Align::Right);
  write(drawing, "All ranks", {area.x + 10, area.y + 14}, 11, Weight::SemiBold, Ink::Text);
  write(drawing, "line: FLOP/s", {area.x + 10, area.y + 30}, 10, Weight::Regular, Ink::Text3);
  write(drawing, "of dense peak", {area.x + 10, area.y + 43}, 10, Weight::Regular, Ink::Text3);
}

}  // namespace

UtilisationModel utilisation_model(const TimelineModel& timeline) {
  UtilisationModel model;
  const Experiment& e = *timeline.experiment;
  model.peak = e.result.peak_flops;
  const auto of_task = [](const std::vector<Flops>& list, std::uint32_t task) {
    return task < list.size() ? list[task].value : 0.0;
  };
  for (const RankLanes& rank : timeline.ranks) {
    model.ranks.emplace_back();
    for (const std::uint32_t row : rank.compute) {
      WorkDone work;
      work.row = row;
      double hardware = 0, needed = 0;
      work.hardware.push_back(0);
      work.model.push_back(0);
      const Stream& stream = e.program.streams[row];
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
        const std::uint32_t task = e.program.instructions[i].task.value;
        work.hardware.push_back(hardware += of_task(e.prices.flops, task));
        work.model.push_back(needed += of_task(e.prices.model_flops, task));
      }
      model.ranks.back().push_back(std::move(work));
    }
  }
  return model;
}

BusyShare busy_share(const TimelineModel& timeline, const UtilisationModel& model, std::size_t rank,
                     Instant from, Instant to) {
  BusyShare sum;
  const RankLanes& lanes = timeline.ranks[rank];
  const double length = to_seconds(to - from);
  if (length <= 0) return sum;
  BusyTimes times{};
  std::int64_t all = 0;
  for (const WorkDone& work : model.ranks[rank]) {
    const BusyTimes each = busy_times(timeline.spans, work.row, from, to);
    for (std::size_t c = 0; c < kCategorySlots; ++c) times[c] += each[c], all += each[c];
    add_flops(sum, timeline.spans, work, from, to);
  }
  const Duration busy = busy_time(timeline.spans, lanes.busy_row, from, to);
  sum.busy = std::min(1.0, to_seconds(busy) / length);
  // Lanes that work at the same time divide the busy time in proportion to their own times.
  for (std::size_t c = 0; c < kCategorySlots && all > 0; ++c)
    sum.share[c] =
        std::llround(kWhole * sum.busy * static_cast<double>(times[c]) / static_cast<double>(all));
  for (const std::uint32_t row : lanes.comm)
    sum.link = std::max(
        sum.link, std::min(1.0, to_seconds(busy_time(timeline.spans, row, from, to)) / length));
  return sum;
}

UtilisationLayout utilisation_layout(const TimelineModel& timeline, const Rect& area,
                                     const ViewState& state) {
  UtilisationLayout layout;
  layout.ruler = {area.x, area.y, area.width, kRuler};
  layout.header = {area.x, layout.ruler.bottom(), area.width, kSectionBar};
  layout.all = {area.x, layout.header.bottom(), area.width,
                std::min(std::clamp(area.height / 5, kAllRanks, kAllRanksMost),
                         std::max(30.f, area.height / 4))};
  const float top = layout.all.bottom() + kBelowAll;
  layout.rows = {area.x, top, area.width, std::max(0.f, area.bottom() - top)};
  layout.pitch = std::clamp(
      layout.rows.height / static_cast<float>(std::max<std::size_t>(1, timeline.ranks.size())),
      kLowest, kTallest);
  layout.shown = viewport_of(layout.ruler, state, timeline.end);
  return layout;
}

void draw_utilisation(Drawing& drawing, const Rect& area, const TimelineModel& timeline,
                      const UtilisationModel& model, const ViewState& state) {
  const ClipScope clip(drawing, area);
  const UtilisationLayout layout = utilisation_layout(timeline, area, state);
  const Viewport& v = layout.shown;
  draw_ruler(drawing, layout.ruler, v, state, timeline.end);
  draw_section_bar(drawing, layout.header, "Utilisation");
  draw_legend_before(drawing,
                     {layout.header.right() - kPlotMargin, layout.header.y + kSectionBar / 2},
                     {{"forward", box_sign(Ink::Forward)},
                      {"backward", box_sign(Ink::Backward)},
                      {"weight gradient", box_sign(Ink::WeightGradient)},
                      {"optimizer", box_sign(Ink::Optimizer)},
                      {"busiest link", box_sign(Ink::Communication)},
                      {"idle", idle_sign()}});
  if (v.plot.width >= 4 && !timeline.ranks.empty()) {
    const float px = timeline.ranks.size() > 64 ? 4.f : 2.f;
    const int count = std::max(1, static_cast<int>(v.plot.width / px));
    std::vector<Bins> ranks;
    for (std::size_t r = 0; r < timeline.ranks.size(); ++r)
      ranks.push_back(bins_of(timeline, model, r, v, count));
    draw_all(drawing, layout.all, timeline, model, ranks, v);
    const ClipScope rows(drawing, layout.rows);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const Item item{ItemKind::Lane, r};
      const float top = layout.rows.y + layout.pitch * static_cast<float>(r) - state.scroll;
      if (top + layout.pitch < layout.rows.y || top > layout.rows.bottom()) continue;
      const bool link = layout.pitch >= 16;
      const float height = layout.pitch - 3 - (link ? kLink + 1 : 0);
      draw_stack(drawing, {v.plot.x, top, v.plot.width, height}, ranks[r], item);
      if (link) draw_link(drawing, {v.plot.x, top + height + 1, v.plot.width, kLink}, ranks[r]);
      if (state.selected == item)
        outline(drawing, {v.plot.x - 1, top - 1, v.plot.width + 2, height + 2},
                {.ink = Ink::Select});
      if (layout.pitch < 11) continue;
      const float middle = top + height / 2;
      const BusyShare whole = busy_share(timeline, model, r, v.from, v.to);
      write(drawing, timeline.ranks[r].name, {area.x + 10, middle}, 11, Weight::Medium, Ink::Text);
      write(drawing, format_percent(whole.busy), {v.plot.x - 8, middle}, 10.5f, Weight::Medium,
            Ink::Text2, Align::Right);
    }
    const float last =
        std::min(area.bottom(),
                 layout.rows.y + layout.pitch * static_cast<float>(ranks.size()) - state.scroll);
    draw_time_marks(drawing, {area.x, layout.all.y, area.width, last - layout.all.y}, v, state);
  }
  draw_time_tags(drawing, layout.ruler, v, state, timeline.end);
}

Hover describe_utilisation(const TimelineModel& timeline, const UtilisationModel& model,
                           const Rect& area, const ViewState& state, Item item, Point at) {
  if (item.kind != ItemKind::Lane && item.kind != ItemKind::Other) return {};
  if (item.kind == ItemKind::Lane && item.tag >= timeline.ranks.size()) return {};
  const Viewport v = utilisation_layout(timeline, area, state).shown;
  // A reading is taken over a hundredth of the width around the pointer, not from a single pixel.
  const Duration half = std::max(Duration{1}, (v.to - v.from) / 200);
  const Instant middle = time_at(v, at.x);
  const Instant from = std::max(v.from, middle - half), to = std::min(v.to, middle + half);
  if (to <= from) return {};
  const std::size_t first = item.kind == ItemKind::Lane ? item.tag : 0,
                    last = item.kind == ItemKind::Lane ? item.tag + 1 : timeline.ranks.size();
  BusyShare sum;
  for (std::size_t r = first; r < last; ++r) {
    const BusyShare each = busy_share(timeline, model, r, from, to);
    for (std::size_t c = 0; c < kCategorySlots; ++c) sum.share[c] += each.share[c];
    sum.busy += each.busy;
    sum.link = std::max(sum.link, each.link);
    sum.hardware += each.hardware;
  }
  const auto count = static_cast<double>(last - first);
  Hover hover{item.kind == ItemKind::Lane ? timeline.ranks[item.tag].name : "All ranks",
              instant_text(from, timeline.end) + " to " + instant_text(to, timeline.end),
              "busy " + format_percent(sum.busy / count),
              {}};
  std::string words;
  for (const StackPart& category : kBusyParts)
    if (const double share = part(sum, category.ink) / count; share >= 0.0005)
      words += std::string(words.empty() ? "" : ", ") + category.name + " " + format_percent(share);
  const double idle = std::max(0.0, 1 - sum.busy / count);
  words += std::string(words.empty() ? "" : ", ") + "idle " + format_percent(idle);
  hover.lines.push_back(words);
  if (model.peak.value > 0)
    hover.lines.push_back(
        format_throughput({sum.hardware.value / count / to_seconds(to - from)}) + " per device, " +
        format_percent(utilisation_of(sum, model, to_seconds(to - from) * count)) +
        " of the dense peak");
  hover.lines.push_back("busiest link lane " + format_percent(sum.link));
  return hover;
}

DataTable utilisation_table(const TimelineModel& timeline, const UtilisationModel& model,
                            const ViewState& state) {
  const TimeRange range = state.range.value_or(TimeRange{Instant{0}, timeline.end});
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  std::vector<DataColumn> heads = {{"rank", DataUnit::Count},   {"lane", DataUnit::Words},
                                   {"busy", DataUnit::Time},    {"busy share", DataUnit::Share},
                                   {"idle", DataUnit::Time},    {"work done", DataUnit::FlopCount},
                                   {"of peak", DataUnit::Share}};
  for (const StackPart& category : kBusyParts) heads.push_back({category.name, DataUnit::Time});
  heads.push_back({"communication", DataUnit::Time});
  const auto add = [&](std::size_t rank, std::uint32_t row, const WorkDone* work) {
    const BusyTimes times = busy_times(timeline.spans, row, range.from, range.to);
    const Duration busy = busy_time(timeline.spans, row, range.from, range.to);
    std::vector<DataCell> cells = {static_cast<std::int64_t>(rank),
                                   timeline.experiment->program.streams[row].name,
                                   busy.count(),
                                   share_of_range(busy, range.from, range.to),
                                   (range.length() - busy).count(),
                                   {},
                                   {}};
    if (work != nullptr) {
      BusyShare done;
      add_flops(done, timeline.spans, *work, range.from, range.to);
      cells[5] = done.hardware.value;
      if (model.peak.value > 0) cells[6] = utilisation_of(done, model, to_seconds(range.length()));
    }
    for (const StackPart& category : kBusyParts)
      cells.emplace_back(times[static_cast<std::size_t>(category.ink)]);
    cells.emplace_back(times[static_cast<std::size_t>(Ink::Communication)]);
    rows.push_back(std::move(cells));
    items.push_back({ItemKind::Lane, rank});
  };
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    for (const WorkDone& work : model.ranks[r]) add(r, work.row, &work);
    for (const std::uint32_t row : timeline.ranks[r].comm) add(r, row, nullptr);
  }
  return listed_table("Utilisation", std::move(heads), std::move(rows), std::move(items));
}

}  // namespace trainyard
