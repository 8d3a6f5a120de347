// The centre of the Analyse perspective: the timeline with memory, and the other views, as tabs.
#pragma once

#include <QWidget>

#include "app/desktop/session.h"

class QStackedWidget;
class QTabBar;

namespace trainyard {

class CanvasWidget;

class AnalysePage : public QWidget {
  Q_OBJECT

 public:
  explicit AnalysePage(Session&, QWidget* parent = nullptr);
  const QList<CanvasWidget*>& canvases() const { return canvases_; }
  CanvasWidget* current() const;
  /// By its name in lower case; others change nothing.
  void show_tab(const QString&);
  /// Name of the shown tab among views().
  std::string_view current_view() const;

 private:
  void add(const QString& tab, CanvasWidget*);
  Session& session_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QList<CanvasWidget*> canvases_;
};

}  // namespace trainyard
