// How busy the devices are over the part of the run that the timeline shows: the part, the cursor
// and the selection are those of the timeline.
#pragma once

#include "app/desktop/scene/view_scene.h"
#include "visualizers/utilisation/utilisation_view.h"

namespace trainyard {

class UtilisationScene : public ViewScene {
 public:
  explicit UtilisationScene(Session& session) : ViewScene(session, "utilisation") {}

  void select(Item item) override { session_.select(item); }

 protected:
  bool take(const InputFrame&) override;
  QString words() const override;
  ViewState state(double scale) const override;

 private:
  UtilisationLayout layout() const;
};

}  // namespace trainyard
