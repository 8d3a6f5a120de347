// One chart of a study of scaling: a figure of both curves over the number of devices.
#pragma once

#include <optional>
#include <string>

#include "core/estimate/scaling.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// The item of a point: kind Dot, tag law * kScalingPoints + its index in the curve.
inline constexpr std::uint64_t kScalingPoints = 4096;
inline Item scaling_item(ScalingLaw law, std::size_t point) {
  return {ItemKind::Dot, static_cast<std::uint64_t>(law) * kScalingPoints + point};
}

struct ScalingChart {
  std::string title;    // "Tokens per second"
  std::string missing;  // why no point has the figure
  bool logarithmic = false;
  /// The figure of a point that has a result; empty where it has none.
  std::optional<Banded<double>> (*figure)(const ScalingStudy&, const Result&) = nullptr;
  std::string (*text)(double) = nullptr;  // of a tick
  /// What the figure would be on so many times the devices if nothing were lost; null = no ideal.
  double (*ideal)(ScalingLaw, double value, double times) = nullptr;
};

Ink ink_of(ScalingLaw);
void draw_scaling_chart(Drawing&, const Rect& area, const ScalingStudy&, const ScalingChart&,
                        const ViewState&);
/// The signs of points, for legends.
void draw_fitting(Drawing&, Point, ScalingLaw, Item);
void draw_unfitting(Drawing&, Point, ScalingLaw, Item);
void draw_illegal(Drawing&, Point, Ink, Item);
void draw_pays(Drawing&, Point);

}  // namespace trainyard
