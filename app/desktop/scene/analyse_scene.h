// The picture of the Analyse perspective: timeline above memory waves on one time axis, and what
// the mouse and the keys do to them.
#pragma once

#include "app/desktop/scene/view_scene.h"
#include "app/desktop/session/exploration.h"
#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

class AnalyseScene : public ViewScene {
 public:
  AnalyseScene(Session& session, Exploration& exploration)
      : ViewScene(session, "analyse"), exploration_(exploration) {}

  Drawing draw(Size, double scale) override;
  void select(Item item) override { session_.select(item); }

 protected:
  bool take(const InputFrame&) override;
  QString words() const override;
  QString keys() const override { return "Click: pin   B: next bubble   C: critical path"; }
  Qt::CursorShape shape(Point) const override;
  /// The session's own selection is this view's.
  ViewState state(double scale) const override;

 private:
  enum class Drag { None, Range, Window, Pan };
  void press(const InputFrame&);
  void drag(const InputFrame&);
  void release(const InputFrame&);
  void wheel(const InputFrame&);
  void key(int key, const InputFrame&);
  void click(Point);
  void fit_selection();
  void fit_span(Item);
  void follow_pointer(const InputFrame&);
  void follow_selection();
  void walk(int columns, int rows);
  Instant snapped(Point, bool free) const;
  Rect timeline_area() const;
  Rect memory_area() const;
  Viewport shown() const;
  Item item_at(Point) const;

  Exploration& exploration_;
  Drag drag_ = Drag::None;
  Point pressed_{}, before_{};
  bool inside_ = false;
  Item followed_;
  Instant anchor_{};
};

}  // namespace trainyard
