#include "visualizers/tuning/gains_view.h"

#include <fmt/format.h>

#include "visualizers/chart/curve_view.h"

namespace trainyard {

bool has_gains(const TuneReport& report) {
  return report.fusion && report.fusion->priced.size() > 1;
}

void draw_gains(Drawing& drawing, const Rect& area, const TuneReport& report) {
  if (!has_gains(report)) return;
  const TuneFusion& f = *report.fusion;
  CurveModel curve;
  curve.title = "Gain of jobs trained together";
  curve.x_label =
      f.would_fit ? fmt::format("jobs together; {} would fit", *f.would_fit) : "jobs together";
  curve.log_x = true;
  CurveModel::Line predicted{"predicted", Ink::Forward, {}};
  for (const FusedGain& one : f.priced) {
    curve.x.push_back(one.jobs);
    curve.x_names.push_back(std::to_string(one.jobs));
    predicted.values.push_back(one.gain);
  }
  curve.lines.push_back(std::move(predicted));
  if (f.gain && f.jobs >= f.priced.front().jobs && f.jobs <= f.priced.back().jobs)
    curve.marks.push_back({static_cast<double>(f.jobs), *f.gain,
                           fmt::format("measured {:.1f} times", *f.gain), true});
  draw_curve(drawing, area, curve);
}

}  // namespace trainyard
