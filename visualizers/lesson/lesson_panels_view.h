// The pictures of a lesson's step, one below the other: bars, curves, rings and lanes of its own,
// and any of views() of a simulated plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "visualizers/chart/bars_view.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/communication/ring_view.h"
#include "visualizers/lesson/lesson_lanes_view.h"
#include "visualizers/run/run_view.h"
#include "visualizers/view.h"

namespace trainyard {

struct LessonPicture {
  enum class Kind : std::uint8_t {
    Bars,
    Curve,
    Ring,
    Lanes,
    View,
    Run,
    Hidden,
    Failed
  } kind = Kind::Bars;
  std::string title;  // of Hidden, Failed, View and Run
  std::string words;  // Failed: what is wrong; Run: what is said where none was
  BarsModel bars;
  CurveModel curve;
  RingModel ring;
  LessonLanes lanes;
  std::string view;
  std::shared_ptr<const ViewData> data;  // of a View
  const RunModel* run = nullptr;         // of a Run; null: none was; outlives the drawing
};

/// Where each lies: by how much each needs, across the whole height. At least one.
std::vector<Rect> panel_areas(const std::vector<LessonPicture>&, const Rect& area, float large = 1);
/// large: how much larger than usual text and lanes are, 1.5 for a projector. Views are drawn as
/// everywhere, at that scale.
void draw_lesson_panels(Drawing&, const Rect& area, const std::vector<LessonPicture>&,
                        float large = 1);
/// All in words, for assistive tools: titles and what is shown.
std::string panel_words(const std::vector<LessonPicture>&);

}  // namespace trainyard
