#include "app/desktop/shell/window.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QStackedWidget>
#include <QToolBar>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/analyse/run_page.h"
#include "app/desktop/calibrate/calibrate_page.h"
#include "app/desktop/calibrate/kernels_page.h"
#include "app/desktop/calibrate/machine_page.h"
#include "app/desktop/calibrate/profile_page.h"
#include "app/desktop/calibrate/synchrony_page.h"
#include "app/desktop/compare/gallery_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/readings.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/design_page.h"
#include "app/desktop/design/strategy_panel.h"
#include "app/desktop/design/verdict_bar.h"
#include "app/desktop/learn/learn_page.h"
#include "app/desktop/planner/planner_page.h"
#include "app/desktop/planner/sweep_page.h"
#include "app/desktop/planner/tune_page.h"
#include "app/desktop/shell/bottom_panel.h"
#include "app/desktop/shell/compare_perspective.h"
#include "app/desktop/shell/inspector.h"
#include "app/desktop/shell/perspective.h"
#include "app/desktop/shell/project_panel.h"
#include "app/desktop/shell/tool_bar.h"
#include "app/desktop/shell/welcome_page.h"
#include "app/desktop/study/aggregation_page.h"
#include "app/desktop/study/branches_page.h"
#include "app/desktop/study/descent_page.h"
#include "app/desktop/study/gate_page.h"
#include "app/desktop/study/network_page.h"
#include "app/desktop/study/placement_page.h"
#include "app/desktop/study/sharpness_page.h"
#include "app/workspace/scenario/published.h"

