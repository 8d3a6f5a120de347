#include "visualizers/roofline/residuals_view.h"

#include "visualizers/chart/agreement_plot.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kResidualsHead = 18;  // px for the sentence above the plot
constexpr Size kPicture{1000, 620};

bool drawn(const ResidualPoint& p) { return p.measured.count() > 0 && p.predicted.count() > 0; }

AgreementPlot residuals_plot(const ResidualsModel& model, const Rect& area) {
  AgreementPlot plot = agreement_plot_in(area);
  for (const ResidualPoint& p : model.points) {
    if (!drawn(p)) continue;
    plot.take(to_seconds(p.measured)), plot.take(to_seconds(p.predicted));
    if (p.held_out) plot.take(to_seconds(*p.held_out));
    if (p.learned) plot.take(to_seconds(*p.learned));
  }
  plot.widen();
  return plot;
}

void draw_residual_points(Drawing& drawing, const AgreementPlot& plot, const ResidualsModel& model,
                          const ViewState& state) {
  for (std::size_t i = 0; i < model.points.size(); ++i) {
    const ResidualPoint& p = model.points[i];
    if (!drawn(p)) continue;
    const Item item{ItemKind::Dot, i};
    const bool chosen = state.selected == item;
    const float x = plot.x(to_seconds(p.measured));
    const Point before{x, plot.y(to_seconds(p.predicted))};
    if (chosen && p.held_out)
      line(drawing, before, {x, plot.y(to_seconds(*p.held_out))},
           {.ink = Ink::Select, .stroke = 2});
    ring(drawing, before, 3.5f,
         {.ink = Ink::Backward, .alpha = 0.9f, .stroke = 1.4f, .item = item});
    if (p.held_out)
      disc(drawing, {x, plot.y(to_seconds(*p.held_out))}, 3,
           {.ink = Ink::Forward, .alpha = 0.9f, .item = item});
    if (p.learned)
      disc(drawing, {x, plot.y(to_seconds(*p.learned))}, 2,
           {.ink = Ink::Optimizer, .alpha = 0.9f, .item = item});
    if (chosen) ring(drawing, before, 7, {.ink = Ink::Select, .stroke = 2});
  }
}

void draw_residuals_legend(Drawing& drawing, const Rect& plot, const ResidualsModel& model) {
  std::vector<LegendEntry> entries = {{model.by, [](Drawing& d, Point at) {
                                         ring(d, at, 3.5f, {.ink = Ink::Backward, .stroke = 1.4f});
                                       }}};
  if (model.held_out.points > 0)
    entries.push_back({"held out: by the others",
                       [](Drawing& d, Point at) { disc(d, at, 3, {.ink = Ink::Forward}); }});
  if (model.learned.points > 0)
    entries.push_back({"learned from other sizes",
                       [](Drawing& d, Point at) { disc(d, at, 2, {.ink = Ink::Optimizer}); }});
  if (model.band > 0)
    entries.push_back({"\u00B1 " + format_percent(model.band) + ", the 90 % range of a step",
                       line_sign({.ink = Ink::Axis, .dash_on = 4, .dash_off = 3})});
  draw_legend_below(drawing, {plot.x + 14, plot.y + 12}, entries);
}

std::string ratio_text(Duration predicted, Duration measured) {
  return format_signed(100 * (to_seconds(predicted) / to_seconds(measured) - 1), 1) + " %";
}

}  // namespace

void draw_residuals(Drawing& drawing, const Rect& area, const ResidualsModel& model,
                    const ViewState& state) {
  const ClipScope clip(drawing, area);
  write_within(drawing, residuals_words(model), {area.x + 10, area.y + 15}, area.width - 20, 11,
               Weight::Medium, Ink::Text);
  const AgreementPlot plot = residuals_plot(
      model, {area.x, area.y + kResidualsHead, area.width, area.height - kResidualsHead});
  if (plot.empty()) return;
  draw_agreement_axes(
      drawing, plot, 1, [](double value) { return format_duration(seconds(value)); }, "predicted");
  const ClipScope inside(drawing, plot.rect);
  draw_agreement_lines(
      drawing, plot,
      model.band > 0 ? std::vector{1 + model.band, 1 / (1 + model.band)} : std::vector<double>{});
  draw_residual_points(drawing, plot, model, state);
  draw_residuals_legend(drawing, plot.rect, model);
}

Hover describe_residuals(const ResidualsModel& model, Item item) {
  Hover hover;
  if (item.kind != ItemKind::Dot || item.tag >= model.points.size()) return hover;
  const ResidualPoint& p = model.points[item.tag];
  hover.title = p.name;
  hover.where = p.shape;
  hover.value = "measured " + format_duration(p.measured);
  hover.lines = {model.by + " " + format_duration(p.predicted) + ", " +
                 ratio_text(p.predicted, p.measured)};
  if (p.held_out)
    hover.lines.push_back("by the others " + format_duration(*p.held_out) + ", " +
                          ratio_text(*p.held_out, p.measured));
  else
    hover.lines.push_back("the only one of its kind, so nothing was held out");
  if (p.learned)
    hover.lines.push_back("learned from other sizes " + format_duration(*p.learned) + ", " +
                          ratio_text(*p.learned, p.measured));
  hover.lines.push_back(format_count(p.count) +
                        (p.count == 1 ? " measurement" : " measurements, their median"));
  return hover;
}

Drawing residuals_picture(const ResidualsModel& model) {
  Drawing drawing(kPicture);
  draw_residuals(drawing, {0, 0, kPicture.width, kPicture.height}, model, {});
  return drawing;
}

}  // namespace trainyard
