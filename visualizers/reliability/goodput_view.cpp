#include "visualizers/reliability/goodput_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kPad = 10, kTicksLeft = 64, kTicksBelow = 40, kWords = 400, kRowName = 72,
                kHighestWeek = 30, kLowestWeek = 7;
constexpr double kWeekSeconds = 7 * 86400.0;
constexpr std::size_t kKinds = 4;

struct MarkedInterval {
  GoodputMark mark;
  const char* name;
  const char* letter;
  Ink ink;
  double interval;
};

std::vector<MarkedInterval> marked(const GoodputAnswer& a) {
  std::vector<MarkedInterval> all = {
      {GoodputMark::Chosen, "this training", "", Ink::Accent, a.interval},
      {GoodputMark::Young, "Young", "Y", Ink::Forward, a.young},
      {GoodputMark::Daly, "Daly", "D", Ink::WeightGradient, a.daly},
      {GoodputMark::Best, "exact best", "E", Ink::Ok, a.best}};
  if (a.training.keeps_work) all.resize(1);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const MarkedInterval& one) {
                             return !std::isfinite(one.interval) || one.interval <= 0;
                           }),
            all.end());
  return all;
}

// Useful time over wall time at that interval, with the waits of the answer.
double goodput_at(const GoodputAnswer& a, double interval) {
  return (1 - a.waiting) / (1 + overhead(a.training, interval));
}

std::string marked_words(const GoodputAnswer& a, const MarkedInterval& one) {
  return std::string(one.name) + " " + long_time(one.interval) + ", " +
         format_percent(overhead(a.training, one.interval)) + " beyond useful time";
}

struct CurvePlot {
  Rect rect;
  double low = 1, high = 2, top = 1;

  float x(double interval) const {
    return rect.x +
           rect.width * static_cast<float>(std::log(interval / low) / std::log(high / low));
  }
  float y(double share) const {
    return rect.bottom() - rect.height * static_cast<float>(std::min(share / top, 4.0));
  }
};

CurvePlot curve_plot(const GoodputAnswer& a, const Rect& area) {
  CurvePlot plot;
  plot.rect = {area.x + kTicksLeft, area.y + 46, std::max(1.f, area.width - kTicksLeft - kPad),
               std::max(1.f, area.height - 46 - kTicksBelow)};
  plot.low = a.curve.front().interval;
  plot.high = std::max(a.curve.back().interval, plot.low * 1.001);
  double least = a.curve.front().lost.sum(), most = 0;
  for (const IntervalPoint& point : a.curve) {
    least = std::min(least, point.lost.sum());
    if (std::isfinite(point.lost.sum())) most = std::max(most, point.lost.sum());
  }
  double own = a.lost.sum();
  if (!std::isfinite(own)) own = least;
  plot.top = std::max({std::min(most, 3.5 * std::max(least, own)) * 1.05, own * 1.2, 1e-6});
  return plot;
}

void draw_interval_ticks(Drawing& drawing, const CurvePlot& plot) {
  constexpr double kTimes[] = {0.01,  0.03,  0.1,    0.3,    1,       3,       10,       30,
                               60,    120,   300,    600,    1800,    3600,    7200,     21600,
                               43200, 86400, 172800, 604800, 2.592e6, 7.776e6, 3.1536e7, 3.1536e8};
  float taken = -1e9f;
  for (const double time : kTimes) {
    if (time < plot.low || time > plot.high) continue;
    const float x = plot.x(time);
    const std::string words = long_time(time);
    const float half = text_width(words, 10) / 2;
    if (x - half < taken || x + half > plot.rect.right() + kPad) continue;
    draw_x_tick(drawing, plot.rect, x, words);
    taken = x + half + 8;
  }
}

void draw_part(Drawing& drawing, const CurvePlot& plot, const GoodputAnswer& a,
               double LostTime::* part, const Style& style) {
  std::vector<Point> path;
  for (const IntervalPoint& point : a.curve) {
    const double share = part == nullptr ? point.lost.sum() : point.lost.*part;
    if (std::isfinite(share)) path.push_back({plot.x(point.interval), plot.y(share)});
  }
  if (path.size() > 1) polyline(drawing, path, style);
}