namespace trainyard {
namespace {

// What a window may fill of its screen: the rest is for its frame.
QSize screen_room() {
  const QSize frame(8, 40);
  return QGuiApplication::primaryScreen()->availableSize() - frame;
}

QToolBar* bar_of(QWidget* content, const QString& name, int height) {
  auto* bar = new QToolBar(name);
  bar->setObjectName(name);
  bar->setMovable(false);
  bar->setFloatable(false);
  bar->setFixedHeight(height);
  bar->toggleViewAction()->setVisible(false);
  bar->setContextMenuPolicy(Qt::PreventContextMenu);
  bar->addWidget(content);
  return bar;
}

// The plan chosen from a search.
std::optional<Scenario> found_plan(PlannerPage& planner) {
  const auto findings = planner.planning().findings();
  if (findings == nullptr || !planner.chosen()) return std::nullopt;
  return findings->space->scenario(*planner.chosen());
}

}  // namespace

Window::Window(Published::Rows rows) : published_(std::move(rows)), actions_(this, commands()) {
  const SheetAtOnce style;
  setWindowIcon(program_icon());
  setAcceptDrops(true);
  setMinimumSize(screen_room().boundedTo({1280, 760}));
  setDockOptions(QMainWindow::AnimatedDocks | QMainWindow::AllowNestedDocks);
  setContextMenuPolicy(Qt::PreventContextMenu);
  centre_ = new QStackedWidget;
  welcome_ = new WelcomePage;
  centre_->addWidget(welcome_);
  make_pages();
  setCentralWidget(centre_);
  make_bars();
  make_docks();
  connect_parts();
  connect_commands();
  centre_->findChild<ComparePerspective*>()->connect_commands(actions_);
  centre_->findChild<LearnPage*>()->connect_commands(actions_);
  centre_->findChild<MachinePage*>()->connect_commands(actions_);
  centre_->findChild<KernelsPage*>()->connect_commands(actions_);
  centre_->findChild<BranchesPage*>()->connect_commands(actions_);
  centre_->findChild<SynchronyPage*>()->connect_commands(actions_);
  centre_->findChild<SharpnessPage*>()->connect_commands(actions_);
  centre_->findChild<DescentPage*>()->connect_commands(actions_);
  centre_->findChild<GatePage*>()->connect_commands(actions_);
  centre_->findChild<ProfilePage*>()->connect_commands(actions_);
  analyse_->run().connect_commands(actions_);
  analyse_->network().connect_commands(actions_);
  analyse_->aggregation().connect_commands(actions_);
  analyse_->placement().connect_commands(actions_);
  analyse_->sweep().connect_commands(actions_);
  analyse_->tune().connect_commands(actions_);
  connect(&analyse_->tune(), &TunePage::train_wanted, this, &Window::train);
  strategy_->connect_commands(actions_);
  connect_shell();
  lay_out();
  refresh_title();
  refresh_perspective();
  refresh_search();
}

// Parts still emit signals while they are destroyed, and objects destroyed before them must not
// receive these.
Window::~Window() {
  simulation_.disconnect();
  published_.disconnect();
  keeper_.disconnect();
  runs_.disconnect();
  training_.disconnect();
  session_.disconnect();
  document_.disconnect();
  for (Page* page : pages_) page->disconnect();
  planner().disconnect();
  planner().planning().disconnect();
}

void Window::make_pages() {
  for (const Perspective& perspective : perspectives()) {
    pages_ << make_page(perspective.id);
    centre_->addWidget(pages_.last());
  }
}

Page* Window::make_page(std::string_view perspective) {
  if (perspective == "design") return new DesignPage(document_, session_);
  if (perspective == "analyse") return analyse_ = new AnalysePage(document_, session_, training_);
  if (perspective == "compare")
    return new ComparePerspective(document_, runs_, [this] { return found_plan(planner()); });
  if (perspective == "calibrate") return new CalibratePage(document_, published_, session_);
  Q_ASSERT(perspective == "learn");
  return new LearnPage(&training_);
}

void Window::make_bars() {
  actions_.fill(menuBar());
  menuBar()->setFixedHeight(kMenuBarHeight);
  menuBar()->setNativeMenuBar(false);
  auto* name = new QWidget;
  auto* row = new QHBoxLayout(name);
  row->setContentsMargins(10, 0, 8, 0);
  row->setSpacing(8);
  auto* sign = new QLabel;
  sign->setPixmap(program_icon().pixmap(16, 16));
  row->addWidget(sign);
  row->addWidget(make_label("Trainyard", 13, QFont::DemiBold));
  menuBar()->setCornerWidget(name, Qt::TopLeftCorner);
  auto* right = new QWidget;
  auto* right_row = new QHBoxLayout(right);
  right_row->setContentsMargins(8, 2, 8, 2);
  right_row->setSpacing(12);
  file_ = make_label("", 12, QFont::Normal, "second");
  auto* search = new QPushButton("Search or run a command     Ctrl K");
  search->setProperty("kind", "search");
  search->setFixedWidth(240);
  search->setIcon(icon("search", qcolor(Ink::Text3, current_theme())));
  search->setAccessibleName("Search or run a command");
  connect(search, &QPushButton::clicked, actions_["help.commands"], &QAction::trigger);
  right_row->addWidget(file_);
  right_row->addWidget(search);
  menuBar()->setCornerWidget(right, Qt::TopRightCorner);

  tool_bar_ = new ToolBar(document_, session_, actions_);
  verdict_ = new VerdictBar(session_);
  addToolBar(Qt::TopToolBarArea, bar_of(tool_bar_, "Tools", kToolBarHeight));
  addToolBarBreak(Qt::TopToolBarArea);
  verdict_bar_ = bar_of(verdict_, "Verdict", kVerdictHeight);
  addToolBar(Qt::TopToolBarArea, verdict_bar_);
  readings_ = new Readings(session_);
  setStatusBar(readings_);
}

QDockWidget* Window::make_dock(const QString& title, QWidget* content, Qt::DockWidgetArea area,
                               const QString& name) {
  auto* dock = new QDockWidget(title);
  dock->setObjectName(name);
  dock->setAccessibleName(title);
  dock->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable);
  dock->setTitleBarWidget(new Header(title));
  dock->setWidget(content);
  addDockWidget(area, dock);
  return dock;
}

