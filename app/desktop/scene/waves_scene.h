// The waves view as a scene: the handle under the offset curve is dragged, or moved by arrow keys,
// and the plan follows.
#pragma once

#include "app/desktop/scene/view_scene.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/exploration.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {

class WavesScene : public ViewScene {
 public:
  WavesScene(Document& document, Session& session, Exploration& exploration)
      : ViewScene(session, "waves"), document_(document), exploration_(exploration) {}

  void select(Item item) override { session_.select(item); }

 protected:
  bool take(const InputFrame&) override;
  Hover describe(Point) const override;
  QString words() const override;
  QString keys() const override { return "Click: what is alive here   P: next peak"; }
  Qt::CursorShape shape(Point) const override;
  ViewState state(double scale) const override;

 private:
  /// Null if the program holds nothing.
  const WavesModel* model() const;
  WavesLayout layout() const;
  /// The plan has waves on one device, so that their offset is its own to choose.
  bool movable() const;
  bool on_slider(Point) const;
  void move_to(double share);
  void step(double by);

  void click(Point);
  /// The cursor under the pointer and the range that is dragged, where the plot is of time.
  bool read_time(const InputFrame&);

  Document& document_;
  Exploration& exploration_;
  bool dragging_ = false;
  bool ranging_ = false;
  Point before_{}, pressed_{};
  std::optional<double> wanted_;  // until an experiment has it
};

}  // namespace trainyard
