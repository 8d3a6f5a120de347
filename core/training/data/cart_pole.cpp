#include "core/training/data/cart_pole.h"

#include <cmath>
#include <numbers>

namespace trainyard {
namespace {

constexpr double kGravity = 9.8;                            // m/s²
constexpr double kPoleMass = 0.1, kMass = 1.0 + kPoleMass;  // kg, with the cart's
constexpr double kHalfLength = 0.5;                         // m, of the pole
constexpr double kForce = 10;                               // N
constexpr double kStep = 0.02;                              // s
constexpr double kTrack = 2.4;                              // m, to either side
constexpr double kMostAngle = 12 * std::numbers::pi / 180;
constexpr double kStart = 0.05;

}  // namespace

CartPole::CartPole(const Random& random, std::uint64_t episode) : state_{} {
  for (std::size_t i = 0; i < state_.size(); ++i)
    state_[i] = kStart * (2 * random.uniform(episode * state_.size() + i) - 1);
}

void CartPole::push(int action) {
  auto& [x, velocity, angle, turning] = state_;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double force = action == 1 ? kForce : -kForce;
  const double pushed = (force + kPoleMass * kHalfLength * turning * turning * sine) / kMass;
  const double turned = (kGravity * sine - cosine * pushed) /
                        (kHalfLength * (4.0 / 3 - kPoleMass * cosine * cosine / kMass));
  const double accelerated = pushed - kPoleMass * kHalfLength * turned * cosine / kMass;
  x += kStep * velocity;
  velocity += kStep * accelerated;
  angle += kStep * turning;
  turning += kStep * turned;
  ++steps_;
}

bool CartPole::failed() const {
  return std::abs(state_[0]) > kTrack || std::abs(state_[2]) > kMostAngle;
}

}  // namespace trainyard
