// The centre of the Analyse perspective: the timeline with memory, and the other views, as tabs.
#pragma once

#include <QWidget>

#include <array>

#include "app/desktop/comparison.h"
#include "app/desktop/document.h"
#include "app/desktop/session.h"
#include "app/desktop/training_session.h"

class QStackedWidget;
class QTabBar;

namespace trainyard {

class CanvasWidget;
class OrderPage;

/// The tabs by their names in lower case, as --tab takes them.
inline constexpr std::array<const char*, 8> kAnalyseTabs = {
    "timeline", "roofline", "order", "lanes", "waves", "staleness", "schedules", "run"};

class AnalysePage : public QWidget {
  Q_OBJECT

 public:
  AnalysePage(Document&, Session&, TrainingSession&, QWidget* parent = nullptr);
  const QList<CanvasWidget*>& canvases() const { return canvases_; }
  CanvasWidget* current() const;
  /// By its name in lower case; others change nothing.
  void show_tab(const QString&);
  /// The drawing that the shown tab has at a size, as for a file.
  Drawing picture(Size) const;
  /// A size that suits it in a file.
  Size picture_size() const;
  OrderPage& order() const { return *order_; }
  const Comparison& comparison() const { return comparison_; }

 private:
  /// page: what the tab shows; null: the canvas alone.
  void add(const QString& tab, CanvasWidget*, QWidget* page = nullptr);
  void compare_when_seen();
  Session& session_;
  const TrainingSession& training_;
  Comparison comparison_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  OrderPage* order_;
  QList<CanvasWidget*> canvases_;
};

}  // namespace trainyard
