// The time of a recording as a strip, with its steps, on which a part of it is chosen: a drag, a
// click on a step, or keys.
#pragma once

#include <functional>

#include "app/desktop/controls/canvas_widget.h"
#include "core/io/traces/trace_extent.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

class RangeScene : public Scene {
 public:
  /// chosen: the range is another now, by somebody's hand.
  RangeScene(TraceExtent extent, std::function<void()> chosen);

  TimeRange range() const { return range_; }
  TimeRange all() const { return {Instant{}, extent_.end}; }
  /// Within all().
  void set_range(TimeRange range) { range_ = range; }

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  Viewport view() const;
  void choose(TimeRange);
  bool mouse(const InputFrame&);
  bool key(int key, bool extends);
  /// To the step before or after; where none are marked, by as much as is chosen.
  void move(int direction);
  /// Its end, to the end of a step before or after; where none are marked, by a twentieth.
  void extend(int direction);

  TraceExtent extent_;
  std::function<void()> chosen_;
  TimeRange range_;
  Drawing last_{Size{}};
  Point pressed_;
  bool dragging_ = false;
};

}  // namespace trainyard
