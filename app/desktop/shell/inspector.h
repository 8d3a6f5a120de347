// The Inspector describes the selection, in words and as a table that assistive tools can read.
#pragma once

#include <QWidget>

#include "app/desktop/session/session.h"
#include "visualizers/timeline/timeline_view.h"

class QLabel;
class QTableWidget;

namespace trainyard {

class Inspector : public QWidget {
  Q_OBJECT

 public:
  Inspector(Session&, QWidget* parent = nullptr);

 private:
  void refresh();
  void show_facts(const QList<std::pair<QString, QString>>&);
  Session& session_;
  QLabel *title_, *where_;
  QTableWidget* facts_;
};

/// Name and value of each fact about an instruction, in the order shown.
QList<std::pair<QString, QString>> facts_of(const TimelineModel&, InstructionId);

}  // namespace trainyard
