// This file computes how a matrix product is divided into tiles: the parts of tiles beyond its
// edges and the units that idle in the last wave.
#include <algorithm>
#include <cmath>

#include "core/cost/physical.h"

namespace trainyard {
namespace {

struct Tile {
  std::int64_t m, n;
  int smallness;  // power to which a small tile's cost is raised
};

// These are the shapes among which libraries of matrix products choose.
constexpr Tile kTiles[] = {{128, 256, 0}, {256, 128, 0}, {128, 128, 1}, {64, 128, 2}};
constexpr std::int64_t kMostSplits = 8;

std::int64_t parts(std::int64_t size, std::int64_t part) { return (size + part - 1) / part; }

}  // namespace

double tile_time(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int units,
                 const TileShape& shape) {
  double best = 0;
  for (const Tile& tile : kTiles) {
    const std::int64_t rows = parts(m, tile.m), columns = parts(n, tile.n);
    const double cover = static_cast<double>(rows * tile.m) *
                         static_cast<double>(columns * tile.n) /
                         (static_cast<double>(m) * static_cast<double>(n)) *
                         std::pow(shape.small_tile, tile.smallness);
    const std::int64_t tiles = rows * columns * count;
    for (std::int64_t splits = 1; splits <= kMostSplits; ++splits) {
      if (splits > 1 && (tiles * (splits - 1) >= std::int64_t{2} * units || k < splits * 256))
        break;
      const std::int64_t pieces = tiles * splits, waves = parts(pieces, units);
      const double idle = static_cast<double>(waves * units) / static_cast<double>(pieces);
      const double inner = 1 + shape.inner * static_cast<double>(splits) / static_cast<double>(k);
      const double whole = cover * inner;
      if (best > 0 && whole >= best) continue;  // idle units would only add to it
      const double time = whole * (idle > 1 ? std::pow(idle, shape.wave) : 1);
      if (best == 0 || time < best) best = time;
    }
  }
  return best;
}

}  // namespace trainyard