void draw_curve_of(Drawing& drawing, const Rect& area, const GoodputAnswer& a, Item selected) {
  if (area.width < 200 || area.height < 140) return;
  const ClipScope clip(drawing, area);
  write(drawing, "Time beyond useful time, by the useful time between saves",
        {area.x + kPad, area.y + 10}, 11, Weight::SemiBold, Ink::Text);
  const CurvePlot plot = curve_plot(a, area);
  const Style whole{.ink = Ink::Text, .stroke = 2}, saving{.ink = Ink::Optimizer, .stroke = 1.2f},
      repeating{.ink = Ink::Error, .stroke = 1.2f, .dash_on = 5, .dash_off = 3},
      restarting{.ink = Ink::Text3, .stroke = 1.2f, .dash_on = 2, .dash_off = 2};
  draw_legend_after(drawing, {plot.rect.x, area.y + 28}, area.right(),
                    {{"all", line_sign(whole)},
                     {"saving", line_sign(saving)},
                     {"work lost", line_sign(repeating)},
                     {"restarts", line_sign(restarting)}});
  for (const double share : round_values(0, plot.top, 5))
    draw_y_tick(drawing, plot.rect, plot.y(share), format_percent(share));
  draw_interval_ticks(drawing, plot);
  write(drawing, "useful time between saves", {plot.rect.right(), plot.rect.bottom() + 28}, 10,
        Weight::Medium, Ink::Text3, Align::Right);
  const ClipScope inner(
      drawing, {plot.rect.x - 8, plot.rect.y - 2, plot.rect.width + 16, plot.rect.height + 10});
  draw_part(drawing, plot, a, &LostTime::saving, saving);
  draw_part(drawing, plot, a, &LostTime::repeating, repeating);
  draw_part(drawing, plot, a, &LostTime::restarting, restarting);
  draw_part(drawing, plot, a, nullptr, whole);
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    const float x = plot.x(a.curve[i].interval),
                width = plot.rect.width / static_cast<float>(a.curve.size());
    fill(drawing, {x - width / 2, plot.rect.y, width, plot.rect.height},
         {.ink = Ink::Canvas, .alpha = 0, .item = {ItemKind::Dot, kGoodputPoints + i}});
  }
  float letter_y = plot.rect.y + 6;
  for (const MarkedInterval& one : marked(a)) {
    if (one.interval < plot.low * 0.999 || one.interval > plot.high * 1.001) continue;
    const Point at{plot.x(one.interval), plot.y(overhead(a.training, one.interval))};
    const Item item{ItemKind::Dot, static_cast<std::uint64_t>(one.mark)};
    line(drawing, {at.x, letter_y + 7}, at, {.ink = one.ink, .dash_on = 2, .dash_off = 3});
    if (one.mark == GoodputMark::Chosen)
      ring(drawing, at, 8, {.ink = one.ink, .stroke = 2.4f, .item = item});
    else
      disc(drawing, at, 3.5f, {.ink = one.ink, .item = item});
    if (*one.letter != '\0')
      write(drawing, one.letter, {at.x, letter_y}, 10, Weight::SemiBold, one.ink, Align::Center);
    if (selected == item) ring(drawing, at, 12, {.ink = Ink::Select, .stroke = 2});
    letter_y += 13;
  }
}

Ink ink_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::Running:
      return Ink::Forward;
    case SpanKind::Lost:
      return Ink::Error;
    case SpanKind::Restarting:
      return Ink::Text3;
    case SpanKind::Waiting:
      break;
  }
  return Ink::BorderStrong;
}

// Shares of kinds in each of equally wide columns of a week.
std::vector<std::array<double, kKinds>> week_columns(const DrawnWeeks& drawn, std::int64_t week,
                                                     std::size_t columns) {
  std::vector<std::array<double, kKinds>> shares(columns);
  const double start = static_cast<double>(week) * kWeekSeconds,
               width = kWeekSeconds / static_cast<double>(columns);
  auto span = std::partition_point(drawn.spans.begin(), drawn.spans.end(),
                                   [&](const WeekSpan& s) { return s.end <= start; });
  for (; span != drawn.spans.end() && span->start < start + kWeekSeconds; ++span) {
    const double from = std::max(0.0, (span->start - start) / width),
                 to = std::min(static_cast<double>(columns), (span->end - start) / width);
    for (auto i = static_cast<std::size_t>(from); i < columns && static_cast<double>(i) < to; ++i) {
      const auto left = static_cast<double>(i);
      shares[i][static_cast<std::size_t>(span->kind)] +=
          std::max(0.0, std::min(to, left + 1) - std::max(from, left));
    }
  }
  return shares;
}

