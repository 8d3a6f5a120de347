// One of views() as a scene: it draws, tells what is under the pointer, and keeps what was clicked
// as selected.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/session.h"

namespace trainyard {

class ViewScene : public Scene {
 public:
  /// name: of views().
  ViewScene(Session& session, std::string_view name) : session_(session), view_(view(name)) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  void select(Item item) { selected_ = item; }

 private:
  Session& session_;
  const View& view_;
  Drawing last_{Size{}};
  Item selected_{};
};

}  // namespace trainyard
