// The Window combines document, session, simulation and panels, and carries out commands.
#pragma once

#include <QByteArray>
#include <QHash>
#include <QMainWindow>

#include <functional>
#include <string>
#include <string_view>

#include "app/desktop/controls/preferences.h"
#include "app/desktop/controls/run_list.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/published.h"
#include "app/desktop/session/session.h"
#include "app/desktop/session/simulation.h"
#include "app/desktop/session/training_session.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/run_keeper.h"

class QDockWidget;
class QLabel;
class QStackedWidget;
class QToolBar;

namespace trainyard {

class AnalysePage;
class BottomPanel;
class CanvasWidget;
class Page;
class PlannerPage;
class Readings;
class StrategyPanel;
class ToolBar;
class VerdictBar;
class WelcomePage;

class Window : public QMainWindow {
  Q_OBJECT

 public:
  /// rows: the rows that the gallery shows.
  explicit Window(Published::Rows rows = shipped_row_set);
  ~Window() override;

  Document& document() { return document_; }
  Session& session() { return session_; }
  Simulation& simulation() { return simulation_; }
  TrainingSession& training() { return training_; }
  Published& published() { return published_; }
  /// The list in which runs are stored; nothing is stored before RunList::use().
  RunList& runs() { return runs_; }
  PlannerPage& planner();
  const QList<Page*>& pages() const { return pages_; }
  Actions& actions_of() { return actions_; }
  /// Opens a project, model, cluster or plan, according to the file. An error is shown as a
  /// sentence.
  void open_file(const QString& path);
  /// Opens each file; several traces are opened together as the ranks of one run.
  void open_files(const QStringList& paths);
  /// Imports PyTorch's pipeline CSV or Megatron's pipeline layout into the plan, or shows an error.
  void import_file(const QString& path);
  /// Applies the model, cluster and settings that the command line named.
  void start_with(const Request&);
  /// Makes a published row the document: its model, its cluster and its plan.
  void open_published(const QString& id);
  /// Shows a tab of whichever perspective has it.
  void show_tab(const QString&);
  /// Opens a lesson step, such as "3:4" for step 4 of lesson 3. Throws Error{InvalidInput} that
  /// lists the lessons.
  void show_lesson(const QString&);
  /// Restores the window's geometry, its docks and open files, and saves them from now on.
  void restore_session(bool last_project);
  /// Shrinks the window to what its screen has room for.
  void fit_screen();
  /// Returns whether everything requested has been simulated.
  bool settled() const;

 protected:
  void closeEvent(QCloseEvent*) override;
  void dragEnterEvent(QDragEnterEvent*) override;
  void dropEvent(QDropEvent*) override;
  void changeEvent(QEvent*) override;

 private:
  void make_pages();
  /// Makes the page of the perspective with that id; the caller owns the page.
  Page* make_page(std::string_view perspective);
  void make_bars();
  void make_docks();
  QDockWidget* make_dock(const QString& title, QWidget*, Qt::DockWidgetArea, const QString& name);
  void connect_commands();
  void connect_exploration();
  void connect_parts();
  void lay_out();
  void simulate();
  void drop_result();
  void refresh_title();
  void refresh_perspective();
  void refresh_renderer();
  void refresh_published();
  void refresh_search();
  void connect_shell();
  void tell_newer();
  void refresh_recent();
  void refresh_stale();
  QString best_change() const;
  void refresh_fix();
  void refresh_readings();
  void place_docks(const QString& layout);
  void save_session();
  void cycle_panels(int step);
  void show_history();
  void show_settings();
  void say_focus();
  void refresh_corner();
  void set_presentation(bool);
  void choose_model();
  void use_preferences(const Preferences&);
  QList<CanvasWidget*> canvases() const;
  /// The page that the perspective shows; null: the start page.
  Page* page() const;
  void follow_tab(Page*);

  // Commands.
  void open_dialog();
  void report_import(const std::string& file);
  bool save(bool ask);
  bool may_discard();
  /// Asks and trains; training: settings of training to begin with, as they are typed.
  void train(const QString& training = {});
  void rename_plan();
  void apply_words(const QString& assignments);
  void export_view();
  /// Asks where, and writes there what `bytes` makes of the answer that is shown.
  void save_answer(const QString& title, const QString& file, const QString& filter,
                   const std::function<std::string()>& bytes);
  void export_as(const char* format);
  void import_pipeline();
  void check_report_dialog();
  /// Throws Error for a file that is no benchmark report.
  void check_report_file(const QString& path);
  void show_keys();
  void show_about();
  void set_theme(Theme);
  bool gate_lets_out();
  void export_plan();
  /// Shows one sentence with Continue; nothing has been changed.

  Document document_;
  Session session_;
  Simulation simulation_;
  TrainingSession training_;
  Published published_;
  RunList runs_;
  RunKeeper keeper_{training_, runs_};
  Actions actions_;
  ToolBar* tool_bar_ = nullptr;
  VerdictBar* verdict_ = nullptr;
  Readings* readings_ = nullptr;
  QStackedWidget* centre_ = nullptr;
  WelcomePage* welcome_ = nullptr;
  QList<Page*> pages_;  // in the order of perspectives()
  AnalysePage* analyse_ = nullptr;
  StrategyPanel* strategy_ = nullptr;
  BottomPanel* bottom_ = nullptr;
  QDockWidget *project_dock_ = nullptr, *inspector_dock_ = nullptr, *strategy_dock_ = nullptr,
              *bottom_dock_ = nullptr;
  QToolBar* verdict_bar_ = nullptr;
  QLabel* file_ = nullptr;
  QString laid_out_;                  // the layout of the docks
  QHash<QString, QByteArray> docks_;  // the state of the docks, by layout
  bool remembers_ = false;            // whether the session is saved for the next start
};

}  // namespace trainyard
