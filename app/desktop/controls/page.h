// A Page is what a perspective shows in the middle of the window, or one tab of that.
#pragma once

#include <QList>
#include <QStringList>
#include <QWidget>

#include <optional>

#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

class CanvasWidget;

/// What the window asks of whatever it shows. Everything has an answer, so that a page overrides
/// what it has and no more. Called on the window's thread; nothing here blocks.
class Page : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  /// Every canvas in it, shown or not; the list stays as it is while the page lives.
  virtual QList<CanvasWidget*> canvases() const { return {}; }
  /// Everything asked for is there.
  virtual bool settled() const { return true; }

  /// The names of its tabs as the perspective's table has them; none where it has no tabs.
  virtual QStringList tabs() const { return {}; }
  virtual QString tab() const { return {}; }
  /// Others change nothing.
  virtual void show_tab(const QString&) {}
  /// Hides the tab that is shown; the last one stays. False: nothing happened.
  virtual bool close_tab() { return false; }
  /// Shows the tab that was closed last.
  virtual bool reopen_tab() { return false; }

  /// It has panels of its own: the docks make room. May depend on the tab.
  virtual bool whole() const { return false; }
  /// It has a line of its own where the verdict is: the bar of the verdict makes room.
  virtual bool own_verdict() const { return false; }
  /// What the status bar says in place of the open plan's readings while the page shows no plan:
  /// rich text each; none: those.
  virtual QStringList readings() const { return {}; }
  /// What stands in the tool bar in place of the plan while the page is shown; null: the plan. The
  /// tool bar takes the widget at the first call and must be given the same one always.
  virtual QWidget* tools() { return nullptr; }
  /// What it shows, as for a file; none where there is nothing to show yet.
  virtual std::optional<Drawing> picture() const { return std::nullopt; }
  /// Shows or hides rows that it has under its picture; false: it has no place for them.
  virtual bool toggle_rows() { return false; }
  /// The rows behind that, as for a CSV file.
  virtual std::optional<DataTable> table() const { return std::nullopt; }

 Q_SIGNALS:
  /// Another tab is shown, or whole() changed.
  void turned();
  /// readings() changed.
  void readings_changed();
};

}  // namespace trainyard
