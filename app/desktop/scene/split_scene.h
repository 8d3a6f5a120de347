// The split of layers over stages as a scene: handles between stages are dragged, or chosen and
// moved by keys, and the plan follows.
#pragma once

#include "app/desktop/scene/experiment_scene.h"
#include "app/desktop/session/document.h"
#include "visualizers/schedule/split_view.h"

namespace trainyard {

class SplitScene : public ExperimentScene {
 public:
  SplitScene(Document& document, Session& session)
      : ExperimentScene(session, "Layers of each stage"), document_(document) {}

 protected:
  Drawing paint(Size, double scale) const override;
  bool take(const InputFrame&) override;
  Hover describe(Point) const override;
  QString words() const override;
  Qt::CursorShape shape(Point) const override;

 private:
  /// The newest split: a change is seen here before it has been simulated.
  SplitModel model() const;
  void move(std::size_t boundary, int layers);

  Document& document_;
  std::optional<std::size_t> chosen_;
  bool dragging_ = false;
};

}  // namespace trainyard
