// Jobs that share a network with short flows, by how they reduce: what a job computes and reduces,
// alone and with all others, as bars beside the times within which short flows complete.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/network/shared_cluster.h"
#include "visualizers/chart/bars_view.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

struct SharedClusterModel {
  BarsModel jobs;
  std::optional<CurveModel> completions;  // empty without short flows
};
SharedClusterModel shared_cluster_model(const SharedClusterAnswer&);

/// Bars at the left, curves at the right; items as draw_bars() and draw_curve() make them.
void draw_shared_cluster(Drawing&, const Rect& area, const SharedClusterModel&);
Hover describe_shared_cluster(const SharedClusterModel&, Item);
/// Says for people who cannot see it what is drawn.
std::string shared_cluster_words(const SharedClusterModel&);
Drawing shared_cluster_picture(const SharedClusterAnswer&);
/// A row for each way to reduce.
DataTable shared_cluster_table(const SharedClusterAnswer&);
/// Returns one sentence for each conclusion: trees against the ring.
std::vector<std::string> shared_cluster_sentences(const SharedClusterAnswer&);

}  // namespace trainyard
