// The BottomPanel lies beneath the picture: it shows what happened in the range by name, problems
// of the plan, and what is in memory at the cursor.
#pragma once

#include <QWidget>

#include "app/desktop/session/exploration.h"
#include "app/desktop/session/session.h"
#include "app/desktop/tables/name_tables.h"

class QLabel;
class QStackedWidget;
class QTabBar;
class QTreeWidget;

namespace trainyard {

class BottomPanel : public QWidget {
  Q_OBJECT

 public:
  BottomPanel(Session&, Exploration&, QWidget* parent = nullptr);
  void show_problems();

 Q_SIGNALS:
  void apply(const QString& assignments);
  /// The user asked for a tensor's lifetimes, which the timeline shows.
  void lives_shown();

 private:
  void refresh_statistics();
  void show_statistics(const TimelineModel&, const TimeRange&, const std::vector<NameStatistics>&,
                       bool exact);
  void refresh_problems();
  void refresh_alive();
  void refresh_readings();
  Session& session_;
  Exploration& exploration_;
  NameTables names_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QTreeWidget *statistics_, *problems_, *alive_, *waves_, *path_;
};

}  // namespace trainyard
