// The centre of the Analyse perspective: the timeline with memory, and the other views, as tabs.
#pragma once

#include <array>

#include "app/desktop/comparison.h"
#include "app/desktop/document.h"
#include "app/desktop/page.h"
#include "app/desktop/session.h"
#include "app/desktop/training_session.h"

class QStackedWidget;
class QTabBar;

namespace trainyard {

class CanvasWidget;
class OrderPage;
class PlannerPage;

/// The tabs by their names in lower case, as --tab takes them.
inline constexpr std::array<const char*, 9> kAnalyseTabs = {
    "timeline", "roofline", "order", "lanes", "waves", "staleness", "schedules", "run", "plans"};

class AnalysePage : public Page {
  Q_OBJECT

 public:
  AnalysePage(Document&, Session&, TrainingSession&, QWidget* parent = nullptr);
  QList<CanvasWidget*> canvases() const override;
  bool settled() const override;
  QStringList tabs() const override;
  QString tab() const override;
  bool whole() const override;
  std::optional<Drawing> picture() const override;
  CanvasWidget* current() const;
  void show_tab(const QString&) override;
  /// The drawing that the shown tab has at a size, as for a file.
  Drawing picture(Size) const;
  /// A size that suits it in a file.
  Size picture_size() const;
  OrderPage& order() const { return *order_; }
  PlannerPage& planner() const { return *planner_; }
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
  PlannerPage* planner_;
  QList<CanvasWidget*> canvases_;  // of each tab the one that speaks for it
};

}  // namespace trainyard
