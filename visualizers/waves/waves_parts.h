// What the parts of the waves view share: memory above, offset below, words on hover.
#pragma once

#include <string>

#include "visualizers/time/memory_lines.h"
#include "visualizers/waves/waves_layout.h"

namespace trainyard {

std::string two_digits(double);
std::int64_t capacity_of(const WavesModel&);
Duration offset_time(const WavesModel&, const DeviceWaves&, double share);
float x_at(const Rect& slider, double share);

/// One cycle of every wave over one another, each above the state, with their sum.
void draw_phases(Drawing&, const Rect& plot, const ByteScale&, const WavesModel&,
                 const DeviceWaves&, const ViewState&);
/// The instant of the cycle that is drawn at x of that plot.
Instant phase_instant(const DeviceWaves&, const Rect& plot, float x);

/// The cards beside the waves: their arrangement, staleness, worth and figures. Those without room
/// are left out.
void draw_wave_cards(Drawing&, const Rect& area, const WavesModel&, const DeviceWaves&);

/// The offset curve with its bar, marks and handle.
void draw_offset(Drawing&, const WavesLayout&, const WavesModel&, const DeviceWaves&,
                 const OffsetScan&, const ViewState&);

}  // namespace trainyard
