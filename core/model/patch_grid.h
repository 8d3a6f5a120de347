// A PatchGrid says which patch of an image each token of a vision tower is. A sample's images
// follow each other; each has its class token, where the tower has one, and then its patches: row
// by row, or window by window and row by row within each (Bai et al., "Qwen2.5-VL", 2025), so that
// the tokens that attend to each other are neighbours.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/graph.h"

namespace trainyard {

struct Model;  // core/model/model.h

struct PatchGrid {
  std::int64_t images = 1;             // of a sample, >= 1
  std::int64_t rows = 1, columns = 1;  // patches of one image
  std::int64_t window = 0;             // patches along a window's side; 0 = an image is one window
  std::int64_t class_tokens = 0;       // in front of the patches of each image: 0 or 1

  std::int64_t patches() const { return rows * columns; }  // of one image
  std::int64_t image_tokens() const { return class_tokens + patches(); }
  std::int64_t tokens() const { return images * image_tokens(); }

  struct Cell {
    std::int64_t row = 0, column = 0;
  };
  /// The place in its image of the n-th patch, in the order of the tokens.
  Cell cell(std::int64_t patch) const {
    if (window == 0) return {patch / columns, patch % columns};
    const std::int64_t square = window * window, w = patch / square, inside = patch % square,
                       across = columns / window;
    return {w / across * window + inside / window, w % across * window + inside % window};
  }
  /// The inverse of cell().
  std::int64_t patch(Cell at) const {
    if (window == 0) return at.row * columns + at.column;
    const std::int64_t w = at.row / window * (columns / window) + at.column / window;
    return (w * window + at.row % window) * window + at.column % window;
  }
};

/// Reads the attributes images, columns, window and class_token of a node that takes so many
/// tokens. It may only be asked of a node for which why_no_grid() is empty.
PatchGrid patch_grid(const Node&, std::int64_t tokens);
/// Returns the grid of the tokens that a patch_tokens node makes, whose images lie one below the
/// other: it has a class token where an input is a vector.
PatchGrid grid_of_patches(const Graph&, const Node&);
/// Returns why the tokens are no such grid, in words that follow "expected"; "" if they are one.
std::string why_no_grid(const Node&, std::int64_t tokens);

/// Returns how many places of a sequence the images of one sample take; 0 where it has none.
std::int64_t tokens_of_images(const Model&);

}  // namespace trainyard
