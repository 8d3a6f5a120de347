// The cart-pole: a cart on a track is pushed to the left or to the right so that the pole on it
// stays up. Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult
// learning control problems", IEEE Transactions on Systems, Man, and Cybernetics, 1983. The
// constants are those of the common version: an episode lasts 500 steps at most.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/random.h"

namespace trainyard {

class CartPole {
 public:
  static constexpr int kActions = 2;  // 0 pushes to the left, 1 to the right
  static constexpr int kMostSteps = 500;
  /// Position (m), velocity (m/s), angle of the pole (rad), angular velocity (rad/s).
  using State = std::array<double, 4>;

  explicit CartPole(const State& state) : state_(state) {}
  /// Begins an episode: every number of the state is uniform in [-0.05, 0.05).
  CartPole(const Random&, std::uint64_t episode);

  void push(int action);
  const State& state() const { return state_; }
  int steps() const { return steps_; }
  /// Returns whether the cart has left the track, or the pole is more than 12 degrees off.
  bool failed() const;
  /// Returns whether the episode has ended, by failure or by its length.
  bool ended() const { return failed() || steps_ >= kMostSteps; }

 private:
  State state_;
  int steps_ = 0;
};

}  // namespace trainyard
