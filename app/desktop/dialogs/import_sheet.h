// An ImportSheet reports how a model file was read: fields, parameters, assumptions and unknown
// entries. Continue keeps the model, Cancel reverts it; nothing waits for the answer.
#pragma once

#include <QDialog>

#include "core/io/models/load_model.h"

namespace trainyard {

class ImportSheet : public QDialog {
  Q_OBJECT

 public:
  ImportSheet(const ImportedModel&, const QString& file, QWidget* parent);
  /// The whole content of the sheet as one text.
  QString text() const { return text_; }

 private:
  QString text_;
};

}  // namespace trainyard
