// One of views() as a scene: it draws, tells what is under the pointer, and keeps what was clicked
// as selected. A view with gestures or controls of its own overrides what it does differently.
#pragma once

#include "app/desktop/scene/experiment_scene.h"
#include "visualizers/view.h"

namespace trainyard {

class ViewScene : public ExperimentScene {
 public:
  /// view: the name of one of views().
  ViewScene(Session&, std::string_view view);

  /// The picture for a file, at the size that suits the view, and the rows behind it. There must
  /// be an experiment.
  Drawing picture() const { return paint(view_.size, 1); }
  virtual DataTable rows() const;
  /// What was chosen among those rows.
  virtual void select(Item item) { selected_ = item; }

 protected:
  Drawing paint(Size, double scale) const override;
  bool take(const InputFrame&) override;
  Hover describe(Point) const override;
  QString words() const override;
  /// The session's, with this view's own selection.
  virtual ViewState state(double scale) const;

  const View& view_;
  Item selected_;
};

}  // namespace trainyard
