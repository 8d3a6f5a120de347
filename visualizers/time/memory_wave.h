// One device's memory over time as filled columns, a column a device pixel: at each the state with
// the highest total within it, one that really was, so that its categories add up.
#pragma once

#include <cstdint>
#include <vector>

#include "visualizers/time/memory_model.h"
#include "visualizers/time/memory_stack.h"

namespace trainyard {

/// How bytes become y in one wave's area.
struct ByteScale {
  float bottom = 0;
  double px_per_byte = 0;
  float y(std::int64_t bytes) const {
    return bottom - static_cast<float>(px_per_byte * static_cast<double>(bytes));
  }
};
/// `highest` lies `headroom` px below the top of the area.
ByteScale scale_of(const Rect& area, std::int64_t highest, float headroom);
/// Draws a line at each round number of GiB between two numbers of bytes, or of MiB where there is
/// less than one GiB.
void draw_bytes_axis(Drawing&, const Rect& plot, const ByteScale&, double from, double to);

/// Draws one device's wave; asks for its peaks once.
class WavePainter {
 public:
  WavePainter(Drawing&, const MemoryModel&, DeviceId, const Viewport&, double scale);

  /// Every category by itself.
  void stack(const Rect& plot, const ByteScale&);
  /// Every band of a stack of the same device.
  void stack(const Rect& plot, const ByteScale&, const MemoryStack&);
  /// What is held all the time, and what comes and goes above it.
  void summary(const Rect& plot, const ByteScale&);
  void top_line(const Rect& plot, const ByteScale&, float thickness, Ink);
  /// Hatches what lies above the capacity.
  void overflow(const Rect& plot, const ByteScale&, std::int64_t capacity);

 private:
  float top_of(const ByteScale&, std::size_t i) const;
  void band(const Rect& plot, const ByteScale&, std::size_t first, std::size_t last, Ink,
            std::vector<std::int64_t>& below);

  Drawing& drawing_;
  const MemoryWave& wave_;
  const StepCurve& curve_;
  Item item_;
  std::vector<std::size_t> highest_;  // samples, one a device pixel
};

}  // namespace trainyard
