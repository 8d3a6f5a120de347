// A DeviceState is what one device holds during a run: the weights, gradients and optimizer state
// of its stages, and what its layers keep of every microbatch in flight. All of it lies in the
// device's arena, in the buffers that the program names.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/execution/operator_cores.h"
#include "backends/cpu/execution/run_plan.h"
#include "backends/cpu/execution/state/running_statistics.h"
#include "backends/cpu/kernels/kernel.h"
#include "backends/cpu/memory/arena.h"
#include "backends/cpu/memory/host_arena.h"
#include "backends/cpu/memory/nvme_file.h"

namespace trainyard {

/// A tensor between the layer that made it and the op that takes it.
struct Arrival {
  Allocation held;
  const std::byte* lent = nullptr;  // instead, if it lies where its maker keeps it
};

/// A tensor that is kept in 8 or 4 bits, whose codes lie where the program keeps it.
struct NarrowCopy {
  std::vector<std::byte> wide;  // as its op writes it and forward reads it; the ledger has it not,
                                // because a device casts it before it reaches memory
  std::vector<float> scales;    // empty: it has no codes yet
};

/// What one layer holds for a microbatch in flight.
struct LayerFlight {
  std::vector<Allocation> saved, transients;  // by index in the body
  std::vector<NarrowCopy> narrow;             // by index in the body's saved
  Allocation gathered;                        // its full parameters (ZeRO 3)
  Allocation unreduced, scattering;           // its full gradients (ZeRO 2 and 3)
  Arrival input, side;                        // from the layer before
  Arrival output_gradient, side_gradient;     // from the layer after
  std::vector<std::byte> unpacked;  // a message of two tensors, between it and their places
  Routing routing;                  // a few bytes a copy of a token, which the ledger does not have
  std::vector<std::byte> received;  // copies of tokens between their arrival and its end
  // Keys and values of the whole sequence while attention reads them, and what it makes of their
  // gradients; the ledger has this rank's own, because a ring holds no more for long.
  std::array<std::vector<std::byte>, 2> round, round_gradients;
  // The means of norms of which ranks have parts of the rows or samples, by node; 4 or 8 bytes a
  // row or channel, which the ledger does not have.
  std::map<std::uint32_t, NormMeans> norm_means;
  // Holds the output of attention for some heads of all tokens, until ranks exchange it for all
  // heads of some tokens.
  std::vector<std::byte> output_of_heads;
};

/// A buffer of which the host has the content.
struct LeftBuffer {
  BufferId buffer;
  Bytes bytes{};
  std::byte* at = nullptr;  // in the memory of the host
};

/// What one stage holds for a microbatch in flight.
struct Flight {
  std::vector<LayerFlight> layers;
  // Messages to other devices: the stage's output, and the gradient of its input.
  Allocation output, gradient;
  // The output and the side input, if the last layer keeps them; `side`, if it does not.
  const std::byte *lent = nullptr, *lent_side = nullptr;
  Allocation side;
  int version = 0;               // version of the weights that its forward read
  int held = 0;                  // number of allocations
  std::vector<LeftBuffer> left;  // what the host keeps of it
  // Statistics of a loss over a divided vocabulary, on their way to all ranks.
  std::vector<float> statistics;
  std::map<std::uint32_t, float> added_losses;     // by tensor, where the model's loss is a sum of
                                                   // them
  const std::vector<LayerSizes>* sizes = nullptr;  // its own, by layout; null: of whole sequences
};

/// The weights, gradients and optimizer state of a whole stage.
struct StageState {
  std::vector<Allocation> weights, gradients, optimizer;  // by wave, if each has its own
  // Where the host updates (offload), what it has of them: the part that this device updates, as
  // optimizer state lies, which is on the host too.
  std::vector<Allocation> host_weights, host_gradients;
  // Where weights are rounded from a master copy: those on their way up. The ledger has them not,
  // because a host rounds them as it copies them.
  std::vector<std::byte> host_cast;
  Allocation gathered;  // full weights, if they stay
  std::vector<Allocation> other;
  struct Older {
    Allocation weights;
    int version = -1;  // -1: empty
  };
  std::vector<Older> older;
  int version = 0;                       // version of `weights`
  std::vector<std::int32_t> reads_left;  // by version: number of instructions yet to read it
  bool is_read(int of) const {
    return of >= 0 && static_cast<std::size_t>(of) < reads_left.size() &&
           reads_left[static_cast<std::size_t>(of)] > 0;
  }
  std::vector<std::int64_t> counts;              // by gradient set: number of microbatches in it
  std::vector<std::unique_ptr<Flight>> flights;  // by microbatch of the program
  std::vector<std::unique_ptr<Flight>> spare;
  std::vector<std::int64_t> updates;  // by set of optimizer state: number since the run's start
  // Batch norms remember these, by layer of the stage and node. The ledger leaves out their 8 bytes
  // a channel.
  std::map<std::pair<std::size_t, std::uint32_t>, RunningStatistics> statistics;
  // Where weights in 8 bits have a scale for each tile, these have by parameter the largest size in
  // each tile, of all of the tensor rank's part and of what this device has updated of it. The
  // ledger leaves out their 4 bytes for a tile.
  std::vector<std::vector<float>> tiles, own_tiles;
  /// The gradients that updates take.
  std::vector<Allocation>& to_update() {
    return host_gradients.empty() ? gradients : host_gradients;
  }
};

class DeviceState {
 public:
  /// jobs: so many that the program trains at once share the limit; what one holds lies in its own
  /// copy of the arena, at the places of the first (backends/cpu/fused.h).
  DeviceState(const RunPlan&, DeviceId, int peer, Bytes limit, int jobs = 1);

