// The mean and the variance that the channels of a batch norm have had over the microbatches of a
// training run. Evaluation normalises by them, so that what a model says of a sample does not
// depend on the other samples of its batch. Ioffe and Szegedy, "Batch Normalization", ICML 2015.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace trainyard {

class RunningStatistics {
 public:
  /// Mean 0 and variance 1 of each channel.
  explicit RunningStatistics(std::size_t channels);

  /// Takes in what a microbatch had. Microbatches count by their number and not by when they come:
  /// one waits here for those before it, so that waves on one device leave the same numbers
  /// whoever is faster.
  void see(std::int32_t microbatch, std::vector<float> statistics);
  /// No other microbatch of this repetition of the program comes; numbers then begin at 0 again.
  void end_repetition();

  /// By channel: mean, variance.
  const std::vector<float>& values() const { return values_; }
  std::vector<float>& values() { return values_; }

 private:
  void take(const std::vector<float>& statistics);

  std::vector<float> values_;
  std::map<std::int32_t, std::vector<float>> waiting_;
  std::int32_t next_ = 0;
};

}  // namespace trainyard
