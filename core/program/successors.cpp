#include "core/program/successors.h"

namespace trainyard {

Successors::Successors(const Program& program)
    : first_(program.instructions.size() + 1, 0), list_(program.after.size()) {
  for (const InstructionId id : program.after) ++first_[id.value + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& in = program.instructions[i];
    for (std::uint32_t k = 0; k < in.afters; ++k)
      list_[at[program.after[in.first_after + k].value]++] = i;
  }
}

}  // namespace trainyard
