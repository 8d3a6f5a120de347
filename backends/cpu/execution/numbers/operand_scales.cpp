#include "backends/cpu/execution/numbers/operand_scales.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/processes.h"

namespace trainyard {

namespace {

using Sizes = std::vector<std::atomic<std::uint32_t>>;

void raise(std::atomic<std::uint32_t>& most, float size) {
  const auto bits = std::bit_cast<std::uint32_t>(size);
  std::uint32_t before = most.load(std::memory_order_relaxed);
  while (before < bits && !most.compare_exchange_weak(before, bits)) {
  }
}

std::string bytes_of(const Sizes& sizes) {
  std::string bytes(sizes.size() * sizeof(float), '\0');
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::uint32_t bits = sizes[i].load();
    std::memcpy(bytes.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return bytes;
}

float size_at(std::string_view bytes, std::size_t i) {
  float size = 0;
  std::memcpy(&size, bytes.data() + i * sizeof size, sizeof size);
  return size;
}

}  // namespace

float OperandScales::upcoming(std::size_t operand) const {
  float most = std::bit_cast<float>(seen_[operand].load());
  for (std::size_t step = 0; step < kSteps; ++step)
    if (step != steps_ % kSteps) most = std::max(most, history_[operand * kSteps + step]);
  return most;
}

void OperandScales::see(std::size_t operand, float size) { raise(seen_[operand], size); }

void OperandScales::see_next(std::size_t operand, float size) { raise(next_[operand], size); }

float OperandScales::next(std::size_t operand) const {
  return std::bit_cast<float>(next_[operand].load());
}

void OperandScales::begin_with(std::size_t operand, float size) {
  seen_[operand] = std::bit_cast<std::uint32_t>(size);
  if (steps_ == 0)
    known_[operand] = flex_.empty() ? size : kLargestMantissa * first_flex_step(size).step;
}

void OperandScales::see_all(Processes& processes) {
  for (const std::string& all : processes.all_gather(bytes_of(seen_) + bytes_of(next_)))
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      see(i, size_at(all, i));
      see_next(i, size_at(all, seen_.size() + i));
    }
}

void OperandScales::end_step() {
  for (std::size_t i = 0; i < seen_.size(); ++i)
    history_[i * kSteps + steps_ % kSteps] =
        std::bit_cast<float>(seen_[i].exchange(next_[i].exchange(0)));
  // An operand that nobody has seen, or that was all zeros, keeps its exponent.
  for (std::size_t i = 0; i < flex_.size(); ++i)
    if (const float size = history_[i * kSteps + steps_ % kSteps]; size > 0) flex_[i].see(size);
  ++steps_;
  find_known();
}

void OperandScales::find_known() {
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const auto first = history_.begin() + static_cast<std::ptrdiff_t>(i * kSteps);
    known_[i] = flex_.empty() ? *std::max_element(first, first + kSteps) : flex_[i].range();
  }
}

std::string OperandScales::state() const {
  std::string bytes(sizeof steps_ + history_.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), &steps_, sizeof steps_);
  // There is no history of scales for blocks, and then nothing to copy from.
  std::copy_n(reinterpret_cast<const char*>(history_.data()), history_.size() * sizeof(float),
              bytes.data() + sizeof steps_);
  bytes += bytes_of(seen_);
  for (const Autoflex& one : flex_) bytes += one.state();
  return bytes;
}

// States that were written before updates said what the next step has end with the history.
bool OperandScales::restore(std::string_view bytes) {
  if (!flex_.empty()) {
    const std::size_t each = flex_.front().state().size();
    if (bytes.size() < flex_.size() * each) return false;
    std::string_view exponents = bytes.substr(bytes.size() - flex_.size() * each);
    bytes.remove_suffix(exponents.size());
    for (Autoflex& one : flex_)
      if (!one.restore(exponents)) return false;
  }
  const std::size_t before = sizeof steps_ + history_.size() * sizeof(float);
  if (bytes.size() != before && bytes.size() != before + seen_.size() * sizeof(float)) return false;
  std::memcpy(&steps_, bytes.data(), sizeof steps_);
  std::copy_n(bytes.data() + sizeof steps_, history_.size() * sizeof(float),
              reinterpret_cast<char*>(history_.data()));
  for (std::size_t i = 0; i < seen_.size(); ++i)
    seen_[i] =
        bytes.size() == before ? 0 : std::bit_cast<std::uint32_t>(size_at(bytes.substr(before), i));
  find_known();
  return true;
}

}  // namespace trainyard
