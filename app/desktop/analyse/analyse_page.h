// The centre of the Analyse perspective: the timeline with memory, and the other views, as tabs.
#pragma once

#include <array>
#include <optional>

#include "app/desktop/analyse/schedules_page.h"
#include "app/desktop/controls/page.h"
#include "app/desktop/controls/tab_page.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/exploration.h"
#include "app/desktop/session/session.h"
#include "app/desktop/session/training_session.h"

class QSplitter;
class QStackedWidget;
class QTabBar;

namespace trainyard {

class CanvasWidget;
class OrderPage;
class PlannerPage;
class RunPage;
class SearchBar;
class ViewPage;
class ViewTable;

/// The tabs by their names in lower case, as --tab takes them.
inline constexpr std::array<const char*, 14> kAnalyseTabs = {
    "timeline",    "roofline", "order", "lanes",  "waves",     "staleness", "communication",
    "utilisation", "mesh",     "graph", "energy", "schedules", "run",       "plans"};

class AnalysePage : public Page {
  Q_OBJECT

 public:
  AnalysePage(Document&, Session&, TrainingSession&, QWidget* parent = nullptr);
  QList<CanvasWidget*> canvases() const override;
  bool settled() const override;
  QStringList tabs() const override;
  QString tab() const override;
  bool whole() const override;
  std::optional<Drawing> picture() const override;
  CanvasWidget* current() const;
  void show_tab(const QString&) override;
  bool close_tab() override { return closed_.close(*tabs_); }
  bool reopen_tab() override { return closed_.reopen(*tabs_); }
  /// The drawing that the shown tab has at a size, as for a file.
  Drawing picture(Size) const;
  /// A size that suits it in a file.
  Size picture_size() const;
  /// The rows behind the shown tab; nothing before there are any.
  std::optional<DataTable> table() const override;
  /// Shows or hides them under the picture.
  void show_rows(bool);
  ViewTable& rows() const { return *rows_; }
  OrderPage& order() const { return *order_; }
  PlannerPage& planner() const { return *planner_; }
  Exploration& exploration() { return exploration_; }
  SearchBar& search_bar() const { return *search_; }
  SchedulesPage& schedules() const { return *schedules_; }
  RunPage& run() const { return *run_; }

 Q_SIGNALS:
  void rows_shown(bool);

 private:
  /// page: what the tab shows; null: the canvas alone.
  void add(const QString& tab, CanvasWidget*, QWidget* page = nullptr);
  /// A view with controls of its own.
  void add(const QString& tab, ViewPage*);
  /// The shown tab's, where it is one of those; else null.
  ViewPage* view_page() const;
  void refresh_rows();
  void choose(Item);
  Session& session_;
  Exploration exploration_;
  SearchBar* search_;
  const TrainingSession& training_;
  QTabBar* tabs_;
  ClosedTabs closed_;
  QStackedWidget* pages_;
  QSplitter* splitter_;
  ViewTable* rows_;
  OrderPage* order_;
  SchedulesPage* schedules_;
  RunPage* run_;
  PlannerPage* planner_;
  QList<CanvasWidget*> canvases_;  // of each tab the one that speaks for it
};

}  // namespace trainyard
