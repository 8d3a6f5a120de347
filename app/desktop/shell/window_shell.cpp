// Implements what the window does about itself: docks, session, history and help.
#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QDockWidget>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QStackedWidget>
#include <QToolTip>
#include <QUndoView>
#include <QVBoxLayout>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/page.h"
#include "app/desktop/dialogs/export_dialog.h"
#include "app/desktop/shell/perspective.h"
#include "app/desktop/shell/presentation.h"
#include "app/desktop/shell/settings_dialog.h"
#include "app/desktop/shell/window.h"
#include "app/desktop/study/gate_page.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {
namespace {

constexpr int kRecentShown = 8;

// The first widget of the panel in Tab order.
QWidget* first_focus(QWidget* panel) {
  for (QWidget* widget : panel->findChildren<QWidget*>())
    if ((widget->focusPolicy() & Qt::TabFocus) && widget->isEnabled() &&
        widget->isVisibleTo(panel) && widget->focusProxy() == nullptr)
      return widget;
  return nullptr;
}

}  // namespace

void Window::connect_shell() {
  const auto on = [this](const char* id, auto run) {
    connect(actions_[id], &QAction::triggered, this, run);
  };
  on("edit.history", [this] { show_history(); });
  on("edit.settings", [this] { show_settings(); });
  on("export.plan", [this] { export_plan(); });
  on("help.focus", [this] { say_focus(); });
  on("view.next-panel", [this] { cycle_panels(1); });
  on("view.previous-panel", [this] { cycle_panels(-1); });
  on("view.close-tab", [this] {
    if (page() != nullptr) page()->close_tab();
  });
  on("view.reopen-tab", [this] {
    if (page() != nullptr) page()->reopen_tab();
  });
  on("view.full-screen", [this](bool full) { full ? showFullScreen() : showNormal(); });
  on("view.presentation", [this](bool large) { set_presentation(large); });
  for (const Lesson& lesson : shipped_lessons())
    connect(actions_[lesson_command(lesson)], &QAction::triggered, this,
            [this, number = lesson.number] { show_lesson(QString::number(number)); });
  connect(&document_, &Document::renamed, this, &Window::refresh_recent);
  connect(&session_, &Session::freshness_changed, this, &Window::refresh_stale);
  connect(&session_, &Session::freshness_changed, this, &Window::refresh_fix);
  connect(&session_, &Session::experiment_changed, this, &Window::refresh_fix);
  connect(&session_, &Session::neighbours_changed, this, &Window::refresh_fix);
  refresh_fix();
  connect(&document_, &Document::view_changed, this, &Window::refresh_stale);
  refresh_recent();
}

// The change that the verdict offers; empty if there is none, or if the result is not of the plan
// as it stands.
QString Window::best_change() const {
  const PlanProblem& problem = session_.outcome().problem;
  if (!problem.fixes.empty()) return QString::fromStdString(problem.fixes.front());
  if (!session_.experiment() || session_.stale()) return {};
  const Verdict& verdict = session_.experiment()->result.verdict;
  if (!verdict.fixes.empty()) return QString::fromStdString(verdict.fixes.front().set);
  return verdict.gain ? QString::fromStdString(verdict.gain->set) : QString();
}

void Window::refresh_fix() { actions_["plan.fix"]->setEnabled(!best_change().isEmpty()); }

// Dims only pages that show the open plan, and only if no new result is on its way.
void Window::refresh_stale() {
  const bool dimmed = session_.experiment() && session_.stale() &&
                      (!document_.project().automatic || !session_.outcome().error.empty());
  for (qsizetype i = 0; i < pages_.size(); ++i) {
    if (!perspectives()[static_cast<std::size_t>(i)].needs_model) continue;
    for (CanvasWidget* canvas : pages_[i]->canvases()) canvas->set_dimmed(dimmed);
  }
}

void Window::refresh_recent() {
  QMenu* menu = actions_.menu("File");
  const QString kind = "recent";
  for (QAction* action : actions())
    if (action->property("kind") == kind) {
      removeAction(action);
      action->deleteLater();  // it may be the action that is running
    }
  auto* place = menu->findChild<QMenu*>(kind, Qt::FindDirectChildrenOnly);
  if (place == nullptr) {
    place = new QMenu("Open recent", menu);
    place->setObjectName(kind);
    place->setAccessibleName("Open recent");
    menu->insertMenu(actions_["file.save"], place);
  }
  place->clear();
  for (const QString& path : recent_files().mid(0, kRecentShown)) {
    auto* action = new QAction("Open recent: " + QFileInfo(path).fileName(), this);
    action->setProperty("kind", kind);
    action->setToolTip(path);
    action->setStatusTip(path);
    connect(action, &QAction::triggered, this, [this, path] { open_file(path); });
    addAction(action);
    place->addAction(action);
  }
  place->setEnabled(!place->isEmpty());
}

