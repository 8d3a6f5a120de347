// An Outline shows the model as a table: stages, layers and ops, each with its parameters, kept
// bytes and time, as numbers and as bars.
#pragma once

#include <QTreeWidget>

#include "app/desktop/session/session.h"

namespace trainyard {

class Outline : public QTreeWidget {
  Q_OBJECT

 public:
  explicit Outline(Session&, QWidget* parent = nullptr);

 private:
  void refresh();
  Session& session_;
  ExperimentPtr shown_;
};

}  // namespace trainyard
