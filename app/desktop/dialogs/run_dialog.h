// What a run on this machine needs to know beside the plan: on how many virtual devices, for how
// long, on which data.
#pragma once

#include <QDialog>

#include "app/desktop/session/training_session.h"

class QCheckBox;
class QLineEdit;
class QSpinBox;

namespace trainyard {

class Field;

class RunDialog : public QDialog {
  Q_OBJECT

 public:
  /// plan: complete; it says how many devices it takes at least. The request's cluster is replaced
  /// where it is not of this machine.
  RunDialog(const Request&, const Scenario& complete, QWidget* parent = nullptr);
  /// Throws Error{InvalidInput} where the memory is no quantity.
  TrainingWish wish() const;

 private:
  Request request_;
  bool local_;  // the plan's own cluster is of this machine
  QSpinBox *devices_, *steps_;
  QLineEdit *memory_, *training_;
  Field *data_, *mode_;
  QCheckBox* evaluate_;
};

/// Devices that the plan runs on here: its own where they are few, else one replica of its model.
std::int64_t devices_here(const Scenario& complete);

}  // namespace trainyard
