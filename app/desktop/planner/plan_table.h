// A PlanTable shows plans of a search: the best, the front, or those that a brush and a fate
// select.
#pragma once

#include <QWidget>

#include <memory>
#include <optional>

#include "app/desktop/session/planning.h"

class QLabel;
class QPushButton;
class QStackedWidget;
class QTreeWidget;

namespace trainyard {

class Segment;
class StripPanel;

/// A filter on all plans.
struct PlanFilter {
  ParetoState brush;         // contributes its axes and its brush
  std::optional<Fate> fate;  // only plans with this fate
  bool any() const { return brush.brush.has_value() || fate.has_value(); }
};

class PlanTable : public QWidget {
  Q_OBJECT

 public:
  enum Kind { Best, Front, Filtered, Knobs };
  explicit PlanTable(QWidget* parent = nullptr);

  void show_plans(std::shared_ptr<const PlanFindings>);
  /// Switches to the tab Filtered if there is a filter, and back to Best if there no longer is.
  void filter(const PlanFilter&);
  void choose(std::optional<PlanId>);
  /// The strips of the chosen plan's knobs, which replace the table when requested.
  StripPanel* strips() const { return strips_; }
  /// The most rows that the table shows.
  static constexpr int kMostRows = 300;

 Q_SIGNALS:
  void chosen(trainyard::PlanId);
  void opened();
  void cleared();  // the user wants to remove the filter

 private:
  void fill();
  void add_row(int number, PlanId, const PricedPlan&, const Candidate*);
  std::vector<std::size_t> filtered(std::size_t& all) const;

  std::shared_ptr<const PlanFindings> findings_;
  PlanFilter filter_;
  Segment* kind_;
  QLabel* found_;
  QPushButton *clear_, *copy_;
  QTreeWidget* table_;
  StripPanel* strips_;
  QStackedWidget* pages_;
};

}  // namespace trainyard
