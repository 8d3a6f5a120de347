// The waves of one device: what each holds over time, stacked, with their sum under the capacity;
// and below, the peak at every offset between them, which is the slider that chooses it (Wang et
// al., "Wavelet", MLSys 2021).
#pragma once

#include "visualizers/time/timeline_model.h"
#include "visualizers/view.h"
#include "visualizers/waves/waves_layout.h"

namespace trainyard {

/// The share of the cycle under an x of the slider, in [0, 1]; within 6 px of a mark that mark's
/// own, unless free.
double offset_at(const WavesModel&, const WavesLayout&, float x, bool free = false);

/// The instant of the run under a point of the view; within the memory of a state by phase that of
/// the cycle.
Instant waves_instant(const WavesModel&, const WavesLayout&, const ViewState&, Point);

/// Items: Span and its like in the lanes; Wave, tag 0 the state and 1 + wave; Capacity; Peak, tag
/// the device; Other, tag 0 the offset's curve and 1 its handle.
void draw_waves(Drawing&, const Rect& area, const WavesModel&, const TimelineModel&,
                const ViewState&);
/// What to say of an item of draw_waves at a point.
Hover describe_waves(const WavesModel&, const TimelineModel&, const Rect& area, const ViewState&,
                     Item, Point);

extern const View kWavesView;

}  // namespace trainyard
