// An all-reduce of a ring as it goes: ranks on a circle, each with the chunks of its vector, filled
// as far as they are summed; an arrow for what travels in a round.
#pragma once

#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

struct RingModel {
  std::string title;
  int ranks = 8;  // at least 2
  int round = 0;  // [0, ring_rounds]: how many are over
};
/// 2 (n - 1): the first half adds up, the second passes the sums round.
int ring_rounds(int ranks);
/// How many ranks' parts are in chunk `chunk` of rank `rank` after `round` rounds, [1, ranks].
int ring_summed(int ranks, int rank, int chunk, int round);
/// The chunk that the rank sends in that round, counting rounds from 0.
int ring_sent(int ranks, int rank, int round);

/// Items: Cell, tag rank * 4096 + chunk. More than kRingChunks ranks show no chunks.
inline constexpr int kRingChunks = 16;
void draw_ring(Drawing&, const Rect& area, const RingModel&, float large = 1);
/// "round 3 of 14, adding: 1 of 8 chunks of each rank is whole".
std::string ring_words(const RingModel&);

}  // namespace trainyard
