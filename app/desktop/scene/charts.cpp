#include "app/desktop/scene/charts.h"

#include <utility>

#include "app/desktop/controls/text.h"
#include "app/workspace/runs/tuning/tune_words.h"
#include "visualizers/network/network_view.h"
#include "visualizers/probe/staircase_view.h"
#include "visualizers/tuning/gains_view.h"

namespace trainyard {
namespace {

QString spoken(const std::vector<std::string>& sentences) {
  QStringList all;
  for (const std::string& sentence : sentences) all << q(sentence);
  return all.join(' ');
}

}  // namespace

std::unique_ptr<ChartScene> residuals_scene(std::function<const ResidualsModel*()> model,
                                            std::function<QString()> words,
                                            std::function<void(Item)> chosen) {
  return std::make_unique<ChartScene>(ChartOf<ResidualsModel>{
      std::move(model), draw_residuals, describe_residuals,
      [](const ResidualsModel& m) { return q(m.title + ". " + residuals_words(m) + "."); },
      std::move(words), std::move(chosen)});
}

std::unique_ptr<ChartScene> staircase_scene(std::function<const WidthProbe*()> model,
                                            std::function<QString()> words) {
  return std::make_unique<ChartScene>(
      ChartOf<WidthProbe>{std::move(model), draw_staircase, describe_staircase,
                          [](const WidthProbe& probe) {
                            return q(probed_words(probe)) + ". " + spoken(probe_sentences(probe));
                          },
                          std::move(words)});
}

std::unique_ptr<ChartScene> stages_scene(std::function<const StagesModel*()> model,
                                         std::function<QString()> words,
                                         std::function<void(Item)> chosen) {
  return std::make_unique<ChartScene>(ChartOf<StagesModel>{
      std::move(model), draw_stages, describe_stages,
      [](const StagesModel& m) { return q(m.title + ". " + stages_words(m) + "."); },
      std::move(words), std::move(chosen)});
}

std::unique_ptr<ChartScene> network_scene(std::function<const NetworkUse*()> model,
                                          std::function<QString()> words,
                                          std::function<void(Item)> chosen) {
  return std::make_unique<ChartScene>(
      ChartOf<NetworkUse>{std::move(model), draw_network, describe_network,
                          [](const NetworkUse& use) { return spoken(network_sentences(use)); },
                          std::move(words), std::move(chosen)});
}

std::unique_ptr<ChartScene> curve_scene(std::function<const CurveModel*()> model,
                                        std::function<QString()> words) {
  return std::make_unique<ChartScene>(ChartOf<CurveModel>{
      std::move(model),
      [](Drawing& drawing, const Rect& area, const CurveModel& curve, const ViewState&) {
        draw_curve(drawing, area, curve);
      },
      [](const CurveModel& curve, Item item) { return describe_curve(curve, item); },
      [](const CurveModel& curve) { return q(curve_words(curve)); }, std::move(words)});
}

std::unique_ptr<ChartScene> bars_scene(std::function<const BarsModel*()> model,
                                       std::function<QString()> words) {
  return std::make_unique<ChartScene>(ChartOf<BarsModel>{
      std::move(model),
      [](Drawing& drawing, const Rect& area, const BarsModel& bars, const ViewState&) {
        draw_bars(drawing, area, bars);
      },
      describe_bars, [](const BarsModel& bars) { return q(bars_words(bars)); }, std::move(words)});
}

std::unique_ptr<ChartScene> gains_scene(const TuningSession& tuning) {
  return std::make_unique<ChartScene>(
      ChartOf<TuneReport>{[&tuning] { return &tuning.report(); },
                          [](Drawing& drawing, const Rect& area, const TuneReport& report,
                             const ViewState&) { draw_gains(drawing, area, report); },
                          [](const TuneReport&, Item) { return Hover{}; },
                          [](const TuneReport& report) { return spoken(fusion_sentences(report)); },
                          [] { return QString(); }});
}

}  // namespace trainyard
