#include "app/desktop/session/view_history.h"

#include <utility>

namespace trainyard {

void ViewHistory::reset(ViewPlace place) {
  places_ = {std::move(place)};
  at_ = 0;
  continuing_ = false;
}

void ViewHistory::visit(const ViewPlace& place, bool continues) {
  if (place == here()) return;
  places_.resize(at_ + 1);
  if (continues && continuing_ && at_ > 0) {
    places_[at_] = place;
  } else {
    if (places_.size() == kMost) places_.erase(places_.begin());
    places_.push_back(place);
    at_ = places_.size() - 1;
  }
  continuing_ = continues;
}

std::optional<ViewPlace> ViewHistory::back() {
  continuing_ = false;
  if (at_ == 0) return {};
  return places_[--at_];
}

std::optional<ViewPlace> ViewHistory::forward() {
  continuing_ = false;
  if (at_ + 1 >= places_.size()) return {};
  return places_[++at_];
}

}  // namespace trainyard
