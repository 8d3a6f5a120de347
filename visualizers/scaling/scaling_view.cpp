#include "visualizers/scaling/scaling_view.h"

#include <algorithm>
#include <array>

#include "core/lowering/lower.h"
#include "core/result/figures.h"
#include "core/validation/bands.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/scaling/scaling_chart.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kSentenceSize = 10.5f, kSentencePitch = 16, kScalingPad = 10;

std::optional<Banded<double>> step_of(const ScalingStudy&, const Result& r) {
  return Banded<double>{to_seconds(r.step.value), to_seconds(r.step.low), to_seconds(r.step.high),
                        r.step.basis};
}
std::optional<Banded<double>> rate_of(const ScalingStudy&, const Result& r) { return rate(r); }
std::optional<Banded<double>> mfu_of(const ScalingStudy&, const Result& r) {
  return utilisation(r);
}

std::optional<Banded<double>> money_of(const ScalingStudy&, const Result& r) {
  return money_for_work(r);
}

std::string step_tick(double value) { return format_duration(seconds(value)); }
std::string rate_tick(double value) { return format_large(value); }
std::string dollar_tick(double value) { return band_number({value, value, value, {}}, "$").value; }

// Under the strong law the work of a step stays, under the weak law it grows with the devices.
double ideal_step(ScalingLaw law, double value, double times) {
  return law == ScalingLaw::Strong ? value / times : value;
}
double ideal_rate(ScalingLaw, double value, double times) { return value * times; }

std::string work_units(const ScalingStudy& study) {
  return study.counts_tokens ? "tokens" : "samples";
}
std::string priced_units(const ScalingStudy& study) {
  return study.counts_tokens ? "1 billion tokens" : "1 million samples";
}

std::array<ScalingChart, 4> scaling_charts(const ScalingStudy& study) {
  const std::string none = "no number of devices gives a legal plan";
  return {{{"Step time", none, true, step_of, step_tick, ideal_step},
           {study.counts_tokens ? "Tokens per second" : "Samples per second", none, true, rate_of,
            rate_tick, ideal_rate},
           {"MFU", none, false, mfu_of, format_percent, nullptr},
           {"US dollars for " + priced_units(study),
            "no price of an hour of " + study.device + " is known", false, money_of, dollar_tick,
            nullptr}}};
}

// What follows from the curves, each sentence with its law's sign before it. Returns where it ends.
float draw_sentences(Drawing& drawing, const Rect& area, const ScalingStudy& study) {
  float y = area.y;
  for (const ScalingCurve* curve : {&study.strong, &study.weak}) {
    std::string words = pays_sentence(*curve);
    if (const std::string more = cheapest_sentence(study, *curve); !more.empty())
      words += " " + more;
    draw_fitting(drawing, {area.x + 5, y + kSentencePitch / 2}, curve->law, {});
    for (const std::string& line : wrapped_lines(words, area.width - 16, kSentenceSize)) {
      write(drawing, line, {area.x + 16, y + kSentencePitch / 2}, kSentenceSize, Weight::Regular,
            Ink::Text2);
      y += kSentencePitch;
    }
    y += 4;
  }
  return y;
}

void draw_scaling_legend(Drawing& drawing, const Rect& bar, float least) {
  const auto fitting = [](ScalingLaw law) {
    return [law](Drawing& d, Point at) {
      line(d, {at.x - 7, at.y}, {at.x + 7, at.y}, {.ink = ink_of(law), .stroke = 1.6f});
      draw_fitting(d, at, law, {});
    };
  };
  draw_legend_before(
      drawing, {bar.right() - kPlotMargin, bar.y + bar.height / 2},
      {{"strong: the global batch stays", fitting(ScalingLaw::Strong)},
       {"weak: fixed batch per device", fitting(ScalingLaw::Weak)},
       {"ideal", line_sign({.ink = Ink::Text2, .dash_on = 4, .dash_off = 3})},
       {"pays up to here", draw_pays},
       {"does not fit",
        [](Drawing& d, Point at) { draw_unfitting(d, at, ScalingLaw::Strong, {}); }},
       {"not legal", [](Drawing& d, Point at) { draw_illegal(d, at, Ink::Text2, {}); }},
       {"this plan", line_sign({.ink = Ink::Accent, .dash_on = 2, .dash_off = 3})}},
      least, {.size = 10});
}

const ScalingPoint* point_of(const ScalingStudy& study, Item item) {
  if (item.kind != ItemKind::Dot) return nullptr;
  const ScalingCurve& curve = item.tag < kScalingPoints ? study.strong : study.weak;
  const std::size_t index = item.tag % kScalingPoints;
  return index < curve.points.size() ? &curve.points[index] : nullptr;
}

}  // namespace

Drawing scaling_picture(const ScalingStudy& study) {
  Drawing drawing(kScalingSize);
  draw_scaling(drawing, whole(drawing.size), study, {});
  return drawing;
}

