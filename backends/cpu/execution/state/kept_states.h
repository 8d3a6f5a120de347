// KeptStates are the states of a run that it can go back to where flipped bits were found: the last
// two, in memory, as the bytes of a checkpoint's file. One may be damaged, or have been kept while
// nobody knew of a flipped bit in it; the one before it then takes its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/execution/numbers/flip_guard.h"
#include "core/training/checkpoint.h"

namespace trainyard {

class KeptStates {
 public:
  /// Returns whether a state is to be kept before the step after so many updates.
  bool due(const FlipGuard&, std::int64_t updates) const;
  /// Keeps the state; bits of it may flip, as the guard's settings say.
  void keep(FlipGuard&, const Checkpoint&);
  /// Returns the bytes of a state for a file, of which bits may have flipped too.
  std::string written(FlipGuard&, const Checkpoint&);
  /// Returns the last state that is sound, for a run that has found its step wrong after `done`
  /// updates. Nothing where there is none, or where the step was found wrong time after time: the
  /// run then goes on as it is.
  std::optional<Checkpoint> sound(FlipGuard&, std::int64_t done);
  /// Returns the most that it has held between two steps.
  Bytes most() const { return most_; }

 private:
  struct State {
    std::string bytes;
    std::int64_t step = 0, number = 0;
    int uses = 0;
    bool hides_flips = false;
  };
  std::vector<State> states_;  // the oldest first
  std::int64_t saved_ = 0;     // states so far, in memory and in files
  Bytes most_{};
};

}  // namespace trainyard
