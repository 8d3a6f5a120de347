#include "visualizers/compare/waterfall_view.h"

#include <algorithm>
#include <cmath>

#include "core/timeline/compare.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kWaterfallTitle = 28, kCauseRow = 30, kWaterfallAxis = 24, kCauseBar = 15,
                kBesideWaterfall = 10;
constexpr double kCutBelow = 0.4;  // the axis is cut if all bars end above this share of it

std::string figure(std::int64_t value, WaterfallUnit unit) {
  return unit == WaterfallUnit::Time ? format_step_time(Duration{value})
                                     : format_bytes(Bytes{value});
}
// A change with its sign, and with as many decimals as the totals have.
std::string signed_figure(std::int64_t value, WaterfallUnit unit) {
  if (value == 0) return unit == WaterfallUnit::Time ? "0 s" : "0 B";
  return (value > 0 ? "+" : "") + figure(value, unit);
}

// Puts values on the horizontal axis.
struct WaterfallScale {
  Rect rect;  // where the bars lie
  double low = 0, high = 1;
  bool cut = false;  // the axis does not begin at 0
  float x(double value) const {
    const double share = (value - low) / (high - low);
    return rect.x + rect.width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
};

WaterfallScale waterfall_scale(const WaterfallModel& w, const Rect& rect) {
  auto at = static_cast<double>(w.a()), low = std::min(at, static_cast<double>(w.b())),
       high = std::max(at, static_cast<double>(w.b()));
  for (const WaterfallPart& part : w.parts) {
    at += static_cast<double>(part.change());
    low = std::min(low, at), high = std::max(high, at);
  }
  WaterfallScale scale{rect, 0, std::max(high, 1.0), false};
  if (low > kCutBelow * high && high > low) {
    scale.cut = true;
    scale.low = std::max(0.0, low - 0.25 * (high - low) - 1e-3 * high);
  }
  scale.high += 0.02 * (scale.high - scale.low);
  return scale;
}

double unit_size(const WaterfallScale& scale, WaterfallUnit unit) {
  if (unit == WaterfallUnit::Time) return scale.high >= 0.9e9 ? 1e9 : scale.high >= 9e5 ? 1e6 : 1e3;
  return scale.high >= 1 << 30 ? 1 << 30 : 1 << 20;
}
const char* unit_name(double size, WaterfallUnit unit) {
  if (unit == WaterfallUnit::Time) return size >= 1e9 ? "s" : size >= 1e6 ? "ms" : "\u00B5s";
  return size >= 1 << 30 ? "GiB" : "MiB";
}

void draw_figures_axis(Drawing& drawing, const WaterfallScale& scale, WaterfallUnit kind,
                       float bottom) {
  const double unit = unit_size(scale, kind);
  const int most = std::max(3, static_cast<int>(scale.rect.width / 64));
  const Rect plot{scale.rect.x, scale.rect.y, scale.rect.width, bottom - scale.rect.y};
  for (const double value : round_values(scale.low / unit, scale.high / unit, most))
    draw_x_tick(drawing, plot, scale.x(value * unit), digits_text(value));
  write(drawing, unit_name(unit, kind), {plot.right() + 6, bottom + 11}, 10, Weight::Medium,
        Ink::Text2);
}

// Draws the bar of a total. It has a notch if the axis is cut.
void draw_total(Drawing& drawing, const WaterfallScale& scale, float y, std::int64_t value,
                Item item) {
  const float end = scale.x(static_cast<double>(value));
  fill(drawing, {scale.rect.x, y - kCauseBar / 2, std::max(1.f, end - scale.rect.x), kCauseBar},
       {.ink = Ink::MemoryWeights, .item = item});
  if (!scale.cut) return;
  const float x = scale.rect.x + 6;
  polyline(drawing,
           {{x, y - kCauseBar / 2 - 1}, {x + 4, y - 2}, {x, y + 2}, {x + 4, y + kCauseBar / 2 + 1}},
           {.ink = Ink::Canvas, .stroke = 3});
}

}  // namespace

std::int64_t WaterfallModel::a() const {
  std::int64_t sum = 0;
  for (const WaterfallPart& part : parts) sum += part.a;
  return sum;
}
std::int64_t WaterfallModel::b() const {
  std::int64_t sum = 0;
  for (const WaterfallPart& part : parts) sum += part.b;
  return sum;
}