void draw_scaling(Drawing& drawing, const Rect& area, const ScalingStudy& study,
                  const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Rect bar{area.x, area.y, area.width, kSectionBar};
  const std::string title =
      study.searched ? "Scaling, degrees searched anew" : "Scaling, only dp differs";
  draw_scaling_legend(drawing, bar, draw_section_bar(drawing, bar, title));
  const float top = draw_sentences(
      drawing,
      {area.x + kScalingPad, bar.bottom() + 6, std::max(60.f, area.width - 2 * kScalingPad), 0},
      study);
  const float width = area.width / 2, height = std::max(0.f, (area.bottom() - top - 4) / 2);
  const std::array<ScalingChart, 4> charts = scaling_charts(study);
  for (std::size_t i = 0; i < charts.size(); ++i)
    draw_scaling_chart(drawing,
                       {area.x + width * static_cast<float>(i % 2),
                        top + 4 + height * static_cast<float>(i / 2), width, height},
                       study, charts[i], state);
}

Hover describe_scaling(const ScalingStudy& study, Item item) {
  const ScalingPoint* point = point_of(study, item);
  if (point == nullptr) return {};
  const ScalingLaw law = item.tag < kScalingPoints ? ScalingLaw::Strong : ScalingLaw::Weak;
  Hover hover{format_count(point->devices) + (point->devices == 1 ? " device" : " devices"),
              std::string(to_string(law)) + " scaling",
              "",
              {}};
  if (!point->result) {
    hover.value = "not legal";
    hover.lines.push_back(point->why_not);
    return hover;
  }
  const Result& r = *point->result;
  hover.value = band_text(r.step).text();
  hover.lines.push_back(degree_words(r.plan) +
                        " global-batch=" + std::to_string(point->global_batch));
  hover.lines.push_back(band_number(rate(r), (work_units(study) + "/s").c_str()).text() + ", MFU " +
                        band_percent(utilisation(r)).text());
  if (const auto money = money_for_work(r))
    hover.lines.push_back(band_number(*money, "$").text() + " for " + priced_units(study));
  if (point->efficiency)
    hover.lines.push_back("efficiency " + format_percent(*point->efficiency) +
                          " against the fewest devices on which it fits");
  if (point->added)
    hover.lines.push_back("the added devices bring " + band_percent(*point->added).text() +
                          " of their share of throughput");
  if (!point->fits()) hover.lines.push_back(point->why_not);
  return hover;
}

DataTable scaling_table(const ScalingStudy& study) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const ScalingCurve* curve : {&study.strong, &study.weak})
    for (std::size_t i = 0; i < curve->points.size(); ++i) {
      const ScalingPoint& point = curve->points[i];
      std::vector<DataCell> row(21);
      row[0] = std::string(to_string(curve->law));
      row[1] = point.devices;
      if (point.global_batch > 0) row[2] = point.global_batch;
      row[3] = std::string(point.fits() ? "yes" : point.result ? "no" : "not legal");
      if (point.result) {
        const Result& r = *point.result;
        const auto put = [&](std::size_t at, const Banded<double>& b) {
          row[at] = b.value, row[at + 1] = b.low, row[at + 2] = b.high;
        };
        row[4] = r.step.value.count(), row[5] = r.step.low.count(), row[6] = r.step.high.count();
        put(7, rate(r));
        put(10, utilisation(r));
        if (const auto money = money_for_work(r)) put(13, *money);
        row[16] = degree_words(r.plan);
        row[19] = r.verdict.margin.value;
      }
      if (point.efficiency) row[17] = *point.efficiency;
      if (point.added) row[18] = point.added->value;
      if (!point.why_not.empty()) row[20] = point.why_not;
      rows.push_back(std::move(row));
      items.push_back(scaling_item(curve->law, i));
    }
  const std::string per_second = work_units(study) + " per second",
                    money = "money for " + priced_units(study);
  return listed_table("Scaling",
                      {{"law", DataUnit::Words},
                       {"devices", DataUnit::Count},
                       {"global batch", DataUnit::Count},
                       {"fits", DataUnit::Words},
                       {"step", DataUnit::StepTime},
                       {"step, low", DataUnit::StepTime},
                       {"step, high", DataUnit::StepTime},
                       {per_second, DataUnit::Number},
                       {per_second + ", low", DataUnit::Number},
                       {per_second + ", high", DataUnit::Number},
                       {"MFU", DataUnit::Share},
                       {"MFU, low", DataUnit::Share},
                       {"MFU, high", DataUnit::Share},
                       {money, DataUnit::Money},
                       {money + ", low", DataUnit::Money},
                       {money + ", high", DataUnit::Money},
                       {"degrees", DataUnit::Words},
                       {"efficiency", DataUnit::Share},
                       {"added", DataUnit::Share},
                       {"spare", DataUnit::ByteCount},
                       {"why not", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

template <>
ScalingStudy make_model(const ViewData& data) {
  return scaling(data.experiment->workload.scenario, {},
                 [&](const Scenario& s) { return banded_estimate(prepare(s), data.cost()); });
}

constinit const View kScalingView{
    .name = "scaling",
    .title = "Scaling",
    .summary = "step, throughput, MFU and money over the number of devices",
    .size = kScalingSize,
    .tab = "Scaling",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_scaling(drawing, whole(size), data.get<ScalingStudy>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_scaling(data.get<ScalingStudy>(), hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return scaling_table(data.get<ScalingStudy>()); }};

}  // namespace trainyard
