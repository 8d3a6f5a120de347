// The mean and the variance that the channels of a batch norm have had over the microbatches of a
// training run. Evaluation normalises by them, so that what a model says of a sample does not
// depend on the other samples of its batch. Ioffe and Szegedy, "Batch Normalization", ICML 2015.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace trainyard {

class RunningStatistics {
 public:
  /// Mean 0 and variance 1 of each channel, which the first microbatch replaces. The first few
  /// count equally, so that short runs are not judged by these; from then on the newest counts a
  /// tenth.
  explicit RunningStatistics(std::size_t channels);

  /// Takes in what a microbatch had. Microbatches count by their number and not by when they come:
  /// one waits here for those before it, so that waves on one device leave the same numbers
  /// whoever is faster.
  void see(std::int32_t microbatch, std::vector<float> statistics);
  /// No other microbatch of this repetition of the program comes; numbers then begin at 0 again.
  void end_repetition();

  /// Returns the mean and the variance of each channel, side by side.
  std::span<const float> values() const { return std::span(state_).first(state_.size() - 1); }
  /// Returns what a checkpoint keeps and processes exchange. Its size does not change.
  std::span<float> state() { return state_; }

 private:
  void take(const std::vector<float>& statistics);

  std::vector<float> state_;  // the values, then how many microbatches they are of
  std::map<std::int32_t, std::vector<float>> waiting_;
  std::int32_t next_ = 0;
};

}  // namespace trainyard