WaterfallModel time_waterfall(std::string a_name, const Breakdown& a, std::string b_name,
                              const Breakdown& b) {
  WaterfallModel w{
      WaterfallUnit::Time, "Step time by cause", std::move(a_name), std::move(b_name), {}};
  for (const NamedPart& part : breakdown_parts()) {
    const std::int64_t x = (a.*part.part).count(), y = (b.*part.part).count();
    if (x != 0 || y != 0) w.parts.push_back({std::string(part.name), "", x, y});
  }
  return w;
}

WaterfallModel memory_waterfall(const MemorySide& a, const MemorySide& b) {
  WaterfallModel w{WaterfallUnit::Memory, "Fullest device by category", a.name, b.name, {}};
  for (int c = 0; c < kCategories; ++c) {
    const auto i = static_cast<std::size_t>(c);
    std::string name(to_string(static_cast<Category>(c)));
    std::replace(name.begin(), name.end(), '_', ' ');
    if (a.categories[i].value != 0 || b.categories[i].value != 0)
      w.parts.push_back({std::move(name), "", a.categories[i].value, b.categories[i].value});
  }
  const auto beyond = [](const MemorySide& side) {
    return std::max<std::int64_t>(0, side.reserved.value - total(side.categories).value);
  };
  if (beyond(a) != 0 || beyond(b) != 0)
    w.parts.push_back({"allocator", "reserved beyond tensors", beyond(a), beyond(b)});
  return w;
}

float waterfall_height(const WaterfallModel& w) {
  return kWaterfallTitle + kCauseRow * static_cast<float>(w.parts.size() + 2) + kWaterfallAxis;
}

void draw_waterfall(Drawing& drawing, const Rect& area, const WaterfallModel& w,
                    const ViewState& state) {
  const ClipScope clip(drawing, area);
  const float names = std::min(126.f, area.width * 0.32f), figures = 78;
  const Rect bars{area.x + kBesideWaterfall + names, area.y + kWaterfallTitle,
                  std::max(20.f, area.width - 2 * kBesideWaterfall - names - figures),
                  std::max(1.f, area.height - kWaterfallTitle - kWaterfallAxis)};
  const float needed = waterfall_height(w);
  const float row =
      kCauseRow * std::min(1.f, std::max(0.5f, (area.height - kWaterfallTitle - kWaterfallAxis) /
                                                   (needed - kWaterfallTitle - kWaterfallAxis)));
  const WaterfallScale scale = waterfall_scale(w, bars);
  std::string head = w.title;
  write(drawing, head, {area.x + kBesideWaterfall, area.y + 14}, 11, Weight::SemiBold, Ink::Text);
  const std::string remark =
      std::string("exact sum") +
      (scale.cut ? ", axis from " + figure(static_cast<std::int64_t>(scale.low), w.unit) : "");
  if (text_width(head, 11, Weight::SemiBold) + text_width(remark, 10) + 30 < area.width)
    write(drawing, remark, {area.right() - kBesideWaterfall, area.y + 14}, 10, Weight::Medium,
          Ink::Text3, Align::Right);
  const float bottom = bars.y + row * static_cast<float>(w.parts.size() + 2);
  draw_figures_axis(drawing, scale, w.unit, bottom);
  float y = bars.y + row / 2;
  const auto name_row = [&](const std::string& name, const std::string& note, Weight weight) {
    const bool two = !note.empty() && row > 24;
    write_within(drawing, name, {area.x + kBesideWaterfall, y - (two ? 6.f : 0.f)}, names - 8, 11,
                 weight, Ink::Text);
    if (two)
      write_within(drawing, note, {area.x + kBesideWaterfall, y + 7}, names - 4, 9.5f,
                   Weight::Regular, Ink::Text3);
  };
  const auto value = [&](const std::string& words, Weight weight, Ink ink) {
    write(drawing, words, {area.right() - kBesideWaterfall, y}, 11, weight, ink, Align::Right);
  };
  // The whole row answers when it is pointed at.
  const auto reach = [&](Item item) {
    if (state.selected == item)
      fill(drawing, {area.x, y - row / 2, area.width, row}, {.ink = Ink::AccentBackground});
    fill(drawing, {area.x, y - row / 2, area.width, row},
         {.ink = Ink::Canvas, .alpha = 0, .item = item});
  };
  const auto total_row = [&](const std::string& name, std::int64_t sum, std::uint64_t tag) {
    const Item item{ItemKind::Other, tag};
    reach(item);
    name_row(name, "", Weight::SemiBold);
    draw_total(drawing, scale, y, sum, item);
    value(figure(sum, w.unit), Weight::SemiBold, Ink::Text);
  };
  total_row(w.a_name, w.a(), w.parts.size());
  std::int64_t at = w.a();
  for (std::size_t i = 0; i < w.parts.size(); ++i) {
    const WaterfallPart& part = w.parts[i];
    const float from = scale.x(static_cast<double>(at)),
                to = scale.x(static_cast<double>(at + part.change()));
    line(drawing, {from, y + kCauseBar / 2}, {from, y + row - kCauseBar / 2},
         {.ink = Ink::Axis, .dash_on = 2, .dash_off = 2});
    y += row;
    const Item item{ItemKind::Other, i};
    reach(item);
    name_row(part.name, part.note, Weight::Medium);
    fill(drawing,
         {std::min(from, to) - (from == to ? 0.5f : 0.f), y - kCauseBar / 2,
          std::max(1.f, std::abs(to - from)), kCauseBar},
         {.ink = part.change() == 0  ? Ink::Axis
                 : part.change() < 0 ? Ink::Forward
                                     : Ink::Swap,
          .item = item});
    value(signed_figure(part.change(), w.unit), Weight::Medium,
          part.change() == 0  ? Ink::Text3
          : part.change() < 0 ? Ink::Ok
                              : Ink::Error);
    at += part.change();
  }
  const float end = scale.x(static_cast<double>(at));
  line(drawing, {end, y + kCauseBar / 2}, {end, y + row - kCauseBar / 2},
       {.ink = Ink::Axis, .dash_on = 2, .dash_off = 2});
  y += row;
  total_row(w.b_name, w.b(), w.parts.size() + 1);
}