void Window::make_docks() {
  strategy_ = new StrategyPanel(document_, session_);
  bottom_ = new BottomPanel(session_, analyse_->exploration());
  auto* project = new ProjectPanel(document_, session_, runs_);
  project_dock_ = make_dock("Project", project, Qt::LeftDockWidgetArea, "project");
  connect(project, &ProjectPanel::run_chosen, this, [this](qint64 id) {
    if (ComparePerspective* compare = compare_perspective(*this)) compare->compare_run(id);
  });
  connect(project, &ProjectPanel::lesson_chosen, this,
          [this](int number) { show_lesson(QString::number(number)); });
  connect(project, &ProjectPanel::mark_chosen, this, [this](const ProjectMark& mark) {
    document_.show_perspective("analyse", "timeline");
    analyse_->exploration().go_to_place(Instant{mark.from}, Instant{mark.to});
  });
  inspector_dock_ =
      make_dock("Inspector", new Inspector(session_), Qt::RightDockWidgetArea, "inspector");
  strategy_dock_ = make_dock("Strategy", strategy_, Qt::RightDockWidgetArea, "strategy");
  bottom_dock_ = make_dock("Statistics", bottom_, Qt::BottomDockWidgetArea, "bottom");
  bottom_dock_->setTitleBarWidget(new QWidget);  // its tabs serve as its title
  splitDockWidget(inspector_dock_, strategy_dock_, Qt::Vertical);
}

void Window::fit_screen() { resize(size().boundedTo(screen_room())); }

void Window::lay_out() {
  const Page* shown = page();
  const Perspective* perspective =
      find_perspective(QString::fromStdString(document_.project().perspective));
  // The start page and pages with panels of their own hide the docks.
  const bool alone = shown == nullptr || shown->whole() || perspective == nullptr;
  const DockSizes sizes = alone ? DockSizes{} : perspective->docks;
  addDockWidget(Qt::LeftDockWidgetArea, project_dock_);
  addDockWidget(Qt::RightDockWidgetArea, inspector_dock_);
  addDockWidget(Qt::RightDockWidgetArea, strategy_dock_);
  addDockWidget(Qt::BottomDockWidgetArea, bottom_dock_);
  splitDockWidget(inspector_dock_, strategy_dock_, Qt::Vertical);
  project_dock_->setVisible(sizes.left > 0);
  strategy_dock_->setVisible(sizes.strategy > 0);
  inspector_dock_->setVisible(sizes.inspector > 0);
  bottom_dock_->setVisible(sizes.bottom > 0);
  if (sizes.left > 0)
    resizeDocks({project_dock_, strategy_dock_},
                {sizes.left, std::max(sizes.right, strategy_->minimumWidth())}, Qt::Horizontal);
  if (sizes.inspector > 0)
    resizeDocks({inspector_dock_, strategy_dock_}, {sizes.inspector, sizes.strategy}, Qt::Vertical);
  if (sizes.bottom > 0) resizeDocks({bottom_dock_}, {sizes.bottom}, Qt::Vertical);
  strategy_->set_detailed(sizes.inspector == 0);
}

