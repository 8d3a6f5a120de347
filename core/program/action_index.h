// An ActionIndex holds the actions of an order in one sequence, lane after lane; it finds actions
// by key and the actions whose data each one needs. Orders are checked and edited with it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "core/program/circle.h"
#include "core/program/order.h"

namespace trainyard {

/// The key that makes an action unique; its wave, its weight version and whether it is paired are
/// not part of it.
struct ActionKey {
  Phase phase = Phase::Forward;
  std::uint32_t stage = 0;
  std::int32_t microbatch = 0;
  friend auto operator<=>(const ActionKey&, const ActionKey&) = default;
};

inline ActionKey key_of(const Action& a) { return {a.phase, a.stage.value, a.microbatch}; }

class ActionIndex {
 public:
  struct Entry {
    ActionKey key;
    std::uint32_t index = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  explicit ActionIndex(const Order&);

  const std::vector<Action>& actions() const { return actions_; }
  const std::vector<Line>& lines() const { return lines_; }       // of each lane
  const std::vector<Entry>& entries() const { return entries_; }  // sorted
  std::size_t line_of(std::uint32_t index) const;

  /// The (first) action with that key; kNothing if there is none.
  std::uint32_t find(Phase, std::uint32_t stage, std::int32_t microbatch) const;
  bool has(Phase phase, std::uint32_t stage, std::int32_t microbatch) const {
    return find(phase, stage, microbatch) != kNothing;
  }
  /// The backward of a stage that passes the gradient on: the whole one, or that of the input.
  std::uint32_t find_backward(std::uint32_t stage, std::int32_t microbatch) const;
  /// The actions whose data this one needs, in a pipeline of `stages` stages; unused entries are
  /// kNothing.
  std::array<std::uint32_t, 2> needs(const Action&, int stages) const;

 private:
  std::vector<Action> actions_;
  std::vector<Line> lines_;
  std::vector<Entry> entries_;
};

}  // namespace trainyard
