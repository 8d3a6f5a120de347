// A RunDialog asks for what a run on this machine needs besides the plan: the number of virtual
// devices, the number of steps and the data.
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
  /// The complete plan gives the least number of devices. The request's cluster is replaced if it
  /// is not of this machine.
  /// training: settings of training to begin with, as they are typed.
  RunDialog(const Request&, const Scenario& complete, QWidget* parent = nullptr,
            const QString& training = {});
  /// Throws Error{InvalidInput} if the memory is not a valid quantity.
  TrainingWish wish() const;

 private:
  Request request_;
  bool local_;  // whether the plan's own cluster is of this machine
  QSpinBox *devices_, *steps_;
  QLineEdit *memory_, *training_, *start_;
  Field *data_, *mode_, *rules_;
  QCheckBox* evaluate_;
};

}  // namespace trainyard