  const RunPlan& plan() const { return plan_; }
  DeviceId device() const { return device_; }
  int peer() const { return peer_; }
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  HostArena& host() { return host_; }
  const HostArena& host() const { return host_; }

  /// Takes the buffers in host memory through which state on NVMe passes, and makes the file that
  /// has it; does nothing the second time. Throws as NvmeFile does.
  void hold_on_nvme();
  /// Null unless hold_on_nvme() was called.
  NvmeFile* nvme() { return nvme_.get(); }
  const NvmeFile* nvme() const { return nvme_.get(); }
  /// The buffer of a layer with state on NVMe, of RunPlan::state_buffers[device].each bytes.
  std::byte* buffer_of(const PlacedLayer& layer) const {
    return nvme_buffers_[layer.on_nvme % nvme_buffers_.size()];
  }

  /// The stage at a place that this device holds.
  StageState& stage(std::size_t place) { return stages_[place]; }
  const StageState& stage(std::size_t place) const { return stages_[place]; }
  Flight& flight(std::size_t place, std::int32_t microbatch);
  bool in_flight(std::size_t place, std::int32_t microbatch) const;
  /// Ends the flight: nothing of the microbatch is held any more.
  void land(std::size_t place, std::int32_t microbatch);

  /// Calls f(distance) for every job, with how far its bytes lie behind the first one's.
  template <class F>
  void each_job(F&& f) const {
    for (int job = 0; job < arena_.copies(); ++job) f(job * arena_.stride());
  }

  /// Takes the buffer that an instruction of this task allocates for the microbatch into its slot;
  /// data that has arrived for it is renamed, not copied.
  void take(std::size_t place, std::int32_t microbatch, const Task&, BufferId);
  void give_back(std::size_t place, std::int32_t microbatch, const Task&, BufferId);

  /// Copies to the host what the task is going to release.
  void copy_to_host(std::size_t place, std::int32_t microbatch, const Task&);
  /// Copies back from the host into what the task has allocated; leave_host() then ends its copy
  /// there.
  void copy_from_host(std::size_t place, std::int32_t microbatch, const Task&);
  void leave_host(std::size_t place, std::int32_t microbatch, const Task&);

  /// Moves the copies of tokens that came to this device's experts to their place, which has room
  /// for them from then on, or for as many as are planned if that is more.
  void receive(const Operand& to, LayerFlight&, const LayerLayout&);
  /// The tensor, as many rows of it as there are at this device's experts.
  TensorView at_experts(TensorView, const LayerFlight&) const;

  /// Exchanges the places of two allocations of equal size: each keeps its buffer.
  void exchange(Allocation&, Allocation&);

  /// Sets the sizes of a microbatch that is not of whole sequences, by layout; they are not owned.
  void set_sizes(std::int32_t microbatch, const std::vector<LayerSizes>&);
  /// The sizes of a layer's tensors in a microbatch, or in its flight.
  const LayerSizes& sizes(std::size_t place, std::size_t layer, std::int32_t microbatch) const;
  const LayerSizes& sizes(std::size_t place, std::size_t layer, const Flight&) const;

  /// The tensor at its address; without data if it is not held.
  TensorView view(std::size_t place, std::size_t layer, Flight&, const Operand&) const;

  Bytes scratch{};  // the most that its kernels took
  double load = 0;  // the most copies of tokens that came to its experts, over an equal share
  // Copies that its routers have made, and those of them that found no place at their expert.
  std::int64_t copies = 0, dropped = 0;
  PreparedKernels prepared;              // of its passes
  std::unique_ptr<OperatorCores> cores;  // null where its operators run one after another

 private:
  /// Makes the allocation at least that large; the numbers in it are lost.
  void make_room(Allocation&, Bytes bytes);
  /// Returns whether the buffer is of a gradient to which input passes add (is_late_gradient()).
  bool is_late(std::size_t place, const Buffer&) const;
  /// Returns the bytes of the tensor in the format in which products read it.
  Bytes kept_narrow(const TensorView&) const;
  Allocation& slot(std::size_t place, std::int32_t microbatch, const Task&, const Buffer&,
                   bool takes);
  /// Returns what the host has of the buffer.
  std::vector<LeftBuffer>::iterator left_of(Flight&, BufferId);
  Bytes needed(std::size_t place, std::int32_t microbatch, const Task&, const Buffer&);
  bool adopt_arrived(std::size_t place, std::int32_t microbatch, BufferId, Allocation& into);
  void unpack(Flight&, LayerFlight&, const LayerLayout&);
  void begin_side_gradient(Flight&, LayerFlight&, const LayerLayout&, Allocation& into);

  const RunPlan& plan_;
  DeviceId device_;
  int peer_;
  Arena arena_;
  HostArena host_;
  std::unique_ptr<NvmeFile> nvme_;
  std::vector<std::byte*> nvme_buffers_;
  std::vector<StageState> stages_;                     // by place; empty if another device holds it
  std::vector<const std::vector<LayerSizes>*> sizes_;  // by microbatch; empty where all are whole
};

}  // namespace trainyard
