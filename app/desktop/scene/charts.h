// The charts that are scenes without gestures of their own.
#pragma once

#include <functional>
#include <memory>

#include "app/desktop/scene/chart_scene.h"
#include "app/desktop/session/tuning_session.h"
#include "core/cost/width_probe.h"
#include "core/network/network_use.h"
#include "visualizers/branches/stages_view.h"
#include "visualizers/chart/bars_view.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/roofline/residuals_view.h"

namespace trainyard {

/// `model` gives null while there is nothing to draw; `words` are what is said then; `chosen` is
/// told the item that was clicked.
std::unique_ptr<ChartScene> residuals_scene(std::function<const ResidualsModel*()> model,
                                            std::function<QString()> words,
                                            std::function<void(Item)> chosen);
std::unique_ptr<ChartScene> staircase_scene(std::function<const WidthProbe*()> model,
                                            std::function<QString()> words);
std::unique_ptr<ChartScene> stages_scene(std::function<const StagesModel*()> model,
                                         std::function<QString()> words,
                                         std::function<void(Item)> chosen);
std::unique_ptr<ChartScene> network_scene(std::function<const NetworkUse*()> model,
                                          std::function<QString()> words,
                                          std::function<void(Item)> chosen);
std::unique_ptr<ChartScene> curve_scene(std::function<const CurveModel*()> model,
                                        std::function<QString()> words);
std::unique_ptr<ChartScene> bars_scene(std::function<const BarsModel*()> model,
                                       std::function<QString()> words);
/// The curve of how many jobs pay to be trained together. The tuning must outlive it.
std::unique_ptr<ChartScene> gains_scene(const TuningSession&);

}  // namespace trainyard