void draw_week(Drawing& drawing, const Rect& row, const GoodputAnswer& a, std::int64_t week) {
  const auto columns = static_cast<std::size_t>(std::max(1.f, row.width));
  const auto shares = week_columns(a.drawn, week, columns);
  const Item item{ItemKind::Lane, static_cast<std::uint64_t>(week)};
  const float width = row.width / static_cast<float>(columns);
  for (std::size_t i = 0; i < columns;) {
    std::size_t end = i + 1;
    while (end < columns && shares[end] == shares[i]) ++end;
    const float left = row.x + width * static_cast<float>(i),
                across = width * static_cast<float>(end - i);
    float bottom = row.bottom();
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const auto height = static_cast<float>(shares[i][kind]) * row.height;
      if (height <= 0) continue;
      bottom -= height;
      const auto as = static_cast<SpanKind>(kind);
      const Rect part{left, bottom, across, height};
      fill(drawing, part,
           {.ink = ink_of(as), .alpha = as == SpanKind::Running ? 0.55f : 1.f, .item = item});
    }
    i = end;
  }
  // Saves, where they are far enough apart to be told from each other.
  const double period = a.interval + a.training.save, scale = row.width / kWeekSeconds;
  if (!std::isfinite(period) || period * scale < 5) return;
  const double start = static_cast<double>(week) * kWeekSeconds;
  for (const WeekSpan& span : a.drawn.spans) {
    if (span.kind != SpanKind::Running || span.end <= start || span.start >= start + kWeekSeconds)
      continue;
    for (double k = std::max(1.0, std::ceil((start - span.start) / period));
         span.start + k * period <= std::min(span.end + 1e-6, start + kWeekSeconds); ++k) {
      const auto x = row.x + static_cast<float>((span.start + k * period - start) * scale);
      line(drawing, {x, row.y}, {x, row.bottom()}, {.ink = Ink::Optimizer});
    }
  }
}

// Failures within a week, as starts of restarts or waits after running or lost time.
std::int64_t failures_of(const DrawnWeeks& drawn, std::int64_t week) {
  const double start = static_cast<double>(week) * kWeekSeconds;
  std::int64_t count = 0;
  for (const WeekSpan& span : drawn.spans)
    count += span.kind == SpanKind::Restarting && span.start >= start &&
             span.start < start + kWeekSeconds;
  return count;
}

void draw_weeks_of(Drawing& drawing, const Rect& area, const GoodputAnswer& a, Item selected) {
  if (area.height < 60 || area.width < 200) return;
  const ClipScope clip(drawing, area);
  const float title = area.y + 10;
  write(drawing, "Weeks with drawn failures", {area.x + kPad, title}, 11, Weight::SemiBold,
        Ink::Text);
  draw_legend_before(drawing, {area.right() - kPad, title},
                     {{"running", box_sign(Ink::Forward)},
                      {"work lost", box_sign(Ink::Error)},
                      {"restarting", box_sign(Ink::Text3)},
                      {"waiting for a node", box_sign(Ink::BorderStrong)},
                      {"save", line_sign({.ink = Ink::Optimizer})}},
                     area.x + 200);
  const float top = area.y + 24, room = area.bottom() - top - 20;
  const auto rows =
      std::min<std::int64_t>(a.question.weeks, static_cast<std::int64_t>(room / kLowestWeek));
  if (rows < 1) return;
  const float pitch = std::min(kHighestWeek, room / static_cast<float>(rows));
  for (std::int64_t week = 0; week < rows; ++week) {
    const Rect row{area.x + kRowName, top + pitch * static_cast<float>(week),
                   area.width - kRowName - kPad, std::max(2.f, pitch - (pitch > 10 ? 4 : 1))};
    draw_week(drawing, row, a, week);
    if (pitch >= 12 || week % 4 == 0)
      write(drawing, "week " + std::to_string(week + 1),
            {area.x + kRowName - 8, row.y + row.height / 2}, 10, Weight::Medium, Ink::Text2,
            Align::Right);
    if (selected == Item{ItemKind::Lane, static_cast<std::uint64_t>(week)})
      frame_selected(drawing, row, 1);
  }
  const float below = top + pitch * static_cast<float>(rows) + 8;
  const std::string shown =
      rows < a.question.weeks ? "the first " + std::to_string(rows) + " of " : "";
  write(drawing,
        shown + std::to_string(a.question.weeks) + " weeks, " + format_count(a.drawn.failures) +
            " failures, " + format_percent(a.drawn.goodput()) + " useful",
        {area.x + kRowName, below}, 10, Weight::Regular, Ink::Text3);
}

