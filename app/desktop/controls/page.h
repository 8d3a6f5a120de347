// A Page is the centre of a perspective, or one tab of it.
#pragma once

#include <QList>
#include <QStringList>
#include <QWidget>

#include <optional>
#include <string>

#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

class CanvasWidget;

/// The questions that the window asks of the page it shows. Each has a default answer, so that a
/// page overrides only what it needs. Called on the window's thread; nothing here blocks.
class Page : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  /// Every canvas of the page, shown or hidden; the list does not change during the page's life.
  virtual QList<CanvasWidget*> canvases() const { return {}; }
  /// The one that the keyboard goes to; null if there is none.
  CanvasWidget* canvas() const { return canvases().value(0); }
  /// Returns whether everything requested has arrived.
  virtual bool settled() const { return true; }

  /// The names of its tabs as in the perspective's table; empty if it has no tabs.
  virtual QStringList tabs() const { return {}; }
  virtual QString tab() const { return {}; }
  /// Shows the tab; ignores other names.
  virtual void show_tab(const QString&) {}
  /// Hides the current tab, except the last one. Returns false if nothing happened.
  virtual bool close_tab() { return false; }
  /// Shows the tab that was closed last.
  virtual bool reopen_tab() { return false; }

  /// Returns whether it has panels of its own, so that the docks are hidden. May depend on the tab.
  virtual bool whole() const { return false; }
  /// Returns whether it shows a line of its own in place of the verdict bar.
  virtual bool own_verdict() const { return false; }
  /// Rich texts for the status bar in place of the open plan's readings, if the page does not show
  /// a plan; empty: the readings.
  virtual QStringList readings() const { return {}; }
  /// The widget in the tool bar in place of the plan while the page is shown; null: the plan. The
  /// tool bar takes ownership at the first call, and later calls must return the same widget.
  virtual QWidget* tools() { return nullptr; }
  /// The picture to export; empty if there is nothing to show yet.
  virtual std::optional<Drawing> picture() const { return std::nullopt; }
  /// Shows or hides the rows below its picture; returns false if it has none.
  virtual bool toggle_rows() { return false; }
  /// The rows behind the picture, for export as CSV.
  virtual std::optional<DataTable> table() const { return std::nullopt; }
  /// Returns the document that the page exports as JSON, if it has one.
  virtual std::optional<std::string> document() const { return std::nullopt; }
  /// Shows what was chosen among those rows.
  virtual void choose_row(Item) {}

 Q_SIGNALS:
  /// Emitted when another tab is shown or whole() changes.
  void turned();
  /// Emitted when readings() changes.
  void readings_changed();
};

}  // namespace trainyard
