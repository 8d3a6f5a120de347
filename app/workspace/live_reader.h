// Turns what a run says while it goes on into the picture of its newest steps.
#pragma once

#include <map>
#include <vector>

#include "backends/cpu/live.h"
#include "visualizers/run_view.h"

namespace trainyard {

class LiveReader {
 public:
  /// The model must outlive it and have its prediction.
  explicit LiveReader(RunModel&);
  /// Whatever has happened since the last call, in any order between devices. Spans and waves are
  /// of the first device of each rank; a wave is shown once its step is over. The step's time is
  /// the median of the newest 20: the lower of two.
  void take(const std::vector<LiveSpan>&, const std::vector<LiveMemory>&,
            const std::vector<LiveStep>&);

 private:
  void show_spans(const std::vector<LiveSpan>&, std::int32_t repetition);
  void show_waves(Instant from, Instant to);

  RunModel& model_;
  std::map<std::int32_t, Instant> begin_;        // of the newest repetitions
  std::vector<std::vector<LiveMemory>> memory_;  // by rank, not shown yet; with the one before
  Instant last_step_{};
  std::vector<Duration> step_times_;  // of the newest steps
};

}  // namespace trainyard
