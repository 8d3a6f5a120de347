// Checks the weight versions of an order, and finds which actions wait for each other because of
// them. It is a part of check().
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/program/action_index.h"

namespace trainyard {

/// An action and its error, in one line.
struct VersionProblem {
  std::uint32_t action = 0;
  std::string sentence;
};

class VersionCheck {
 public:
  explicit VersionCheck(const ActionIndex&);

  /// Updates of a stage must write 1, 2, 3 ... in the order of their lane; only written versions
  /// may be read; no backward may read older weights than its forward; every gradient must be
  /// applied. Waves that write the same version of a stage hold weights of their own.
  std::vector<VersionProblem> problems() const;
  /// Pairs (after, before): reads of another lane's version, and updates of a stage, which happen
  /// in the order of their versions. Only meaningful if there are no problems.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits() const;

 private:
  // The written versions, sorted. The wave only matters if waves hold weights of their own.
  struct Written {
    std::uint32_t stage = 0;
    std::int16_t wave = 0, version = 0;
    std::uint32_t action = 0;
    friend auto operator<=>(const Written&, const Written&) = default;
  };

  bool is_private(std::uint32_t stage) const;
  /// The update that writes `version` for the action; kNothing if there is none.
  std::uint32_t writer(const Action&, int version) const;
  std::string problem_of_update(const Written&) const;
  std::string problem_of_read(std::uint32_t action) const;

  const ActionIndex& index_;
  std::vector<Written> written_;
  std::vector<bool> private_;             // by stage
  std::vector<std::uint32_t> line_;       // by action: its lane
  std::vector<std::uint32_t> following_;  // by action: the next update of its stage and lane
};

}  // namespace trainyard
