// The Session is what every view of the window looks at: the newest experiment, whether it is still
// true, one range, one cursor and one selection. Views change it and listen to it; they never call
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
  /// What views derived from it; null before the first.
  const ViewData* data() const { return data_.get(); }
  /// The same, to be kept by who works on it elsewhere.
  std::shared_ptr<const ViewData> shared_data() const { return data_; }
  /// The rank of the selected span or lane, else that of the expanded wave, else the worst.
  std::size_t selected_rank() const;
  const std::vector<NeighbourPlan>& neighbours() const { return neighbours_; }
  const NeighbourPlan* neighbour(std::string_view key, std::string_view value) const;
  const ViewState& state() const { return state_; }
  /// The plan changed after the experiment was made.
  bool stale() const { return stale_; }
  Instant end() const;
  /// The state's shown part, or the whole run.
  TimeRange shown() const;
  /// The state's range, or the whole run.
  TimeRange range() const;

  void set_outcome(Outcome);
  void set_neighbours(std::vector<NeighbourPlan>);
  void set_stale(bool);
  /// Forgets everything.
  void clear();
  void show(std::optional<TimeRange>);
  void set_range(std::optional<TimeRange>);
  void set_cursor(std::optional<Instant>);
  void select(Item);
  void expand(DeviceId);
  void scroll_to(float);
  /// What else is looked at, changed in one go; view_changed follows.
  void look(const std::function<void(ViewState&)>&);

 Q_SIGNALS:
  void experiment_changed();
  void neighbours_changed();
  void freshness_changed();
  void view_changed();  // shown part, scroll, cursor
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
