#include "core/program/action_index.h"

#include <algorithm>

namespace trainyard {

ActionIndex::ActionIndex(const Order& order) {
  for (const Lane& lane : order.lanes) {
    lines_.push_back({static_cast<std::uint32_t>(actions_.size()),
                      static_cast<std::uint32_t>(lane.actions.size())});
    actions_.insert(actions_.end(), lane.actions.begin(), lane.actions.end());
  }
  for (std::uint32_t i = 0; i < actions_.size(); ++i) {
    const Action& a = actions_[i];
    entries_.push_back({key_of(a), i});
  }
  std::sort(entries_.begin(), entries_.end());
}

std::size_t ActionIndex::line_of(std::uint32_t index) const {
  std::size_t line = 0;
  while (index - lines_[line].first >= lines_[line].count)
    ++line;  // unsigned difference wraps below first
  return line;
}

std::uint32_t ActionIndex::find(Phase phase, std::uint32_t stage, std::int32_t microbatch) const {
  const Entry wanted{{phase, stage, microbatch}, 0};
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), wanted);
  return at != entries_.end() && at->key == wanted.key ? at->index : kNothing;
}

std::uint32_t ActionIndex::find_backward(std::uint32_t stage, std::int32_t microbatch) const {
  const std::uint32_t whole = find(Phase::Backward, stage, microbatch);
  return whole != kNothing ? whole : find(Phase::BackwardInput, stage, microbatch);
}

std::array<std::uint32_t, 2> ActionIndex::needs(const Action& a, int stages) const {
  const std::uint32_t s = a.stage.value;
  const bool first = s == 0, last = s + 1 == static_cast<std::uint32_t>(stages);
  switch (a.phase) {
    case Phase::Forward:
      return {first ? kNothing : find(Phase::Forward, s - 1, a.microbatch), kNothing};
    case Phase::Backward:
    case Phase::BackwardInput:
      return {find(Phase::Forward, s, a.microbatch),
              last ? kNothing : find_backward(s + 1, a.microbatch)};
    case Phase::BackwardWeight:
      return {find(Phase::BackwardInput, s, a.microbatch), kNothing};
    case Phase::Update:
      break;
  }
  return {kNothing, kNothing};
}

}  // namespace trainyard
