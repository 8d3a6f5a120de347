#include "backends/cpu/execution/state/running_statistics.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trainyard {
namespace {

constexpr float kRemembered = 10;  // microbatches, as PyTorch's momentum of 0.1

}  // namespace

RunningStatistics::RunningStatistics(std::size_t channels) : state_(2 * channels + 1, 0.0f) {
  for (std::size_t c = 0; c < channels; ++c) state_[2 * c + 1] = 1;
}

void RunningStatistics::take(const std::vector<float>& statistics) {
  float& seen = state_.back();
  seen = std::min(kRemembered, seen + 1);
  for (std::size_t i = 0; i + 1 < state_.size(); ++i)
    state_[i] += (statistics[i] - state_[i]) / seen;
}

void RunningStatistics::see(std::int32_t microbatch, std::vector<float> statistics) {
  waiting_.emplace(microbatch, std::move(statistics));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
       first = waiting_.erase(first), ++next_)
    take(first->second);
}

// A copy of a stage that works on some of the microbatches only has waited for the others.
void RunningStatistics::end_repetition() {
  for (const auto& [microbatch, statistics] : waiting_) take(statistics);
  waiting_.clear();
  next_ = 0;
}

}  // namespace trainyard
