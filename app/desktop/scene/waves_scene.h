// The waves view as a scene: the handle under the offset curve is dragged, or moved by arrow keys,
// and the plan follows.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/exploration.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {

class WavesScene : public Scene {
 public:
  WavesScene(Document& document, Session& session, Exploration& exploration)
      : document_(document), session_(session), exploration_(exploration) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  Qt::CursorShape cursor(Point) override;

 private:
  const WavesModel* model() const;
  WavesLayout layout() const;
  ViewState state() const;
  /// The plan has waves on one device, so that their offset is its own to choose.
  bool movable() const;
  bool on_slider(Point) const;
  void move_to(double share);
  void step(double by);

  void click(Point);
  /// The cursor under the pointer and the range that is dragged, where the plot is of time.
  bool read_time(const InputFrame&);

  Document& document_;
  Session& session_;
  Exploration& exploration_;
  Drawing last_{Size{}};
  double scale_ = 1;
  bool dragging_ = false;
  bool ranging_ = false;
  Point before_{}, pressed_{};
  std::optional<double> wanted_;  // until an experiment has it
};

}  // namespace trainyard
