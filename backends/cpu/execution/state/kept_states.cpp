#include "backends/cpu/execution/state/kept_states.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace trainyard {

bool KeptStates::due(const FlipGuard& flips, std::int64_t updates) const {
  const std::int64_t every = flips.settings().recover;
  if (every <= 0) return false;
  return states_.empty() || (updates % every == 0 && states_.back().step < updates);
}

void KeptStates::keep(FlipGuard& flips, const Checkpoint& state) {
  constexpr std::size_t kMostKept = 2;
  if (states_.size() == kMostKept) states_.erase(states_.begin());
  State kept{{}, state.step, saved_, 0, flips.hides_flips()};
  kept.bytes = written(flips, state);
  states_.push_back(std::move(kept));
  Bytes all;
  for (const State& one : states_) all += Bytes{static_cast<std::int64_t>(one.bytes.size())};
  most_ = std::max(most_, all);
}

std::string KeptStates::written(FlipGuard& flips, const Checkpoint& state) {
  std::string bytes = to_bytes(state);
  flips.store_checkpoint(state.step, bytes, saved_++);
  return bytes;
}

std::optional<Checkpoint> KeptStates::sound(FlipGuard& flips, std::int64_t done) {
  constexpr std::int64_t kMostAttempts = 16;  // of a step
  constexpr int kMostUses = 3;                // of a state while there is an older one
  while (!states_.empty() && flips.attempts() < kMostAttempts) {
    State& last = states_.back();
    if (last.uses++ >= kMostUses && states_.size() > 1) {
      states_.pop_back();
      continue;
    }
    try {
      Checkpoint found = parse_checkpoint(last.bytes, "the state in memory");
      flips.went_back(last.step, done, last.hides_flips);
      return found;
    } catch (const Error&) {
      flips.damaged(last.step, last.number);
      states_.pop_back();
    }
  }
  flips.found_no_way_back();
  return std::nullopt;
}

}  // namespace trainyard
