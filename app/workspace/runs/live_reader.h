// A LiveReader turns the live events of a run into the picture of its newest steps.
#pragma once

#include <map>
#include <vector>

#include "backends/cpu/live.h"
#include "visualizers/run/run_view.h"

namespace trainyard {

class LiveReader {
 public:
  /// The model must outlive the reader and contain the prediction.
  explicit LiveReader(RunModel&);
  /// Takes all events since the last call, in any order between devices. Spans and waves are those
  /// of the first device of each rank; the model's waves are those of the newest complete step. The
  /// step's time is the lower median of the newest 20.
  void take(const std::vector<LiveSpan>&, const std::vector<LiveMemory>&,
            const std::vector<LiveStep>&);
  /// Sets whether steps that begin from now on are shown alone (RunNow::alone); true at first.
  void show_alone(bool alone) { alone_ = alone; }
  /// The newest step of which every span is known; empty before there is one. The model's waves
  /// belong to the same step.
  const std::vector<Span>& whole() const { return whole_; }

 private:
  void end_step(std::int32_t repetition);
  void show_spans(const std::vector<LiveSpan>&, std::int32_t repetition);
  void show_waves(Instant from, Instant to);
  void raise_waves(Instant from);

  RunModel& model_;
  bool alone_ = true;
  std::vector<std::int32_t> repetitions_;  // repetition of each of the model's spans; -1: none
  std::vector<Span> whole_;
  std::vector<std::size_t> raised_;              // highest index of memory_ in the current waves
  std::map<std::int32_t, Instant> begin_;        // start times of the newest repetitions
  std::vector<std::vector<LiveMemory>> memory_;  // by rank: events not shown yet, and one before
  Instant last_step_{};
  std::vector<Duration> step_times_;  // of the newest steps
};

}  // namespace trainyard
