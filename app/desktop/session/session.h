// The Session is what all views of the window share: the newest experiment, whether it is up to
// date, one range, one cursor and one selection. Views change it and listen to it; they never call
// each other.
#pragma once

#include <QObject>

#include <functional>
#include <memory>

#include "app/desktop/session/simulation.h"
#include "visualizers/view.h"

namespace trainyard {

class Session : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  const Outcome& outcome() const { return outcome_; }
  /// The last experiment that succeeded; null before the first.
  const ExperimentPtr& experiment() const { return experiment_; }
  /// The models that views derive from it; null before the first experiment.
  const ViewData* data() const { return data_.get(); }
  /// The same, shared with work on other threads.
  std::shared_ptr<const ViewData> shared_data() const { return data_; }
  /// The rank of the selected span or lane, else that of the expanded wave, else the worst rank.
  std::size_t selected_rank() const;
  const std::vector<NeighbourPlan>& neighbours() const { return neighbours_; }
  const NeighbourPlan* neighbour(std::string_view key, std::string_view value) const;
  const ViewState& state() const { return state_; }
  /// Returns whether the plan has changed since the experiment was made.
  bool stale() const { return stale_; }
  Instant end() const;
  /// The shown part according to the state, or the whole run.
  TimeRange shown() const;
  /// The range according to the state, or the whole run.
  TimeRange range() const;

  void set_outcome(Outcome);
  void set_neighbours(std::vector<NeighbourPlan>);
  void set_stale(bool);
  /// Drops everything.
  void clear();
  void show(std::optional<TimeRange>);
  void set_range(std::optional<TimeRange>);
  void set_cursor(std::optional<Instant>);
  void select(Item);
  void expand(DeviceId);
  void scroll_to(float);
  /// Changes other parts of the view state at once; view_changed() follows.
  void look(const std::function<void(ViewState&)>&);

 Q_SIGNALS:
  void experiment_changed();
  void neighbours_changed();
  void freshness_changed();
  void view_changed();  // shown part, scroll position or cursor changed
  void range_changed();
  void selection_changed();

 private:
  Outcome outcome_;
  ExperimentPtr experiment_;
  std::shared_ptr<const ViewData> data_;
  std::vector<NeighbourPlan> neighbours_;
  ViewState state_;
  bool stale_ = false;
};

}  // namespace trainyard