// Restores the docks' state for this layout, or the table's sizes.
void Window::place_docks(const QString& layout) {
  // Before the window is shown, its docks have no sizes that a user chose.
  if (!laid_out_.isEmpty() && isVisible()) docks_[laid_out_] = saveState();
  laid_out_ = layout;
  lay_out();
  if (docks_.contains(layout)) restoreState(docks_.value(layout));
}

void Window::restore_session(bool last_project) {
  remembers_ = true;
  QSettings kept;
  restoreGeometry(kept.value("window/geometry").toByteArray());
  kept.beginGroup("window/docks");
  for (const QString& layout : kept.childKeys()) docks_[layout] = kept.value(layout).toByteArray();
  kept.endGroup();
  const QString project = kept.value("window/project").toString();
  if (last_project && !project.isEmpty() && QFileInfo::exists(project)) {
    open_file(project);
    document_.show_perspective(kept.value("window/perspective", "design").toString(),
                               kept.value("window/tab").toString());
  }
}

void Window::save_session() {
  if (!remembers_) return;
  if (!laid_out_.isEmpty()) docks_[laid_out_] = saveState();
  QSettings kept;
  kept.setValue("window/geometry", saveGeometry());
  kept.remove("window/docks");
  for (auto it = docks_.cbegin(); it != docks_.cend(); ++it)
    kept.setValue("window/docks/" + it.key(), it.value());
  kept.setValue("window/project", document_.path());
  kept.setValue("window/perspective", QString::fromStdString(document_.project().perspective));
  kept.setValue("window/tab", QString::fromStdString(document_.project().tab));
}

void Window::cycle_panels(int step) {
  QList<QWidget*> panels{centre_};
  for (QDockWidget* dock : {inspector_dock_, strategy_dock_, bottom_dock_, project_dock_})
    if (dock->isVisible()) panels << dock;
  qsizetype now = 0;
  for (qsizetype i = 0; i < panels.size(); ++i)
    if (panels[i]->isAncestorOf(focusWidget())) now = i;
  for (qsizetype tried = 1; tried <= panels.size(); ++tried) {
    const qsizetype next = ((now + step * tried) % panels.size() + panels.size()) % panels.size();
    if (QWidget* widget = first_focus(panels[next])) return widget->setFocus(Qt::TabFocusReason);
  }
}

void Window::show_history() {
  QDialog dialog(this);
  dialog.setWindowTitle("History");
  dialog.resize(360, 480);
  auto* column = new QVBoxLayout(&dialog);
  auto* list = new QUndoView(&document_.undo_stack());
  list->setEmptyLabel(document_.path().isEmpty() ? "New project" : "As opened");
  list->setAccessibleName("Changes of the project, oldest first");
  column->addWidget(list);
  dialog.exec();
}

void Window::show_settings() {
  SettingsDialog dialog(actions_, this);
  connect(&dialog, &SettingsDialog::changed, this, &Window::use_preferences);
  dialog.exec();
}

void Window::use_preferences(const Preferences& preferences) {
  use(preferences);
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), theme_of(preferences.theme));
  actions_["view.dark"]->setChecked(current_theme() == Theme::Dark);
  Q_EMIT session_.experiment_changed();  // rows contain texts and colours
  Q_EMIT document_.view_changed();
}

void Window::say_focus() {
  QWidget* widget = QApplication::focusWidget();
  if (widget == nullptr) widget = this;
  QStringList lines;
  if (!widget->accessibleName().isEmpty())
    lines << "<b>" + widget->accessibleName().toHtmlEscaped() + "</b>";
  for (const QString& text : {widget->accessibleDescription(), widget->toolTip()})
    if (!text.isEmpty()) lines << text.toHtmlEscaped();
  lines << "Shift+F1 lists every key.";
  QToolTip::showText(widget->mapToGlobal(widget->rect().center()), lines.join("<br>"), widget, {},
                     15'000);
}

// A menu bar recomputes the size of its corner widgets only when its own font changes.
void Window::refresh_corner() {
  QEvent font(QEvent::FontChange);
  QApplication::sendEvent(menuBar(), &font);
}

void Window::set_presentation(bool large) {
  set_ui_scale(large ? kPresentationScale : 1);
  follow_scale(*static_cast<QApplication*>(QApplication::instance()), *this);
  refresh_corner();
  actions_["view.presentation"]->setChecked(large);
  Q_EMIT session_.experiment_changed();  // rows contain fonts
  Q_EMIT document_.view_changed();
}

// Says why where the gate of quality lets no plan of the open model out.
bool Window::gate_lets_out() {
  const QString reason =
      centre_->findChild<GatePage*>()->blocks(session_.experiment()->workload.scenario.model.name);
  if (!reason.isEmpty())
    complain(this, "The gate of quality lets nothing out",
             reason + ".\n\nCalibrate, Gate says more; a box there lets plans out all the same.");
  return reason.isEmpty();
}

void Window::export_plan() {
  if (!session_.experiment() || !gate_lets_out()) return;
  ExportDialog(session_.experiment(), this).exec();
}

}  // namespace trainyard
