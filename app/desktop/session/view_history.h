// Where somebody has looked, to go back and forward: the part of the run that was shown, the range
// and the search, one step a gesture.
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
  /// Forgets everything but where one is now.
  void reset(ViewPlace);
  /// One has come to a place; what lay ahead is forgotten. A place that continues a gesture (turns
  /// of the wheel, a drag) takes the place of the one before where that continued one too. The same
  /// place again changes nothing.
  void visit(const ViewPlace&, bool continues);
  /// What follows is a gesture of its own.
  void rest() { continuing_ = false; }
  /// Nothing where there is no place to go.
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
