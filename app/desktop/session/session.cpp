#include "app/desktop/session/session.h"

#include <algorithm>
#include <utility>

#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/view_data.h"

namespace trainyard {

const NeighbourPlan* Session::neighbour(std::string_view key, std::string_view value) const {
  const auto found =
      std::find_if(neighbours_.begin(), neighbours_.end(),
                   [&](const NeighbourPlan& n) { return n.key == key && n.value == value; });
  return found == neighbours_.end() ? nullptr : &*found;
}

Instant Session::end() const { return data_ ? data_->get<TimelineModel>().end : Instant{}; }

TimeRange Session::shown() const { return state_.shown.value_or(TimeRange{Instant{}, end()}); }

TimeRange Session::range() const { return state_.range.value_or(TimeRange{Instant{}, end()}); }

std::size_t Session::selected_rank() const {
  if (!experiment_) return 0;
  const Item item = state_.selected;
  const bool instruction =
      item.kind == ItemKind::Span || item.kind == ItemKind::Fold || item.kind == ItemKind::Idle;
  if (instruction && item.tag < experiment_->program.instructions.size()) {
    const SpanPlace place =
        place_of(data_->get<TimelineModel>(), InstructionId{static_cast<std::uint32_t>(item.tag)});
    return experiment_->program.streams[place.row].device.value;
  }
  if (item.kind == ItemKind::Lane) return item.tag;
  return state_.expanded.value_or(data_->get<MemoryModel>().worst).value;
}

void Session::set_outcome(Outcome outcome) {
  outcome_ = std::move(outcome);
  if (outcome_.experiment) {
    const Instant before = end();
    const bool same_run =
        experiment_ && outcome_.experiment->timeline.spans == experiment_->timeline.spans;
    experiment_ = outcome_.experiment;
    data_ = outcome_.data;
    // A selection is meaningful only within the same run.
    if (!same_run) state_.selected = {};
    if (end() != before) state_.shown.reset(), state_.range.reset(), state_.cursor.reset();
    if (state_.expanded && state_.expanded->value >= data_->get<MemoryModel>().totals.size())
      state_.expanded.reset();
    stale_ = false;
  } else if (experiment_) {
    outcome_.problem = narrowed(std::move(outcome_.problem), experiment_->workload.scenario.plan);
  }
  if (!outcome_.priced) neighbours_.clear();
  Q_EMIT experiment_changed();
  Q_EMIT freshness_changed();
}

void Session::set_neighbours(std::vector<NeighbourPlan> list) {
  neighbours_ = std::move(list);
  Q_EMIT neighbours_changed();
}

void Session::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  Q_EMIT freshness_changed();
}

void Session::clear() {
  outcome_ = {};
  experiment_ = nullptr;
  data_ = nullptr;
  neighbours_.clear();
  state_ = {};
  stale_ = false;
  Q_EMIT experiment_changed();
  Q_EMIT freshness_changed();
}

void Session::show(std::optional<TimeRange> range) {
  state_.shown = range;
  Q_EMIT view_changed();
}

void Session::set_range(std::optional<TimeRange> range) {
  if (state_.range == range) return;
  state_.range = range;
  Q_EMIT range_changed();
}

void Session::set_cursor(std::optional<Instant> at) {
  if (state_.cursor == at) return;
  state_.cursor = at;
  Q_EMIT view_changed();
}

void Session::select(Item item) {
  if (state_.selected == item) return;
  state_.selected = item;
  Q_EMIT selection_changed();
}

void Session::expand(DeviceId device) {
  state_.expanded = device;
  Q_EMIT view_changed();
}

void Session::look(const std::function<void(ViewState&)>& change) {
  change(state_);
  Q_EMIT view_changed();
}

void Session::scroll_to(float scroll) {
  state_.scroll = std::max(0.0F, scroll);
  Q_EMIT view_changed();
}

}  // namespace trainyard
