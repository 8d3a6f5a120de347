// The Utilisation tab: how busy the devices are over the part of the run that the timeline shows.
#pragma once

#include "app/desktop/analyse/view_page.h"

namespace trainyard {

class UtilisationPage : public ViewPage {
  Q_OBJECT

 public:
  explicit UtilisationPage(Session&, QWidget* parent = nullptr);
  std::optional<DataTable> table() const override;
  void choose(Item) override;

 protected:
  Drawing draw(Size, double scale) const override;

 private:
  class BusyScene;
};

}  // namespace trainyard
