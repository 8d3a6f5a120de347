// How a run is executed on this machine, beyond what every backend is told (backends/backend.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/cpu/live.h"
#include "core/cost/kernels/kernel_variants.h"
#include "core/timeline/timeline.h"

namespace trainyard {

struct Checkpoint;
class NumberRecord;
class Processes;
class RuleRun;
class SpanRecorder;

enum class RunMode : std::uint8_t { VirtualTime, WallClock };

struct CpuOptions {
  RunMode mode = RunMode::VirtualTime;
  int threads = 0;       // WallClock: at most so many at once; 0 = as many as there are cores
  Bytes memory_limit{};  // of each device; 0 = the cluster's device memory
  double link_bytes_per_second = 0;   // WallClock: emulated; 0 = as fast as memory
  bool place_buffers = true;          // planned addresses
  bool poison = false;                // memory that holds nothing reads as no number
  bool record_timeline = true;        // spans and memory events
  std::string checkpoint;             // file; empty = none
  std::int64_t checkpoint_every = 0;  // updates; 0 = only at the end and when stopped
  bool resume = false;                // from `checkpoint`, where it exists
  // The following are of a phase of a longer run (backends/ramped.h).
  std::shared_ptr<const Checkpoint> from = {};  // goes on from here; null = from the beginning
  std::int64_t until = 0;  // ends after so many updates; 0 = after all of the training
  std::uint64_t checkpoint_program = 0;  // the digest that checkpoints state; 0 = the program's own
  std::string batch_ramp = {};           // of the plan, as checkpoints state it; empty = none
  Instant begin{};                       // of the phase, in the time of its run
  LiveSink* live = nullptr;              // must have as many workers as devices
  Processes* processes = nullptr;        // WallClock: which share the devices; null = none
  std::function<Duration()> processor_time = {};  // VirtualTime: what kernels are charged by; empty
                                                  // = what the thread has had
  // Chooses the way of kernels that can go several; null: their usual way. Ways differ in rounding.
  std::shared_ptr<const VariantChooser> variants = {};
  // Watches the run (core/rules/rule_run.h); the phases of one run share it. Null: nothing does.
  std::shared_ptr<RuleRun> rules = {};
  // Notes what threads do (core/timeline/span_recorder.h). It must outlive the run and finish
  // before the backend ends, whose names it refers to. Null: nobody does.
  SpanRecorder* spans = nullptr;
  // Told how the run's numbers lie in their formats (core/training/numbers/number_record.h), where
  // steps update all weights together; phases share it. Null: nobody is.
  std::shared_ptr<NumberRecord> numbers = {};
};

/// The mean loss and the fraction of correct answers, or the mean return of a model that acts.
struct ModelEvaluation {
  double loss = 0;                         // no number if the model acts
  double accuracy = -1;                    // negative if the model does not classify
  std::int64_t samples = 0;                // episodes if it acts
  std::optional<double> mean_return = {};  // nothing if it does not act
  Duration time{};  // processor time of the evaluator that took longest; 0 if the model acts
};

}  // namespace trainyard
