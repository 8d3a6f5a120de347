// How a class answered, as the view draws it.
#pragma once

#include "core/lesson/answers.h"
#include "visualizers/chart/bars_view.h"

namespace trainyard {

HistogramModel histogram_model(const AnswerHistogram&);

}  // namespace trainyard