float draw_sentence(Drawing& drawing, const Rect& area, float y, const std::string& words,
                    Ink ink) {
  for (const std::string& one : wrapped_lines(words, area.width, 10.5f)) {
    if (y + 12 > area.bottom()) return area.bottom();
    write(drawing, one, {area.x, y + 6}, 10.5f, Weight::Regular, ink);
    y += 14;
  }
  return y + 4;
}

void draw_words(Drawing& drawing, const Rect& area, const GoodputAnswer& a, Item selected) {
  const ClipScope clip(drawing, area);
  float y = area.y;
  for (const MarkedInterval& one : marked(a)) {
    if (y + 14 > area.bottom()) return;
    draw_legend_after(
        drawing, {area.x, y + 7}, area.right(),
        {{(*one.letter != '\0' ? std::string(one.letter) + ": " : "") + marked_words(a, one),
          box_sign(one.ink)}});
    y += 16;
  }
  y += 6;
  for (const std::string& sentence : goodput_sentences(a))
    y = draw_sentence(drawing, area, y, sentence, Ink::Text2);
  for (std::size_t i = 0; i < a.levers.size() && y + 14 < area.bottom(); ++i) {
    const Item item{ItemKind::Cell, i};
    const Rect row{area.x, y, area.width, 15};
    fill(drawing, row, {.ink = Ink::Panel, .item = item});
    if (selected == item) frame_selected(drawing, row, 0);
    write_within(drawing, a.levers[i].name, {area.x + 4, y + 7}, area.width - 70, 10.5f,
                 Weight::Medium, Ink::Text);
    write(drawing, format_percent(a.levers[i].goodput), {row.right() - 4, y + 7}, 10.5f,
          Weight::SemiBold, Ink::Text, Align::Right);
    y += 17;
  }
}

DataCell interval_cell(double time) {
  return std::isfinite(time) ? DataCell{seconds(time).count()} : DataCell{};
}
DataCell share_cell(double share) { return std::isfinite(share) ? DataCell{share} : DataCell{}; }

}  // namespace

void draw_goodput(Drawing& drawing, const Rect& area, const GoodputAnswer& a, Item selected) {
  const ClipScope clip(drawing, area);
  const Rect header{area.x, area.y, area.width, kSectionBar};
  write_in_section_bar(
      drawing, header, draw_section_bar(drawing, header, "Goodput"), header.right() - 20,
      band_percent(a.goodput).text() + " of the time is useful, " +
          long_time(a.cost.seconds.value) + " for " + format_large(a.question.work) +
          (a.counts_tokens ? " tokens" : " samples"));
  const bool beside = area.width >= 800;
  const float top = header.bottom() + 8, height = std::max(0.f, area.bottom() - top);
  const float weeks = std::min(
      height * 0.42f,
      44 + kHighestWeek * static_cast<float>(std::min<std::int64_t>(a.question.weeks, 100)));
  const float above = height - weeks;
  const float words = beside ? kWords : 0;
  draw_curve_of(drawing, {area.x, top, area.width - words - (beside ? 3 * kPad : 0), above}, a,
                selected);
  if (beside)
    draw_words(drawing, {area.right() - words - kPad, top + 4, words, above - 8}, a, selected);
  draw_weeks_of(drawing, {area.x, top + above, area.width, weeks}, a, selected);
}

Drawing goodput_picture(const GoodputAnswer& a) {
  Drawing drawing(kGoodputSize);
  draw_goodput(drawing, whole(kGoodputSize), a, {});
  return drawing;
}

