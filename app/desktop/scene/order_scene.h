// The order grid as a scene: a cell is dragged to another slot of its lane, or moved by keys.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/order_editor.h"
#include "visualizers/schedule/order_view.h"

namespace trainyard {

class OrderScene : public Scene {
 public:
  OrderScene(OrderEditor& editor, Session& session) : editor_(editor), session_(session) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  Qt::CursorShape cursor(Point) override;
  const std::optional<Action>& selected() const { return selected_; }

 private:
  const OrderCell* cell(const Action&) const;
  const OrderCell* cell_at(Point) const;
  const OrderCell* cell_beside(const OrderCell&, int cells) const;
  ViewState state() const;
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  /// Where the dragged cell would stand if it were dropped there.
  std::optional<Slot> slot_at(const OrderCell& dragged, float x) const;
  bool key(int key, const InputFrame&);

  OrderEditor& editor_;
  Session& session_;
  Drawing last_{Size{}};
  double scale_ = 1;
  std::optional<Action> selected_;
  bool dragging_ = false;
  Point pressed_{}, now_{};
};

}  // namespace trainyard