void Window::connect_parts() {
  connect(&document_, &Document::changed, this, [this] {
    if (document_.plan() == nullptr || document_.project().model.empty()) drop_result();
    session_.set_stale(session_.experiment() != nullptr);
    refresh_title();
    refresh_perspective();
    if (document_.project().automatic) simulate();
  });
  connect(&document_, &Document::view_changed, this, [this] {
    refresh_perspective();
    if (document_.project().automatic && session_.stale()) simulate();
  });
  connect(&document_, &Document::renamed, this, &Window::refresh_title);
  connect(&document_, &Document::marks_changed, this, &Window::refresh_title);
  connect(&simulation_, &Simulation::finished, &session_, &Session::set_outcome);
  connect(&simulation_, &Simulation::priced, &session_, &Session::set_neighbours);
  connect(&simulation_, &Simulation::finished, this, [this] { tool_bar_->set_running(false); });
  connect(&simulation_, &Simulation::idle, this, [this] { tool_bar_->set_running(false); });
  const auto refresh_training = [this] {
    actions_["run.stop"]->setEnabled(training_.running());
    actions_["run.pause"]->setEnabled(training_.running());
    actions_["run.pause"]->setChecked(training_.paused());
    tool_bar_->set_training(training_.running());
  };
  connect(&training_, &TrainingSession::started, this, refresh_training);
  connect(&training_, &TrainingSession::finished, this, refresh_training);
  connect(&training_, &TrainingSession::changed, this, refresh_training);
  connect(&keeper_, &RunKeeper::awaited, this, [this] { analyse_->run().await_number(); });
  connect(&keeper_, &RunKeeper::kept, this, [this](std::optional<std::int64_t> number) {
    analyse_->run().set_number(
        number, keeper_.tagged() < 2
                    ? QString()
                    : QString("%1 repeats are tagged %2, and Compare offers them as one result. ")
                          .arg(keeper_.tagged())
                          .arg(keeper_.tag()));
  });
  refresh_training();
  connect(verdict_, &VerdictBar::apply, this, &Window::apply_words);
  connect(bottom_, &BottomPanel::apply, this, &Window::apply_words);
  connect(bottom_, &BottomPanel::run_shown, this, [this] { show_tab("run"); });
  connect(&training_, &TrainingSession::finished, this, [this] {
    const auto report = training_.report();
    bottom_->set_run_rules(report && report->rules ? report->rules->fired
                                                   : std::vector<FiredRule>{});
  });
  connect(bottom_, &BottomPanel::place_shown, this, [this] { show_tab("timeline"); });
  connect(welcome_, &WelcomePage::lesson, this, [this] { show_lesson({}); });
  connect(welcome_, &WelcomePage::published, actions_["view.published"], &QAction::trigger);
  connect(centre_->findChild<GalleryPage*>(), &GalleryPage::open_row, this,
          &Window::open_published);
  connect(&session_, &Session::experiment_changed, this, &Window::refresh_published);
  for (Page* page : pages_) {
    connect(page, &Page::turned, this, [this, page] { follow_tab(page); });
    connect(page, &Page::readings_changed, this, &Window::refresh_readings);
  }
  connect(&planner(), &PlannerPage::changed, this, &Window::refresh_search);
  connect(welcome_, &WelcomePage::choose_model, actions_["model.choose"], &QAction::trigger);
  connect(welcome_, &WelcomePage::open, this, &Window::open_dialog);
  connect(welcome_, &WelcomePage::open_file, this, &Window::open_file);
  connect(welcome_, &WelcomePage::example, this,
          [this](const QString& model, const QString& cluster) {
            start_with({.model = model.toStdString(),
                        .cluster = cluster.toStdString(),
                        .plan = "",
                        .settings = {}});
          });
  for (CanvasWidget* canvas : canvases()) {
    connect(canvas, &CanvasWidget::renderer_changed, this, &Window::refresh_renderer);
    connect(canvas, &CanvasWidget::painted, this,
            [this, canvas] { readings_->set_frame_time(canvas->frame_time()); });
  }
}

QList<CanvasWidget*> Window::canvases() const {
  QList<CanvasWidget*> all;
  for (const Page* page : pages_) all << page->canvases();
  return all;
}

void Window::simulate() {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty()) return;
  simulation_.start(request_of(document_.project(), *plan));
  tool_bar_->set_running(true);
}

// A result never outlives what it is the result of.
void Window::drop_result() {
  simulation_.stop();
  session_.clear();
}

PlannerPage& Window::planner() { return analyse_->planner(); }

Page* Window::page() const {
  const Project& project = document_.project();
  for (qsizetype i = 0; i < pages_.size(); ++i) {
    const Perspective& perspective = perspectives()[static_cast<std::size_t>(i)];
    if (project.perspective == perspective.id)
      return perspective.needs_model && project.model.empty() ? nullptr : pages_[i];
  }
  return project.model.empty() ? nullptr : analyse_;
}

void Window::show_tab(const QString& name) {
  if (const Perspective* perspective = perspective_of_tab(name))
    document_.show_perspective(perspective->id, name);
}

void Window::show_lesson(const QString& words) {
  if (!words.isEmpty()) centre_->findChild<LearnPage*>()->open(words);
  document_.show_perspective("learn");
  centre_->findChild<LearnPage*>()->setFocus();  // whose keys turn the lesson's steps
}

// Called when the user switches to another tab of the page.
void Window::follow_tab(Page* turned) {
  if (page() != turned) return;
  document_.show_tab(turned->tab());
  refresh_perspective();
}

bool Window::settled() const {
  return !simulation_.running() && std::all_of(pages_.begin(), pages_.end(),
                                               [](const Page* each) { return each->settled(); });
}

