// Draws what replicas exchanged, by layer over the steps: how orthogonal the updates were that they
// combined by Adasum (1 where they added to each other, 1 over their number where they were equal),
// or the share of the energy of their gradients that they sent.
#pragma once

#include <string>

#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

/// Says whether there is anything to draw.
bool has_ratios(const RunModel&);
/// The mean of the layers as a line, and below it a row a layer, the brighter the higher its ratio.
/// Items: Cell, of one layer in one step.
void draw_run_ratios(Drawing&, const Rect& area, const RunModel&);
/// Describes such a cell; the title is empty where there is none.
Hover describe_ratio(const RunModel&, Item);
/// The mean of an update's layers, the first being 0; 0 where it has none.
double ratio_of_update(const RunModel&, std::size_t update);
/// headroom_sentence() of the last steps, or what compressed gradients saved; "" where replicas
/// exchanged whole gradients.
std::string exchange_words(const RunModel&);

}  // namespace trainyard