Hover describe_goodput(const GoodputAnswer& a, Item item) {
  if (item.kind == ItemKind::Lane && item.tag < static_cast<std::uint64_t>(a.question.weeks)) {
    const auto week = static_cast<std::int64_t>(item.tag);
    std::array<double, kKinds> shares = week_columns(a.drawn, week, 1).front();
    return {"Week " + std::to_string(week + 1),
            format_count(failures_of(a.drawn, week)) + " restarts",
            format_percent(shares[0]) + " running",
            {format_percent(shares[1]) + " of work lost, " + format_percent(shares[2]) +
             " restarting, " + format_percent(shares[3]) + " waiting for a node"}};
  }
  if (item.kind == ItemKind::Cell && item.tag < a.levers.size()) {
    const GoodputLever& lever = a.levers[item.tag];
    Hover hover{lever.name,
                "alone",
                format_percent(lever.goodput) + " useful",
                {format_percent(lever.left) + " of what is lost would be left"}};
    if (lever.halves_at)
      hover.lines.push_back(digits_text(std::round(*lever.halves_at * 100) / 100) +
                            " times halves what is lost");
    return hover;
  }
  if (item.kind != ItemKind::Dot) return {};
  for (const MarkedInterval& one : marked(a))
    if (item.tag == static_cast<std::uint64_t>(one.mark))
      return {std::string(one.name),
              "interval between saves",
              long_time(one.interval),
              {format_percent(goodput_at(a, one.interval)) + " of the time would be useful"}};
  if (item.tag < kGoodputPoints || item.tag - kGoodputPoints >= a.curve.size()) return {};
  const IntervalPoint& point = a.curve[item.tag - kGoodputPoints];
  return {"A save every " + long_time(point.interval),
          "",
          format_percent(goodput_at(a, point.interval)) + " useful",
          {"for each useful hour " + long_time(3600 * point.lost.saving) + " of saving, " +
           long_time(3600 * point.lost.repeating) + " of work lost and " +
           long_time(3600 * point.lost.restarting) + " of restarts"}};
}

DataTable goodput_table(const GoodputAnswer& a) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  const auto add = [&](std::string name, double interval, Item item) {
    const LostTime lost = lost_time(a.training, interval);
    rows.push_back({std::move(name), interval_cell(interval), share_cell(lost.saving),
                    share_cell(lost.repeating), share_cell(lost.restarting),
                    share_cell(goodput_at(a, interval))});
    items.push_back(item);
  };
  for (const MarkedInterval& one : marked(a))
    add(one.name, one.interval, {ItemKind::Dot, static_cast<std::uint64_t>(one.mark)});
  for (std::size_t i = 0; i < a.curve.size(); ++i)
    add("curve", a.curve[i].interval, {ItemKind::Dot, kGoodputPoints + i});
  for (std::size_t i = 0; i < a.levers.size(); ++i) {
    rows.push_back({a.levers[i].name, {}, {}, {}, {}, a.levers[i].goodput});
    items.push_back({ItemKind::Cell, i});
  }
  return listed_table("Goodput",
                      {{"what", DataUnit::Words},
                       {"interval", DataUnit::Time},
                       {"saving", DataUnit::Share},
                       {"work lost", DataUnit::Share},
                       {"restarts", DataUnit::Share},
                       {"goodput", DataUnit::Share}},
                      std::move(rows), std::move(items));
}

AskedGoodput ask_goodput(const GoodputSubject& subject, const GoodputQuestion& question) {
  try {
    return {goodput(subject, question), {}, {}};
  } catch (const Error& error) {
    return {std::nullopt, error.what(), error.place().text};
  }
}

void draw_asked(Drawing& drawing, const Rect& area, const AskedGoodput& asked, Item selected) {
  if (asked.answer) return draw_goodput(drawing, area, *asked.answer, selected);
  const Rect words{area.x + kPad, area.y + kPad, area.width - 2 * kPad, area.height - 2 * kPad};
  draw_sentence(drawing, words, words.y, "There is no answer: " + asked.refusal + ".", Ink::Error);
}

template <>
GoodputSubject make_model(const ViewData& data) {
  return goodput_subject(data.experiment->workload, data.experiment->result);
}

template <>
AskedGoodput make_model(const ViewData& data) {
  return ask_goodput(data.get<GoodputSubject>(), {});
}

constinit const View kGoodputView{
    .name = "goodput",
    .title = "Goodput",
    .summary = "what failures and checkpoints leave of a training",
    .size = kGoodputSize,
    .tab = "Goodput",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_asked(drawing, whole(size), data.get<AskedGoodput>(), state.selected);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          const AskedGoodput& asked = data.get<AskedGoodput>();
          return asked.answer ? describe_goodput(*asked.answer, hit(drawing, point)) : Hover{};
        },
    .table =
        [](const ViewData& data, const ViewState&) {
          const AskedGoodput& asked = data.get<AskedGoodput>();
          return asked.answer ? goodput_table(*asked.answer) : DataTable{};
        }};

}  // namespace trainyard
