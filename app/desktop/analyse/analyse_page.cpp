#include "app/desktop/analyse/analyse_page.h"

#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <list>
#include <string>
#include <vector>

#include "app/desktop/analyse/communication_page.h"
#include "app/desktop/analyse/energy_page.h"
#include "app/desktop/analyse/goodput_page.h"
#include "app/desktop/analyse/graph_page.h"
#include "app/desktop/analyse/mesh_page.h"
#include "app/desktop/analyse/numbers_page.h"
#include "app/desktop/analyse/order_page.h"
#include "app/desktop/analyse/run_page.h"
#include "app/desktop/controls/search_bar.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/planner/planner_page.h"
#include "app/desktop/planner/sweep_page.h"
#include "app/desktop/planner/tune_page.h"
#include "app/desktop/scene/analyse_scene.h"
#include "app/desktop/scene/utilisation_scene.h"
#include "app/desktop/scene/waves_scene.h"
#include "app/desktop/study/aggregation_page.h"
#include "app/desktop/study/network_page.h"
#include "app/desktop/study/placement_page.h"
#include "app/desktop/tables/view_table.h"

namespace trainyard {
namespace {

constexpr const char* kPagesOfSeveralResults[] = {
    "Schedules", "Run", "Numbers", "Network", "Jobs", "Plans", "Sweep", "Tune", "Placement"};

}  // namespace

std::span<const char* const> analyse_tabs() {
  static const std::list<std::string> names = [] {
    std::list<std::string> all;
    for (const View& view : views())
      if (!view.tab.empty()) all.emplace_back(view.tab);
    for (const char* title : kPagesOfSeveralResults) all.emplace_back(title);
    for (std::string& name : all) name = q(name).toLower().toStdString();
    return all;
  }();
  static const std::vector<const char*> pointers = [] {
    std::vector<const char*> all;
    for (const std::string& name : names) all.push_back(name.c_str());
    return all;
  }();
  return pointers;
}

AnalysePage::AnalysePage(Document& document, Session& session, TrainingSession& training,
                         QWidget* parent)
    : TabPage("Views", parent),
      document_(document),
      session_(session),
      exploration_(document, session),
      search_(new SearchBar(exploration_)),
      rows_(new ViewTable),
      schedules_(new SchedulesPage(document, session)),
      run_(new RunPage(document, training)),
      numbers_(new NumbersPage(training)),
      network_(new NetworkPage(document)),
      planner_(new PlannerPage(document)),
      sweep_(new SweepPage(document, planner_->space())),
      tune_(new TunePage(document)),
      placement_(new PlacementPage(document)),
      aggregation_(new AggregationPage(document)) {
  for (const View& view : views())
    if (!view.tab.empty()) add(q(view.tab), page_of(view));
  Page* const several[] = {schedules_, run_,   numbers_, network_,  aggregation_,
                           planner_,   sweep_, tune_,    placement_};
  for (std::size_t i = 0; i < std::size(several); ++i) add(kPagesOfSeveralResults[i], several[i]);
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(pages());
  splitter->addWidget(rows_);
  splitter->setChildrenCollapsible(false);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  rows_->hide();
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->addWidget(search_);
  column->addWidget(splitter, 1);
  connect(this, &Page::turned, this, &AnalysePage::refresh_rows);
  connect(&session_, &Session::experiment_changed, this, &AnalysePage::refresh_rows);
  connect(&session_, &Session::range_changed, this, &AnalysePage::refresh_rows);
  connect(&schedules_->comparison(), &Comparison::changed, this, &AnalysePage::refresh_rows);
  connect(&sweep_->sweeping(), &Sweeping::changed, this, &AnalysePage::refresh_rows);
  connect(&network_->measurement(), &BackgroundMeasurement::changed, this,
          &AnalysePage::refresh_rows);
  connect(&aggregation_->measurement(), &BackgroundMeasurement::changed, this,
          &AnalysePage::refresh_rows);
  connect(&placement_->measurement(), &BackgroundMeasurement::changed, this,
          &AnalysePage::refresh_rows);
  connect(&training, &TrainingSession::finished, this, &AnalysePage::refresh_rows);
  connect(&tune_->tuning(), &TuningSession::changed, this, &AnalysePage::refresh_rows);
  connect(&session_, &Session::selection_changed, this, [this] {
    if (rows_->isVisible() && tab() == "timeline") rows_->choose(session_.state().selected);
  });
  connect(rows_, &ViewTable::closed, this, [this] { show_rows(false); });
  connect(rows_, &ViewTable::chosen, this, [this](Item item) { current_page()->choose_row(item); });
  connect(search_, &SearchBar::closed, this, [this] { current()->setFocus(); });
}

// A view is a page by itself; those here have gestures or controls of their own.
ViewPage* AnalysePage::page_of(const View& view) {
  if (view.name == "analyse")
    return new ViewPage(session_, "Timeline and memory",
                        std::make_unique<AnalyseScene>(session_, exploration_));
  if (view.name == "order") return order_ = new OrderPage(document_, session_);
  if (view.name == "waves")
    return new ViewPage(session_, "Memory by wave",
                        std::make_unique<WavesScene>(document_, session_, exploration_));
  if (view.name == "communication") return new CommunicationPage(session_);
  if (view.name == "utilisation")
    return new ViewPage(session_, q(view.title), std::make_unique<UtilisationScene>(session_));
  if (view.name == "mesh") return new MeshPage(session_);
  if (view.name == "graph") return new GraphPage(session_);
  if (view.name == "energy") return new EnergyPage(session_);
  if (view.name == "goodput") return new GoodputPage(session_);
  return new ViewPage(session_, q(view.title), std::make_unique<ViewScene>(session_, view.name));
}

void AnalysePage::show_rows(bool shown) {
  rows_->setVisible(shown);
  refresh_rows();
  (shown ? static_cast<QWidget*>(rows_) : current())->setFocus();
  Q_EMIT rows_shown(shown);
}

// Rows are made only where somebody reads them.
void AnalysePage::refresh_rows() {
  if (!rows_->isHidden()) rows_->show_table(table().value_or(DataTable{}));
}

}  // namespace trainyard
