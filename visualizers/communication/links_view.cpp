#include "visualizers/communication/links_view.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

struct LinkAxes {
  Rect plot;
  double low_x = 0, high_x = 1, low_y = 0, high_y = 1;  // decades
  float x(double bytes) const {
    return plot.x + plot.width * static_cast<float>((std::log10(bytes) - low_x) / (high_x - low_x));
  }
  float y(double rate) const {
    return plot.bottom() -
           plot.height *
               static_cast<float>((std::log10(std::max(1.0, rate)) - low_y) / (high_y - low_y));
  }
};

double bus_rate(const LinkFit& f, Bytes bytes, Duration time) {
  return time.count() > 0 ? f.bus_factor * static_cast<double>(bytes.value) / to_seconds(time) : 1;
}

LinkAxes axes_of(const Rect& area, const LinkFit& f) {
  LinkAxes a;
  a.plot = {area.x + 90, area.y + 14, std::max(1.f, area.width - 110),
            std::max(1.f, area.height - 44)};
  a.low_x = a.low_y = 99, a.high_x = a.high_y = -99;
  for (const LinkResidual& r : f.residuals) {
    const double x = std::log10(static_cast<double>(r.bytes.value));
    const double y = std::log10(std::max(1.0, bus_rate(f, r.bytes, r.measured)));
    a.low_x = std::min(a.low_x, std::floor(x)), a.high_x = std::max(a.high_x, std::ceil(x));
    a.low_y = std::min(a.low_y, std::floor(y)), a.high_y = std::max(a.high_y, std::ceil(y));
  }
  a.high_x = std::max(a.high_x, a.low_x + 1), a.high_y = std::max(a.high_y, a.low_y + 1);
  return a;
}

}  // namespace

void draw_links(Drawing& drawing, const Rect& area, const LinkFit& f) {
  const ClipScope clip(drawing, area);
  const LinkAxes a = axes_of(area, f);
  for (double d = a.low_x; d <= a.high_x; ++d) {
    const float x = a.x(std::pow(10, d));
    line(drawing, {x, a.plot.y}, {x, a.plot.bottom()}, {.ink = Ink::Grid});
    write(drawing, format_bytes(Bytes{std::llround(std::pow(10, d))}), {x, a.plot.bottom() + 12},
          10, Weight::Regular, Ink::Text2, Align::Center);
  }
  for (double d = a.low_y; d <= a.high_y; ++d) {
    const float y = a.y(std::pow(10, d));
    line(drawing, {a.plot.x, y}, {a.plot.right(), y}, {.ink = Ink::Grid});
    write(drawing, format_bandwidth({std::pow(10, d)}), {a.plot.x - 8, y}, 10, Weight::Regular,
          Ink::Text2, Align::Right);
  }
  std::vector<Point> fitted;
  for (int i = 0; i <= 64; ++i) {
    const double bytes = std::pow(10, a.low_x + (a.high_x - a.low_x) * i / 64.0);
    const double time = to_seconds(f.start) +
                        (f.bandwidth.value > 0 ? bytes * f.bus_factor / f.bandwidth.value : 0);
    if (time > 0) fitted.push_back({a.x(bytes), a.y(f.bus_factor * bytes / time)});
  }
  if (fitted.size() > 1) polyline(drawing, fitted, {.ink = Ink::Accent, .stroke = 1.5f});
  for (std::size_t i = 0; i < f.residuals.size(); ++i) {
    const LinkResidual& r = f.residuals[i];
    const Point at{a.x(static_cast<double>(r.bytes.value)), a.y(bus_rate(f, r.bytes, r.measured))};
    const Item item{ItemKind::Dot, i};
    if (r.in_place)
      ring(drawing, at, 4, {.ink = Ink::Communication, .stroke = 1.5f, .item = item});
    else
      disc(drawing, at, 3.5f, {.ink = Ink::Communication, .item = item});
  }
  write(drawing, "busbw: disc out of place, ring in place, line fitted", {a.plot.x + 6, area.y + 8},
        10, Weight::Medium, Ink::Text2);
}

Hover describe_links(const LinkFit& f, Item item) {
  Hover hover;
  if (item.kind != ItemKind::Dot || item.tag >= f.residuals.size()) return hover;
  const LinkResidual& r = f.residuals[item.tag];
  hover.title = format_bytes(r.bytes) + (r.in_place ? ", in place" : ", out of place");
  hover.value = format_bandwidth({bus_rate(f, r.bytes, r.measured)}) + " of the bus";
  hover.lines = {
      "measured " + format_duration(r.measured) + ", fitted " + format_duration(r.fitted),
      "off by " + format_signed(100 * r.error(), 1) + " %"};
  return hover;
}

std::string spell_links(const LinkFit& f) {
  return "Link fitted to " + std::to_string(f.residuals.size()) + " rows: starts in " +
         spell_duration(f.start) + ", then " + format_bandwidth(f.bandwidth) + "; median error " +
         spell_percent(f.median_error) + ".";
}

}  // namespace trainyard
