// Scaling: step, throughput, MFU and money over the number of devices, a chart each, with the
// strong and the weak law as two inks. Bands are tinted, dashed lines are the ideal; what does not
// fit is hollow, and what is not legal a cross at the foot of the charts.
#pragma once

#include "core/estimate/scaling.h"
#include "visualizers/chart/table.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

inline constexpr Size kScalingSize{1082, 640};

/// Items: scaling_item(). A selected point is ringed in all charts.
void draw_scaling(Drawing&, const Rect& area, const ScalingStudy&, const ViewState&);
/// A picture of kScalingSize, as for a file.
Drawing scaling_picture(const ScalingStudy&);
Hover describe_scaling(const ScalingStudy&, Item);
/// Points of the strong curve by devices, then those of the weak one.
DataTable scaling_table(const ScalingStudy&);

/// Of the experiment's own plan with its degrees as they are, by the closed form.
template <>
ScalingStudy make_model(const ViewData&);

extern const View kScalingView;

}  // namespace trainyard
