// The picture of the Analyse perspective: timeline above memory waves on one time axis, and what
// the mouse and the keys do to them.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/exploration.h"
#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

class AnalyseScene : public Scene {
 public:
  AnalyseScene(Session& session, Exploration& exploration)
      : session_(session), exploration_(exploration) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  Qt::CursorShape cursor(Point) override;

 private:
  enum class Drag { None, Range, Window, Pan };
  void press(const InputFrame&);
  void drag(const InputFrame&);
  void release(const InputFrame&);
  void wheel(const InputFrame&);
  void key(int key, const InputFrame&);
  void click(Point);
  void zoom_by(double factor, double x);
  void pan_by(double dx);
  void fit_selection();
  void fit_span(Item);
  void follow_pointer(const InputFrame&);
  void follow_selection();
  void walk(int columns, int rows);
  Instant snapped(Point, bool free) const;
  Rect timeline_area() const;
  Rect memory_area() const;
  Viewport shown() const;
  /// The session's, at the scale of the last picture.
  ViewState drawn_state() const;
  Item item_at(Point) const;

  Session& session_;
  Exploration& exploration_;
  Size size_{};
  double scale_ = 1;
  Drawing last_{Size{}};
  Drag drag_ = Drag::None;
  Point pressed_{}, before_{};
  bool inside_ = false;
  Item followed_;
  Instant anchor_{};
};

/// A Hover as rich text for a tooltip: at most five lines.
QString tip_html(const Hover&);

}  // namespace trainyard
