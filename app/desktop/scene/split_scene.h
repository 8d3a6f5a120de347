// The split of layers over stages as a scene: handles between stages are dragged, or chosen and
// moved by keys, and the plan follows.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"
#include "visualizers/schedule/split_view.h"

namespace trainyard {

class SplitScene : public Scene {
 public:
  SplitScene(Document& document, Session& session) : document_(document), session_(session) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  Qt::CursorShape cursor(Point) override;

 private:
  /// The newest split: a change is seen here before it has been simulated.
  SplitModel model() const;
  void move(std::size_t boundary, int layers);

  Document& document_;
  Session& session_;
  Drawing last_{Size{}};
  std::optional<std::size_t> chosen_;
  bool dragging_ = false;
};

}  // namespace trainyard
