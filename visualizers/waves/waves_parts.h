// What the parts of the waves view share: memory above, offset below, words on hover.
#pragma once

#include <string>

#include "visualizers/time/memory_wave.h"
#include "visualizers/waves/waves_layout.h"

namespace trainyard {

std::string two_digits(double);
std::int64_t capacity_of(const WavesModel&);
float x_at(const Rect& slider, double share);

/// A dashed line with its words over its right end.
void draw_limit(Drawing&, const Rect& plot, float y, const std::string& words, Ink, float dash);

/// A line through one height a column, broken into dashes of that many columns where asked for.
void draw_through(Drawing&, const Rect& plot, const std::vector<float>& ys, float thickness,
                  int dash, const Style&);

/// One cycle of every wave over one another, each above the state, with their sum.
void draw_phases(Drawing&, const Rect& plot, const ByteScale&, const WavesModel&,
                 const DeviceWaves&, const ViewState&);
/// The instant of the cycle that is drawn at x of that plot.
Instant phase_instant(const DeviceWaves&, const Rect& plot, float x);

/// The offset curve with its bar, marks and handle.
void draw_offset(Drawing&, const WavesLayout&, const WavesModel&, const DeviceWaves&,
                 const OffsetScan&, const ViewState&);

}  // namespace trainyard
