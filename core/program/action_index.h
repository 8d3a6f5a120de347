// The actions of an order in one row, lane after lane: found by what they are, and what each needs
// the data of. What an order is checked and edited with.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "core/program/circle.h"
#include "core/program/order.h"

namespace trainyard {

/// What makes an action unique: a wave or a weight version is how it is done, not what is done.
struct ActionKey {
  Phase phase = Phase::Forward;
  std::uint32_t stage = 0;
  std::int32_t microbatch = 0;
  friend auto operator<=>(const ActionKey&, const ActionKey&) = default;
};

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

  /// The (first) action with that key; kNothing when there is none.
  std::uint32_t find(Phase, std::uint32_t stage, std::int32_t microbatch) const;
  bool has(Phase phase, std::uint32_t stage, std::int32_t microbatch) const {
    return find(phase, stage, microbatch) != kNothing;
  }
  /// The backward of a stage that hands the gradient on: the whole one or the input's.
  std::uint32_t find_backward(std::uint32_t stage, std::int32_t microbatch) const;
  /// Actions whose data another one needs, of a pipeline of that many stages; kNothing where there
  /// are fewer than two.
  std::array<std::uint32_t, 2> needs(const Action&, int stages) const;

 private:
  std::vector<Action> actions_;
  std::vector<Line> lines_;
  std::vector<Entry> entries_;
};

}  // namespace trainyard
