// The curve of how many jobs pay to be trained together, as a scene. It has no gestures.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/tuning_session.h"

namespace trainyard {

class GainsScene : public Scene {
 public:
  /// The tuning must outlive it.
  explicit GainsScene(const TuningSession& tuning) : tuning_(tuning) {}

  Drawing draw(Size, double scale) override;
  QString description() const override;

 private:
  const TuningSession& tuning_;
};

}  // namespace trainyard
