// TimelineFacts are what rules are shown of a timeline, be it simulated, measured or recorded by
// another program's profiler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/timeline/breakdown.h"
#include "core/timeline/recorded_trace.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Times of one device: of a pipeline rank of a program, or of a process of a recorded trace.
struct DeviceTimes {
  int device = 0;
  std::string name;          // "device 2", "rank 3"
  std::vector<double> busy;  // by step: share of it in which the device computes or communicates
  double host_wait = 0;      // share of a step in which it waits for its host; 0 of recordings
};
/// Returns the share of a step in which the device is busy at most in `of_steps` of its steps: the
/// nearest rank of the percentile. busy must not be empty.
double share_of_steps(const DeviceTimes&, double of_steps);

struct DeviceBytes {
  int device = 0;
  std::string name;
  Bytes capacity{};  // 0 = not known
  Bytes most{};
  std::optional<Instant> most_at = {};
  std::vector<Bytes> step_peaks = {};  // by step; empty where the timeline is of one
  Bytes kept{};  // activations and messages that were there at the end and not at the beginning
};

struct TimelineFacts {
  bool simulated = false;
  std::vector<DeviceTimes> devices;
  std::vector<DeviceBytes> memory;
  std::vector<Duration> steps;         // as many as are known, in order
  std::vector<Instant> step_begins;    // of them in the timeline; empty where they are not in it
  std::optional<Duration> first_step;  // from the beginning of the run to its first step
  Duration step{}, input_wait{};  // of one step: its length, and as long as it waits for samples
  // Where a run was predicted: its step, and the range in which the prediction expects it.
  std::optional<Duration> predicted, predicted_low, predicted_high;
  // Updates by which gradients are older than the weights that they change; nothing where none are.
  std::optional<double> staleness;
};

/// `parts`: breakdowns() of the timeline, with what a step waits for samples. Memory is empty where
/// there are no waves. Predictions and staleness are not filled in.
TimelineFacts timeline_facts(const Timeline&, const std::vector<MemoryWave>&,
                             const std::vector<Breakdown>& parts, Bytes capacity);
/// Returns those of a recorded trace, by process: its marked steps without the first, or all of it
/// where none are marked.
TimelineFacts timeline_facts(const RecordedTrace&);

}  // namespace trainyard
