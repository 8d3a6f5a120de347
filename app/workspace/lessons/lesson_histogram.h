// Converts the answers of a class to the model of the histogram view.
#pragma once

#include "core/lesson/answers.h"
#include "visualizers/chart/bars_view.h"

namespace trainyard {

HistogramModel histogram_model(const AnswerHistogram&);

}  // namespace trainyard
