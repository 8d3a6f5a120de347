// The ProjectPanel shows the project as a tree: its model, its cluster, its plans and the marks of
// the open one, the last runs on this machine, and the lessons; beneath it, the share of each kind
// of work in the step.
#pragma once

#include <QHash>
#include <QWidget>

#include <vector>

#include "app/desktop/controls/run_list.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"

class QLabel;
class QTreeWidget;
class QTreeWidgetItem;

namespace trainyard {

class ProjectPanel : public QWidget {
  Q_OBJECT

 public:
  ProjectPanel(Document&, Session&, RunList&, QWidget* parent = nullptr);

 Q_SIGNALS:
  /// Emitted on a double click or Enter.
  void run_chosen(qint64 id);
  void lesson_chosen(int number);
  void mark_chosen(const trainyard::ProjectMark&);

 private:
  enum class Kind { Plan, Run, Lesson, Mark };
  void refresh();
  void refresh_runs();
  void choose(QTreeWidgetItem*);
  QTreeWidgetItem* add(QTreeWidgetItem* parent, const QString& name, const QString& reading,
                       const QString& sign);
  void add_plans();
  void add_marks();
  void add_runs();
  void add_lessons();
  void refresh_categories();
  void remember_result();
  QTreeWidgetItem* group(const QString& name, bool open = true);

  Document& document_;
  Session& session_;
  RunList& runs_;
  std::vector<RunEntry> latest_;  // the runs shown
  QHash<QString, bool> open_;     // groups that the user opened or closed
  QTreeWidget* tree_;
  QList<QLabel*> shares_;
  // The reading of each plan, by its settings: the step when it was last simulated.
  QHash<QString, QString> readings_;
};

}  // namespace trainyard
