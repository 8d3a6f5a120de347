// The rows behind each view: what its picture shows, one thing a row, with exact values.
#pragma once

#include <functional>
#include <vector>

#include "core/validation/validation.h"
#include "visualizers/chart/table.h"
#include "visualizers/compare/waterfall_view.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/model/layer_view.h"
#include "visualizers/plans/pareto_model.h"
#include "visualizers/roofline/roofline_view.h"
#include "visualizers/run/run_view.h"
#include "visualizers/schedule/order_view.h"
#include "visualizers/schedule/schedules_view.h"
#include "visualizers/schedule/staleness_view.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/validation/validation_view.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {

/// Cells by row, then slot.
DataTable order_table(ExperimentPtr, const OrderGrid&);
DataTable staleness_table(const StalenessModel&);
/// Kinds of work, most time first, then what crosses links.
DataTable roofline_table(const Roofline&);
DataTable layer_table(const LayerModel&);
/// Devices by global rank.
DataTable cluster_table(ExperimentPtr);
/// Points as in the model; words: the settings of a plan by its id, may be empty.
DataTable pareto_table(const ParetoModel&, const std::function<std::string(std::uint64_t)>& words);
DataTable validation_table(const ValidationModel&);
/// Schedules in the order of their panels.
DataTable schedules_table(const SchedulesModel&);
/// What differs from the prediction, by cause, and what is furthest from it, as far as a step was
/// measured; then losses by update.
DataTable run_table(const RunModel&);
/// Causes by model, then in its order.
DataTable waterfall_table(const std::vector<WaterfallModel>&);

}  // namespace trainyard