Hover describe_waterfall(const WaterfallModel& w, Item item) {
  Hover hover;
  if (item.kind != ItemKind::Other || item.tag > w.parts.size() + 1) return hover;
  if (item.tag >= w.parts.size()) {
    const bool first = item.tag == w.parts.size();
    hover.title = first ? w.a_name : w.b_name;
    hover.value = figure(first ? w.a() : w.b(), w.unit);
    hover.lines = {"all causes together"};
    return hover;
  }
  const WaterfallPart& part = w.parts[item.tag];
  hover.title = part.name;
  hover.where = part.note;
  hover.value = signed_figure(part.change(), w.unit);
  hover.lines.push_back(figure(part.a, w.unit) + " in " + w.a_name + ", " + figure(part.b, w.unit) +
                        " in " + w.b_name);
  if (w.a() > 0)
    hover.lines.push_back(
        format_signed(100 * static_cast<double>(part.change()) / static_cast<double>(w.a()), 1) +
        " % of " + w.a_name);
  return hover;
}

std::string waterfall_words(const WaterfallModel& w) {
  std::string words = w.a_name + " " + figure(w.a(), w.unit) + ", " + w.b_name + " " +
                      figure(w.b(), w.unit) + ", " + signed_figure(w.b() - w.a(), w.unit);
  const auto most = std::max_element(w.parts.begin(), w.parts.end(),
                                     [](const WaterfallPart& x, const WaterfallPart& y) {
                                       return std::abs(x.change()) < std::abs(y.change());
                                     });
  if (most != w.parts.end() && most->change() != 0)
    words += "; most by " + most->name + ", " + signed_figure(most->change(), w.unit);
  return words;
}

Size waterfall_size(const std::vector<WaterfallModel>& all) {
  float height = 120;
  for (const WaterfallModel& w : all) height = std::max(height, waterfall_height(w));
  return {520 * static_cast<float>(std::max<std::size_t>(1, all.size())), height + 8};
}

Drawing waterfall_picture(const std::vector<WaterfallModel>& all, Size size) {
  Drawing drawing(size);
  const float width = size.width / static_cast<float>(std::max<std::size_t>(1, all.size()));
  for (std::size_t i = 0; i < all.size(); ++i)
    draw_waterfall(drawing, {width * static_cast<float>(i), 0, width, size.height}, all[i], {});
  return drawing;
}

}  // namespace trainyard
