// A ViewHistory records what the user has viewed, for back and forward: the shown part of the run,
// the range and the search, one step per gesture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct ViewPlace {
  std::optional<TimeRange> shown, range;
  std::string search;
  friend bool operator==(const ViewPlace&, const ViewPlace&) = default;
};

class ViewHistory {
 public:
  /// Drops everything except the current place.
  void reset(ViewPlace);
  /// Records a place and drops the places ahead. A place that continues a gesture (turns of the
  /// wheel, a drag) replaces the previous one if that continued one too. An equal place changes
  /// nothing.
  void visit(const ViewPlace&, bool continues);
  /// The next place begins a new gesture.
  void rest() { continuing_ = false; }
  /// Empty if there is no place to go to.
  std::optional<ViewPlace> back();
  std::optional<ViewPlace> forward();
  const ViewPlace& here() const { return places_[at_]; }

 private:
  static constexpr std::size_t kMost = 200;
  std::vector<ViewPlace> places_ = {ViewPlace{}};
  std::size_t at_ = 0;
  bool continuing_ = false;
};

}  // namespace trainyard
