// The Energy tab: joules by what devices do, and what a step and a training cost. A sheet lists the
// efficiency of all devices.
#pragma once

#include "app/desktop/analyse/view_page.h"
#include "visualizers/energy/energy_view.h"

class QLineEdit;

namespace trainyard {

class Field;

class EnergyPage : public ViewPage {
  Q_OBJECT

 public:
  explicit EnergyPage(Session&, QWidget* parent = nullptr);
  const EnergyState& state() const { return state_; }

 private:
  QLineEdit* field(const QString& name, const QString& hint, int width);
  void take();
  EnergyState state_;
  QLineEdit *budget_, *price_, *overhead_;
  Field* region_;
};

}  // namespace trainyard
