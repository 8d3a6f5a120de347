// The project as a tree: its model, its cluster and its plans; and beneath it what each kind of
// work takes of the step.
#pragma once

#include <QHash>
#include <QWidget>

#include "app/desktop/document.h"
#include "app/desktop/session.h"

class QLabel;
class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard {

class ProjectPanel : public QWidget {
  Q_OBJECT

 public:
  ProjectPanel(Document&, Session&, QWidget* parent = nullptr);

 private:
  void refresh();
  void refresh_categories();
  void remember_result();
  QTreeWidgetItem* group(const QString& name);

  Document& document_;
  Session& session_;
  QTreeWidget* tree_;
  QList<QLabel*> shares_;
  QHash<QString, QString> readings_;  // of each plan, by its settings: the step when it was last
                                      // simulated
};

}  // namespace trainyard
