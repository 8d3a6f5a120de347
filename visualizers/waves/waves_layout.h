// Where the parts of the waves view lie: lanes and memory of a device above, the slider of offsets
// below.
#pragma once

#include "visualizers/chart/time_plot.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {

/// px of a lane, and of what parts it from the next.
inline constexpr float kWaveLane = 18, kWaveLaneGap = 3;

struct WavesLayout {
  Rect ruler, lanes, bar, memory, offset_bar, offset;
  Rect cards;   // beside all of them; without width where the plan states no offset or has no room
  Rect slider;  // the offset curve's plot: offsets 0..1 of the cycle across its width
  DeviceId device;
};
WavesLayout waves_layout(const WavesModel&, const Rect& area, const ViewState&);

}  // namespace trainyard
