// Draws the rows of a timeline: boxes coloured by operation with their letters and microbatches,
// idle hatched, what is too narrow to be seen alone folded.
#pragma once

#include <array>
#include <vector>

#include "visualizers/chart/time_plot.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/folding.h"

namespace trainyard {

inline constexpr float kShortestMark = 1.6f;  // px of the shortest span's box

/// One object a viewport, so that the list of folds is allocated once.
class LanePainter {
 public:
  /// plain: rows have no room for more than a colour a box.
  LanePainter(Drawing&, const TimelineModel&, const Viewport&, double scale, bool plain = false);

  /// A row of computation with the waits between, to the end of the run. Items as draw_timeline's.
  void compute(std::uint32_t row, float top, float height, DeviceId);
  /// A row of communication: bars whose height is the share of time in which it is busy.
  void comm(std::uint32_t row, float top, float height);
  /// A row in colours only, nothing to point at.
  void overview(std::uint32_t row, float top, float height);

 private:
  void begin(std::uint32_t row, float top, float height);
  template <class Boxes, class Draw>
  void with_idle(std::uint32_t row, float top, float height, DeviceId, const Boxes&, Draw&&);
  void low_box(const LowBox&, const Extent&, float top, float height, std::uint32_t base);
  void flush();
  void move_on();
  void put(const Tile&);
  bool joins(const Fold&, const Fold& next, float right) const;
  Instant end_before(std::uint32_t row, std::uint32_t index) const;
  Extent place(Instant start, Instant end) const { return {place(start), place(end)}; }
  float place(Instant) const;
  void idle(float left, float right, float top, float height, std::uint32_t ended_by);
  void span(const Fold&, const Extent&, float top, float height, InstructionId);
  double recomputed(const Fold&, InstructionId) const;
  void label(InstructionId, const Task&, const Rect&, Ink on);
  void folded(const Fold&, const Extent&, float top, float height, std::uint32_t first);

  Drawing& drawing_;
  const TimelineModel& model_;
  const Program& program_;
  const Viewport& v_;
  double scale_;
  bool plain_;
  FoldStep step_;
  Instant from_;
  double px_per_ns_;
  double low_, high_;  // where boxes are cut
  std::vector<Fold> folds_;
  std::vector<LowBox> boxes_;     // in place of the folds where rows are plain
  int steps_ = 1;                 // of their heights
  std::array<Tile, 64> waiting_;  // before they go to the drawing, many at once
  std::size_t waits_ = 0;
  std::size_t flushed_;  // of the drawing's tiles: those before it are in strips
  Rect bounds_;          // of the row's tiles
};

}  // namespace trainyard
