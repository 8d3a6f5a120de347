// The project as a tree: its model, its cluster, its plans and the places marked in the open one,
// the runs that this machine trained last, and the lessons; and beneath it what each kind of work
// takes of the step.
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
  /// A double click or Enter on one of them.
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
  std::vector<RunEntry> latest_;  // of the runs
  QHash<QString, bool> open_;     // groups that somebody opened or closed
  QTreeWidget* tree_;
  QList<QLabel*> shares_;
  QHash<QString, QString> readings_;  // of each plan, by its settings: the step when it was last
                                      // simulated
};

}  // namespace trainyard
