#include "backends/cpu/execution/running_statistics.h"

#include <cstddef>
#include <utility>

namespace trainyard {
namespace {

constexpr float kNewest = 0.1f;  // the weight of a microbatch beside all before it, as in PyTorch

}  // namespace

RunningStatistics::RunningStatistics(std::size_t channels) : values_(2 * channels, 0.0f) {
  for (std::size_t c = 0; c < channels; ++c) values_[2 * c + 1] = 1;
}

void RunningStatistics::take(const std::vector<float>& statistics) {
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] += kNewest * (statistics[i] - values_[i]);
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
