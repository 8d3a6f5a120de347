// An Image is pixels in memory: 8 bits a channel, red first, straight alpha, rows from the top
// without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "visualizers/drawing/palette.h"

namespace trainyard {

struct Image {
  int width = 0, height = 0;       // device pixels
  std::vector<std::uint8_t> rgba;  // 4 * width * height bytes

  bool empty() const { return rgba.empty(); }
  friend bool operator==(const Image&, const Image&) = default;
};

/// Gives the image this size; the pixels are what they happen to be.
inline void resize(Image& image, int width, int height) {
  image.width = width;
  image.height = height;
  image.rgba.resize(4 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
}

inline Rgba pixel(const Image& image, int x, int y) {
  const std::uint8_t* p =
      &image.rgba[4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                       static_cast<std::size_t>(x))];
  return {p[0], p[1], p[2], p[3]};
}

}  // namespace trainyard
