#include "backends/cpu/execution/operand_scales.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/processes.h"

namespace trainyard {

void OperandScales::see(std::size_t operand, float size) {
  const auto bits = std::bit_cast<std::uint32_t>(size);
  std::uint32_t before = seen_[operand].load(std::memory_order_relaxed);
  while (before < bits && !seen_[operand].compare_exchange_weak(before, bits)) {
  }
}

void OperandScales::see_all(Processes& processes) {
  std::string mine(seen_.size() * sizeof(float), '\0');
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const float size = std::bit_cast<float>(seen_[i].load());
    std::memcpy(mine.data() + i * sizeof(float), &size, sizeof size);
  }
  for (const std::string& all : processes.all_gather(mine))
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      float size = 0;
      std::memcpy(&size, all.data() + i * sizeof(float), sizeof size);
      see(i, size);
    }
}

void OperandScales::end_step() {
  for (std::size_t i = 0; i < seen_.size(); ++i)
    history_[i * kSteps + steps_ % kSteps] = std::bit_cast<float>(seen_[i].exchange(0));
  ++steps_;
  find_known();
}

void OperandScales::find_known() {
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const auto first = history_.begin() + static_cast<std::ptrdiff_t>(i * kSteps);
    known_[i] = *std::max_element(first, first + kSteps);
  }
}

std::string OperandScales::state() const {
  std::string bytes(sizeof steps_ + history_.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), &steps_, sizeof steps_);
  std::memcpy(bytes.data() + sizeof steps_, history_.data(), history_.size() * sizeof(float));
  return bytes;
}

bool OperandScales::restore(std::string_view bytes) {
  if (bytes.size() != sizeof steps_ + history_.size() * sizeof(float)) return false;
  std::memcpy(&steps_, bytes.data(), sizeof steps_);
  std::memcpy(history_.data(), bytes.data() + sizeof steps_, history_.size() * sizeof(float));
  find_known();
  return true;
}

}  // namespace trainyard
