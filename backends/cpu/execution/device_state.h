// What one device holds while a run goes on: weights, gradients and optimizer state of its stages,
// and of every microbatch in flight what its layers keep. All of it lies in the device's arena, in
// the buffers that the program names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/execution/run_plan.h"
#include "backends/cpu/kernels/kernel.h"
#include "backends/cpu/memory/arena.h"

namespace trainyard {

/// One layer's part of a microbatch in flight.
struct LayerFlight {
  std::vector<Allocation> saved, transients;  // by index in the body
  Allocation gathered;                        // its parameters in full (ZeRO 3)
  Allocation unreduced, scattering;           // its gradients in full (ZeRO 2 and 3)
  Allocation arriving, arriving_gradient;     // the layer's input, the gradient of its output: on
                                              // the way
  const std::byte* lent = nullptr;  // the input, where the layer before keeps it as its output
};

/// One microbatch on one stage.
struct Flight {
  std::vector<LayerFlight> layers;
  Allocation output, gradient;      // messages to other devices: the stage's output, its input's
                                    // gradient
  const std::byte* lent = nullptr;  // the output, where the last layer keeps it
  int version = 0;                  // of the weights that its forward read
  int held = 0;                     // allocations
  std::vector<float> statistics;  // of a loss over a divided vocabulary, on their way to all ranks
};

/// Weights, or gradients, of a whole stage.
struct StageState {
  std::vector<Allocation> weights, gradients, optimizer;  // by wave where each has its own
  std::vector<Allocation> other;
  struct Older {
    Allocation weights;
    int version = -1;  // -1: nothing yet
  };
  std::vector<Older> older;
  int version = 0;                       // of `weights`
  std::vector<std::int32_t> reads_left;  // by version: instructions that still read it
  bool is_read(int of) const {
    return of >= 0 && static_cast<std::size_t>(of) < reads_left.size() &&
           reads_left[static_cast<std::size_t>(of)] > 0;
  }
  std::vector<std::int64_t> counts;              // by gradient set: microbatches in it
  std::vector<std::unique_ptr<Flight>> flights;  // by microbatch of the program
  std::vector<std::unique_ptr<Flight>> spare;
  // What an asynchronous rule makes of the newest weights; empty where it changes nothing.
  std::vector<float> ahead;            // what forwards read
  std::vector<float> rewound;          // what backwards read whose forward read an older version
  std::int64_t updates = 0;            // since the start of the run
  std::vector<std::int64_t> averaged;  // by wave: the cycle in which it last took the mean of all
};

class DeviceState {
 public:
  DeviceState(const RunPlan&, DeviceId, int peer, Bytes limit);

  const RunPlan& plan() const { return plan_; }
  DeviceId device() const { return device_; }
  int peer() const { return peer_; }
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }

  /// Of a place that this device holds.
  StageState& stage(std::size_t place) { return stages_[place]; }
  const StageState& stage(std::size_t place) const { return stages_[place]; }
  Flight& flight(std::size_t place, std::int32_t microbatch);
  bool in_flight(std::size_t place, std::int32_t microbatch) const;
  /// Nothing of the microbatch is held any more.
  void land(std::size_t place, std::int32_t microbatch);

  /// Takes the buffer that an instruction of this task allocates for the microbatch into its slot;
  /// what has arrived for it is renamed, not copied.
  void take(std::size_t place, std::int32_t microbatch, const Task&, BufferId);
  void give_back(std::size_t place, std::int32_t microbatch, const Task&, BufferId);

  /// The tensor where it lies; without data where it is not held.
  View view(std::size_t place, std::size_t layer, Flight&, const Operand&) const;

  Bytes scratch{};  // most that its kernels took

 private:
  Allocation& slot(std::size_t place, std::int32_t microbatch, const Task&, const Buffer&,
                   bool takes);
  bool adopt_arrived(std::size_t place, std::int32_t microbatch, BufferId, Allocation& into);

  const RunPlan& plan_;
  DeviceId device_;
  int peer_;
  Arena arena_;
  std::vector<StageState> stages_;  // by place; empty where another device holds it
};

}  // namespace trainyard