void Window::refresh_title() {
  const QString name = document_.title() + (document_.modified() ? "*" : "") +
                       (document_.read_only() ? " (newer, read only)" : "");
  setWindowTitle(name + " – Trainyard");
  file_->setText(name);
  refresh_corner();
  actions_["edit.undo"]->setEnabled(document_.undo_stack().canUndo());
  actions_["edit.redo"]->setEnabled(document_.undo_stack().canRedo());
  const QString undo = document_.undo_stack().undoText();
  actions_["edit.undo"]->setToolTip(undo.isEmpty() ? "Nothing to undo" : "Undo: " + undo);
  for (const char* id : {"plan.duplicate", "plan.rename"})
    actions_[id]->setEnabled(document_.plan() != nullptr);
  const bool model = !document_.project().model.empty();
  actions_["run.start"]->setEnabled(model);
  for (const char* id :
       {"model.remove", "model.duplicate", "model.up", "model.down", "model.split", "model.tables"})
    actions_[id]->setEnabled(model);
  actions_["plan.remove"]->setEnabled(document_.project().plans.size() > 1);
}

void Window::refresh_perspective() {
  Page* shown = page();
  const QString tab = QString::fromStdString(document_.project().tab);
  if (shown != nullptr && !tab.isEmpty()) shown->show_tab(tab);
  if (shown == nullptr) welcome_->refresh();
  QWidget* widget = shown == nullptr ? static_cast<QWidget*>(welcome_) : shown;
  const QString now = shown == nullptr ? QString("start")
                                       : QString::fromStdString(document_.project().perspective) +
                                             (shown->whole() ? " alone" : "");
  if (centre_->currentWidget() != widget || laid_out_ != now) {
    // A stack is as wide as its widest page requires, even while another is shown.
    for (int i = 0; i < centre_->count(); ++i) {
      const bool on_top = centre_->widget(i) == widget;
      const auto policy = on_top ? QSizePolicy::Preferred : QSizePolicy::Ignored;
      centre_->widget(i)->setSizePolicy(policy, policy);
    }
    centre_->setCurrentWidget(widget);
    tool_bar_->show_tools(shown == nullptr ? nullptr : shown->tools());
    place_docks(now);
    const bool of_plan = shown == nullptr || shown->readings().isEmpty();
    tool_bar_->show_plan_buttons(of_plan);
    verdict_bar_->setVisible(shown == nullptr || !shown->own_verdict());
  }
  actions_["simulate.auto"]->setChecked(document_.project().automatic);
  refresh_readings();
}

void Window::refresh_readings() {
  const Page* shown = page();
  readings_->say(shown == nullptr ? QStringList() : shown->readings());
}

void Window::refresh_search() {
  const bool found = planner().planning().findings() != nullptr;
  actions_["plan.search-stop"]->setEnabled(planner().planning().running());
  actions_["plan.open-found"]->setEnabled(found);
  actions_["plan.why"]->setEnabled(found);
}

// The rows were prepared on the thread that opened the scenario.
void Window::refresh_published() {
  const ProjectPlan* plan = document_.plan();
  const std::string& word = document_.project().model;
  const auto id = published_id(word);
  const bool as_published = id && plan != nullptr && document_.project().cluster == word &&
                            plan->file == word && plan->settings.empty();
  if (!as_published || !session_.experiment() || session_.stale())
    return verdict_->set_published(nullptr);
  verdict_->set_published(&published_row(*id));
}

void Window::refresh_renderer() {
  for (const CanvasWidget* canvas : canvases())
    if (!canvas->renderer().isEmpty()) readings_->set_renderer(canvas->renderer(), canvas->why());
}

void Window::closeEvent(QCloseEvent* event) {
  if (!may_discard()) return event->ignore();
  save_session();
  event->accept();
}

void Window::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void Window::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  QStringList files;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) files << url.toLocalFile();
  open_files(files);
}

void Window::changeEvent(QEvent* event) {
  if (event->type() == QEvent::StyleChange && tool_bar_ != nullptr) tool_bar_->refresh_icons();
  QMainWindow::changeEvent(event);
}

}  // namespace trainyard
