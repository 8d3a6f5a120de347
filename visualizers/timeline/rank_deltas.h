// Two results rank by rank: how long each stands idle and how much it holds, the one as a ring and
// the other as a dot with a bar between, and the signed change.
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/result/experiment.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct RankDelta {
  std::string name;  // "Stage 3"
  Duration idle_a{}, idle_b{};
  Bytes peak_a{}, peak_b{};
};

struct RankDeltas {
  std::vector<RankDelta> ranks;  // empty: the two have different numbers of ranks
  Bytes capacity{};              // the smaller of both
};
/// Idle is what no cause but bubble explains. Linear in the instructions of both.
RankDeltas rank_deltas(const Experiment& a, const Experiment& b);

float rank_deltas_height(const RankDeltas&);
/// Items: Lane, tag the rank. The state's selected lane is marked.
void draw_rank_deltas(Drawing&, const Rect& area, const RankDeltas&, const ViewState&);
Hover describe_rank_delta(const RankDeltas&, Item);

}  // namespace trainyard
