// The options of a run on the CPU backend, and its results.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/cpu/live.h"
#include "core/timeline/timeline.h"

namespace trainyard {

enum class RunMode : std::uint8_t { VirtualTime, WallClock };

struct CpuOptions {
  RunMode mode = RunMode::VirtualTime;
  int threads = 0;       // WallClock: at most so many at once; 0 = as many as there are cores
  Bytes memory_limit{};  // of each device; 0 = the cluster's device memory
  double link_bytes_per_second = 0;               // WallClock: emulated; 0 = as fast as memory
  bool place_buffers = true;                      // planned addresses
  bool poison = false;                            // memory that holds nothing reads as no number
  bool record_timeline = true;                    // spans and memory events
  std::string checkpoint;                         // file; empty = none
  std::int64_t checkpoint_every = 0;              // updates; 0 = only at the end and when stopped
  bool resume = false;                            // from `checkpoint`, where it exists
  LiveSink* live = nullptr;                       // must have as many workers as devices
  std::function<Duration()> processor_time = {};  // VirtualTime: what kernels are charged by; empty
                                                  // = what the thread has had
  std::stop_token stop = {};                      // ends after the current step, with a checkpoint
  std::function<void(double)> progress = {};
};

/// A parameter tensor, whole, in 4-byte floats.
struct TrainedTensor {
  int layer = 0;  // of the model, counted over all blocks
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// What one device held.
struct DeviceMemory {
  DeviceId device;
  int peer = 0;
  Bytes most{}, reach{};  // held at once; highest address
  CategoryBytes most_by_category{};
  Bytes scratch{};  // of kernels, outside the arena
};

struct TrainingRun {
  std::vector<double> losses;             // by step, over all samples of it; resumed ones included
  std::vector<double> microbatch_losses;  // of the last repetition, as data count them
  std::vector<Duration> step_times;       // of this session's steps
  Timeline timeline;                      // of the repetition with the median time, peer 0
  std::vector<MemoryWave> waves;          // of that repetition, one a pipeline rank
  std::vector<DeviceMemory> memory;
  std::int64_t first_step = 0;  // > 0: resumed
  std::int64_t skipped = 0;     // updates that overflow skipped
  double gradient_norm = 0;     // of the last update; 0 = not asked for
  double samples_per_second = 0;
  bool stopped = false;
};

/// Mean loss and share of right answers; accuracy is negative where the model does not classify.
struct ModelEvaluation {
  double loss = 0, accuracy = -1;
  std::int64_t samples = 0;
};

}  // namespace trainyard
