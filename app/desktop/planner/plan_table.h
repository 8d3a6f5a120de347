// Plans of a search as a table: the best, the front, or what a brush and a fate leave of all.
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

/// What is kept of all plans.
struct PlanFilter {
  ParetoState brush;         // its axes and its brush
  std::optional<Fate> fate;  // of this one only
  bool any() const { return brush.brush.has_value() || fate.has_value(); }
};

class PlanTable : public QWidget {
  Q_OBJECT

 public:
  enum Kind { Best, Front, Filtered, Knobs };
  explicit PlanTable(QWidget* parent = nullptr);

  void show_plans(std::shared_ptr<const PlanFindings>);
  /// Goes to Filtered where anything is filtered, back to Best where nothing is any longer.
  void filter(const PlanFilter&);
  void choose(std::optional<PlanId>);
  /// Strips of the chosen plan's knobs, which take the table's place where they are asked for.
  StripPanel* strips() const { return strips_; }
  /// How many rows the table has at most.
  static constexpr int kMostRows = 300;

 Q_SIGNALS:
  void chosen(trainyard::PlanId);
  void opened();
  void cleared();  // the filter is to go

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
