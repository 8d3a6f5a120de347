#include "app/desktop/analyse/analyse_page.h"

#include <QHBoxLayout>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include "app/desktop/analyse/communication_page.h"
#include "app/desktop/analyse/energy_page.h"
#include "app/desktop/analyse/graph_page.h"
#include "app/desktop/analyse/mesh_page.h"
#include "app/desktop/analyse/order_page.h"
#include "app/desktop/analyse/run_page.h"
#include "app/desktop/analyse/utilisation_page.h"
#include "app/desktop/controls/search_bar.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/planner/planner_page.h"
#include "app/desktop/scene/analyse_scene.h"
#include "app/desktop/scene/view_scene.h"
#include "app/desktop/scene/waves_scene.h"
#include "app/desktop/tables/view_table.h"
#include "visualizers/plans/pareto_view.h"
#include "visualizers/run/run_view.h"
#include "visualizers/tables.h"

namespace trainyard {
namespace {

// Of views(), by tab; the last tabs are no views of one experiment.
constexpr std::string_view kViews[] = {"analyse", "roofline",  "order",         "lanes",
                                       "waves",   "staleness", "communication", "utilisation",
                                       "mesh",    "graph",     "energy"};
constexpr int kWaves = 4, kSchedules = 11, kRun = 12, kPlans = 13;

}  // namespace

AnalysePage::AnalysePage(Document& document, Session& session, TrainingSession& training,
                         QWidget* parent)
    : Page(parent),
      session_(session),
      exploration_(document, session),
      search_(new SearchBar(exploration_)),
      training_(training),
      tabs_(new QTabBar),
      pages_(new QStackedWidget),
      splitter_(new QSplitter(Qt::Vertical)),
      rows_(new ViewTable) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new QWidget;
  bar->setObjectName("header");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(kTitleHeight);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setAccessibleName("Views");
  row->addWidget(tabs_);
  row->addStretch(1);
  column->addWidget(bar);
  column->addWidget(search_);
  splitter_->addWidget(pages_);
  splitter_->addWidget(rows_);
  splitter_->setChildrenCollapsible(false);
  splitter_->setStretchFactor(0, 3);
  splitter_->setStretchFactor(1, 2);
  rows_->hide();
  column->addWidget(splitter_, 1);
  add("Timeline", new CanvasWidget("Timeline and memory",
                                   std::make_unique<AnalyseScene>(session_, exploration_)));
  add("Roofline", new CanvasWidget("Roofline", std::make_unique<ViewScene>(session_, kViews[1])));
  order_ = new OrderPage(document, session_);
  add("Order", order_->canvas(), order_);
  add("Lanes",
      new CanvasWidget("Lanes and memory", std::make_unique<ViewScene>(session_, kViews[3])));
  add("Waves", new CanvasWidget("Memory by wave",
                                std::make_unique<WavesScene>(document, session_, exploration_)));
  add("Staleness", new CanvasWidget("Staleness", std::make_unique<ViewScene>(session_, kViews[5])));
  add("Communication", new CommunicationPage(session_));
  add("Utilisation", new UtilisationPage(session_));
  add("Mesh", new MeshPage(session_));
  add("Graph", new GraphPage(session_));
  add("Energy", new EnergyPage(session_));
  schedules_ = new SchedulesPage(document, session_);
  add("Schedules", schedules_->canvas(), schedules_);
  run_ = new RunPage(document, training);
  add("Run", run_->canvas(), run_);
  planner_ = new PlannerPage(document);
  add("Plans", planner_->canvases().front(), planner_);
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(tabs_, &QTabBar::currentChanged, this, &Page::turned);
  connect(tabs_, &QTabBar::currentChanged, this, &AnalysePage::refresh_rows);
  connect(&session_, &Session::range_changed, this, &AnalysePage::refresh_rows);
  connect(&schedules_->comparison(), &Comparison::changed, this, &AnalysePage::refresh_rows);
  connect(&session_, &Session::selection_changed, this, [this] {
    if (rows_->isVisible() && tabs_->currentIndex() == 0) rows_->choose(session_.state().selected);
  });
  connect(rows_, &ViewTable::closed, this, [this] { show_rows(false); });
  connect(rows_, &ViewTable::chosen, this, &AnalysePage::choose);
  const auto refresh = [this] {
    for (CanvasWidget* canvas : canvases_) canvas->refresh();
  };
  connect(&session_, &Session::experiment_changed, this, refresh);
  connect(&session_, &Session::experiment_changed, this, &AnalysePage::refresh_rows);
  for (const auto signal :
       {&Session::view_changed, &Session::range_changed, &Session::selection_changed})
    for (const int canvas : {0, kWaves})
      connect(&session_, signal, canvases_[canvas], &CanvasWidget::refresh);
  connect(search_, &SearchBar::closed, this, [this] { current()->setFocus(); });
}

