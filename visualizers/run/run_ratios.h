// Draws what replicas exchanged, by layer over the steps: how orthogonal the updates were that they
// combined by Adasum (1 where they added to each other, 1 over their number where they were equal),
// or the share of the energy of their gradients that they sent.
#pragma once

#include <string>

#include "visualizers/drawing/drawing.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

/// Says whether there is anything to draw.
bool has_ratios(const RunModel&);
/// A line a layer, and over them the mean of the layers.
void draw_run_ratios(Drawing&, const Rect& area, const RunModel&);
/// headroom_sentence() of the last steps, or what compressed gradients saved; "" where replicas
/// exchanged whole gradients.
std::string exchange_words(const RunModel&);

}  // namespace trainyard
