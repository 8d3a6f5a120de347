// A RunDialog asks for what a run on this machine needs besides the plan: the number of virtual
// devices, the number of steps and the data; and whether it is repeated, and what then is drawn
// anew.
#pragma once

#include <QDialog>

#include <vector>

#include "app/desktop/session/training_session.h"

class QCheckBox;
class QLineEdit;
class QPushButton;
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
  QWidget* make_sources();
  std::vector<RandomSource> varied() const;
  void refresh_sources();

  Request request_;
  Scenario scenario_;
  bool local_;  // whether the plan's own cluster is of this machine
  QSpinBox *devices_, *steps_, *numbers_, *repeats_;
  QLineEdit *memory_, *training_, *start_;
  Field *data_, *mode_, *rules_;
  QCheckBox* evaluate_;
  std::vector<QCheckBox*> sources_;  // by RandomSource
  QWidget* varied_;                  // shows them
  QPushButton* train_ = nullptr;
};

}  // namespace trainyard