void AnalysePage::add(const QString& tab, CanvasWidget* canvas, QWidget* page) {
  tabs_->addTab(tab);
  pages_->addWidget(page == nullptr ? canvas : page);
  canvases_ << canvas;
}

void AnalysePage::add(const QString& tab, ViewPage* page) { add(tab, page->canvas(), page); }

ViewPage* AnalysePage::view_page() const {
  return qobject_cast<ViewPage*>(pages_->currentWidget());
}

void AnalysePage::show_tab(const QString& name) {
  for (int i = 0; i < tabs_->count(); ++i)
    if (tabs_->tabText(i).toLower() == name) {
      tabs_->setTabVisible(i, true);
      tabs_->setCurrentIndex(i);
    }
}

QList<CanvasWidget*> AnalysePage::canvases() const {
  return canvases_.mid(0, kPlans) + planner_->canvases();
}

bool AnalysePage::settled() const {
  return schedules_->settled() && planner_->settled() && run_->settled();
}

QStringList AnalysePage::tabs() const {
  QStringList names;
  for (const char* name : kAnalyseTabs) names << name;
  return names;
}

QString AnalysePage::tab() const { return tabs_->tabText(tabs_->currentIndex()).toLower(); }

bool AnalysePage::whole() const { return tabs_->currentIndex() == kPlans; }

CanvasWidget* AnalysePage::current() const { return canvases_[tabs_->currentIndex()]; }

std::optional<DataTable> AnalysePage::table() const {
  const int tab = tabs_->currentIndex();
  if (tab == kPlans) return planner_->table();
  if (tab == kRun) return run_table(training_.model());
  if (session_.data() == nullptr) return {};
  if (const ViewPage* page = view_page()) return page->table();
  if (tab == kSchedules) return schedules_->table();
  return view(kViews[tab]).table(*session_.data(), session_.state());
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

void AnalysePage::choose(Item item) {
  if (tabs_->currentIndex() == 0) {
    session_.select(item);
    return;
  }
  if (ViewPage* page = view_page()) return page->choose(item);
  if (auto* scene = dynamic_cast<ViewScene*>(&current()->scene())) {
    scene->select(item);
    current()->refresh();
  }
}

Size AnalysePage::picture_size() const {
  if (tabs_->currentIndex() == kPlans) return kParetoSize;
  if (tabs_->currentIndex() == kRun) return {1400, 900};
  if (tabs_->currentIndex() == kSchedules) return schedules_->picture_size();
  return view(kViews[tabs_->currentIndex()]).size;
}

std::optional<Drawing> AnalysePage::picture() const {
  if (tabs_->currentIndex() == kPlans) return planner_->picture();
  if (session_.data() == nullptr) return std::nullopt;
  if (const ViewPage* page = view_page()) return page->picture();
  return picture(picture_size());
}

Drawing AnalysePage::picture(Size size) const {
  if (tabs_->currentIndex() == kPlans) return planner_->picture().value_or(Drawing(size));
  if (tabs_->currentIndex() == kRun) {
    Drawing run(size);
    draw_run(run, {0, 0, size.width, size.height}, training_.model(), {});
    return run;
  }
  if (tabs_->currentIndex() == kSchedules) return schedules_->picture().value_or(Drawing(size));
  return view(kViews[tabs_->currentIndex()]).draw(*session_.data(), size, session_.state());
}

}  // namespace trainyard
