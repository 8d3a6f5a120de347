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
  /// Shows what rules say of the last run on this machine, beside what they say of the plan's
  /// timeline.
  void set_run_rules(std::vector<FiredRule>);

 Q_SIGNALS:
  void apply(const QString& assignments);
  /// The user asked for a tensor's lifetimes, or for where a rule fired, which the timeline shows.
  void place_shown();
  /// The user asked for the run in which a rule fired.
  void run_shown();

 private:
  void refresh_statistics();
  void show_statistics(const TimelineModel&, const TimeRange&, const std::vector<NameStatistics>&,
                       bool exact);
  void refresh_problems();
  void refresh_alive();
  void refresh_readings();
  Session& session_;
  Exploration& exploration_;
  std::vector<FiredRule> run_rules_;
  NameTables names_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QTreeWidget *statistics_, *problems_, *alive_, *waves_, *path_;
};

}  // namespace trainyard
