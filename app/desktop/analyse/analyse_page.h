// The centre of the Analyse perspective: every view of the result that has a tab, then the pages
// that show more than one result. Under them lie the rows behind the picture, if they are asked
// for.
#pragma once

#include <optional>
#include <span>

#include "app/desktop/analyse/schedules_page.h"
#include "app/desktop/controls/tab_page.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/exploration.h"
#include "app/desktop/session/session.h"
#include "app/desktop/session/training_session.h"
#include "visualizers/view.h"

namespace trainyard {

class AggregationPage;
class NetworkPage;
class NumbersPage;
class OrderPage;
class PlacementPage;
class PlannerPage;
class RunPage;
class SearchBar;
class SweepPage;
class TunePage;
class ViewPage;
class ViewTable;

/// The tabs by their names in lower case, as --tab takes them.
std::span<const char* const> analyse_tabs();

class AnalysePage : public TabPage {
  Q_OBJECT

 public:
  AnalysePage(Document&, Session&, TrainingSession&, QWidget* parent = nullptr);
  /// Shows or hides the rows under the picture.
  void show_rows(bool);
  ViewTable& rows() const { return *rows_; }
  OrderPage& order() const { return *order_; }
  AggregationPage& aggregation() const { return *aggregation_; }
  NetworkPage& network() const { return *network_; }
  PlacementPage& placement() const { return *placement_; }
  PlannerPage& planner() const { return *planner_; }
  SweepPage& sweep() const { return *sweep_; }
  TunePage& tune() const { return *tune_; }
  Exploration& exploration() { return exploration_; }
  SearchBar& search_bar() const { return *search_; }
  SchedulesPage& schedules() const { return *schedules_; }
  RunPage& run() const { return *run_; }

 Q_SIGNALS:
  void rows_shown(bool);

 private:
  ViewPage* page_of(const View&);
  void refresh_rows();
  Document& document_;
  Session& session_;
  Exploration exploration_;
  SearchBar* search_;
  ViewTable* rows_;
  OrderPage* order_ = nullptr;
  SchedulesPage* schedules_;
  RunPage* run_;
  NumbersPage* numbers_;
  NetworkPage* network_;
  PlannerPage* planner_;
  SweepPage* sweep_;
  TunePage* tune_;
  PlacementPage* placement_;
  AggregationPage* aggregation_;
};

}  // namespace trainyard
