// Turns what a run says while it goes on into the picture of its newest steps.
#pragma once

#include <map>
#include <vector>

#include "backends/cpu/live.h"
#include "visualizers/run/run_view.h"

namespace trainyard {

class LiveReader {
 public:
  /// The model must outlive it and have its prediction.
  explicit LiveReader(RunModel&);
  /// Whatever has happened since the last call, in any order between devices. Spans and waves are
  /// of the first device of each rank; the model's waves are of the newest step that is over. The
  /// step's time is the median of the newest 20: the lower of two.
  void take(const std::vector<LiveSpan>&, const std::vector<LiveMemory>&,
            const std::vector<LiveStep>&);
  /// Whether steps that begin from now on are shown alone (RunNow::alone); at first they are.
  void show_alone(bool alone) { alone_ = alone; }
  /// The newest step of which every span is known; empty before there is one. The model's waves
  /// are of the same.
  const std::vector<Span>& whole() const { return whole_; }

 private:
  void end_step(std::int32_t repetition);
  void show_spans(const std::vector<LiveSpan>&, std::int32_t repetition);
  void show_waves(Instant from, Instant to);
  void raise_waves(Instant from);

  RunModel& model_;
  bool alone_ = true;
  std::vector<std::int32_t> repetitions_;  // that the model's spans are of; -1: none
  std::vector<Span> whole_;
  std::vector<std::size_t> raised_;              // of memory_, in the waves of now
  std::map<std::int32_t, Instant> begin_;        // of the newest repetitions
  std::vector<std::vector<LiveMemory>> memory_;  // by rank, not shown yet; with the one before
  Instant last_step_{};
  std::vector<Duration> step_times_;  // of the newest steps
};

}  // namespace trainyard
