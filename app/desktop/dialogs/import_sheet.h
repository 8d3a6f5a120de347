// What became of a model's file: fields, parameters, what was assumed and what is not known.
// Continue keeps the model, Cancel takes it back; nothing waits for the answer.
#pragma once

#include <QDialog>

#include "core/io/models/load_model.h"

namespace trainyard {

class ImportSheet : public QDialog {
  Q_OBJECT

 public:
  ImportSheet(const ImportedModel&, const QString& file, QWidget* parent);
  /// All that the sheet says, as one text.
  QString text() const { return text_; }

 private:
  QString text_;
};

}  // namespace trainyard
