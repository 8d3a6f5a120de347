// A placement of memory as blocks: time across, addresses upwards, each buffer as wide as its life
// and as high as its size; the most that is alive at each instant as a line, the bound and the
// capacity across.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/memory/arena_solver.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct ArenaModel {
  std::string title;
  std::vector<std::string> names;  // of the buffers
  std::vector<Lifetime> lives;
  std::vector<Bytes> offsets;  // of each
  Bytes reach{}, lower_bound{};
  std::optional<Bytes> capacity;
  std::vector<std::pair<std::int64_t, Bytes>> alive;  // from that instant on, rising in time
};
ArenaModel arena_model(std::string title, std::vector<std::string> names,
                       std::vector<Lifetime> lives, const SolvedArena&,
                       std::optional<Bytes> capacity);

inline constexpr Size kArenaSize{1200, 640};

/// Items: Cell, tag the buffer; Capacity. Buffers alive when most is alive have an ink of their
/// own; what is never there is not drawn.
void draw_arena(Drawing&, const Rect& area, const ArenaModel&, const ViewState&);
Hover describe_arena(const ArenaModel&, Item);

}  // namespace trainyard
