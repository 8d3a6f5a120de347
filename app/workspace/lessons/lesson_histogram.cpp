#include "app/workspace/lessons/lesson_histogram.h"

#include "visualizers/chart/panel.h"

namespace trainyard {

HistogramModel histogram_model(const AnswerHistogram& h) {
  HistogramModel model;
  model.title = "Lesson " + std::to_string(h.lesson) + ": " + h.words;
  model.unit = h.unit.name;
  model.low = h.low;
  model.high = h.high;
  model.bins = h.bins;
  model.truth = h.truth;
  model.words = std::to_string(h.answered) + " answered, " + std::to_string(h.right) +
                " right, median " + panel_number(h.median, model.unit);
  return model;
}

}  // namespace trainyard
