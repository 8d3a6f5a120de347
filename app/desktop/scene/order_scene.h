// The order grid as a scene: a cell is dragged to another slot of its lane, or moved by keys.
#pragma once

#include "app/desktop/scene/view_scene.h"
#include "app/desktop/session/order_editor.h"
#include "visualizers/schedule/order_view.h"

namespace trainyard {

class OrderScene : public ViewScene {
 public:
  OrderScene(OrderEditor& editor, Session& session)
      : ViewScene(session, "order"), editor_(editor) {}

  const std::optional<Action>& selected() const { return chosen_; }
  void select(Item) override;

 protected:
  Drawing paint(Size, double scale) const override;
  bool take(const InputFrame&) override;
  Hover describe(Point) const override;
  QString words() const override;
  Qt::CursorShape shape(Point) const override;
  ViewState state(double scale) const override;

 private:
  const OrderCell* cell(const Action&) const;
  const OrderCell* cell_of(Item) const;
  const OrderCell* cell_beside(const OrderCell&, int cells) const;
  /// Where the dragged cell would stand if it were dropped there.
  std::optional<Slot> slot_at(const OrderCell& dragged, float x) const;
  bool key(int key, const InputFrame&);
  bool pan(const InputFrame&);

  OrderEditor& editor_;
  std::optional<Action> chosen_;
  bool dragging_ = false;
  Point pressed_{}, now_{};
};

}  // namespace trainyard
