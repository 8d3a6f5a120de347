// The weight versions of an order: what is wrong with them, and who waits for whom because of them.
// A part of check().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/program/action_index.h"

namespace trainyard {

/// An action and what is wrong with it, in one line.
struct VersionProblem {
  std::uint32_t action = 0;
  std::string sentence;
};

class VersionCheck {
 public:
  explicit VersionCheck(const ActionIndex&);

  /// Updates of a stage write 1, 2, 3 ... in the order of their lane; what is read has been
  /// written; no backward reads older weights than its forward; every gradient is applied. Waves
  /// that write the same version of a stage hold weights of their own.
  std::vector<VersionProblem> problems() const;
  /// Pairs (after, before): reads of another lane's version, and updates of a stage, which happen
  /// in the order of their versions. Meaningful when there are no problems.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits() const;

 private:
  // Who writes what, sorted. The wave counts only where waves hold weights of their own.
  struct Written {
    std::uint32_t stage = 0;
    std::int16_t wave = 0, version = 0;
    std::uint32_t action = 0;
    friend auto operator<=>(const Written&, const Written&) = default;
  };

  bool is_private(std::uint32_t stage) const;
  /// Writer of the version that an action reads (or of another one); kNothing when there is none.
  std::uint32_t writer(const Action&, int version) const;
  std::string problem_of_update(const Written&) const;
  std::string problem_of_read(std::uint32_t action) const;

  const ActionIndex& index_;
  std::vector<Written> written_;
  std::vector<bool> private_;             // by stage
  std::vector<std::uint32_t> line_;       // of an action: its lane
  std::vector<std::uint32_t> following_;  // of an action: the next update of its stage and lane
};

}  // namespace trainyard
