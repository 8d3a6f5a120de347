// Who waits for whom, the other way round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/program/program.h"

namespace trainyard {

/// The instructions that wait for each instruction of a program (Program::after), as one table.
class Successors {
 public:
  explicit Successors(const Program&);
  /// In the order of their ids.
  std::span<const std::uint32_t> of(std::uint32_t instruction) const {
    return {list_.data() + first_[instruction], first_[instruction + 1] - first_[instruction]};
  }

 private:
  std::vector<std::uint32_t> first_, list_;
};

}  // namespace trainyard
