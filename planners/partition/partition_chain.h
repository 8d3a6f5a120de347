// A PartitionChain is a PartitionProblem, for one order of its devices, stored as prefix sums, so
// that the cost of a stage is a difference of two sums. The partitioner's inner loops read it.
#pragma once

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "planners/partition/partition_problem.h"

namespace trainyard {

/// Throws Error{InvalidInput} as partition() does.
void check_chain(const PartitionProblem&);

class PartitionChain {
 public:
  using Ticks = std::int64_t;  // nanoseconds
  static constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;

  /// A stage holds the layers from where it begins up to `end`, exclusive.
  struct Stage {
    std::size_t end = 0, devices = 1;
    Ticks pace = 0, latency = 0;
    std::int64_t needed = 0, missing = 0;  // bytes, on the device with the least memory
  };

  /// The problem must be one that check_chain() accepts.
  PartitionChain(const PartitionProblem&, const std::vector<int>& order);

  std::size_t layers() const { return layers_; }
  std::size_t devices() const { return devices_.size(); }
  std::size_t replicas() const { return replicas_; }
  bool shared() const { return replicas_ > 1; }
  std::size_t fewest_stages(std::size_t devices) const {
    return (devices + replicas_ - 1) / replicas_;
  }
  /// Returns the same chain with unlimited device memory.
  PartitionChain without_memory() const;
  /// A lower bound of the bottleneck: what it would be if every device ran each layer as fast as
  /// the fastest one, and messages and memory were free. If stages may be shared, it also lets
  /// layers be cut.
  Ticks least_pace() const;
  /// A lower bound of the latency.
  Ticks least_latency() const;
  /// A half-open range of layers. starts() returns the layers at which the last `devices` devices
  /// can begin, such that the layers before and behind can take no longer than the limit on any
  /// device, however they are cut.
  struct Range {
    std::size_t from = 0, to = 0;
  };
  Range starts(std::size_t devices, Ticks limit) const;
  /// Every pace in (above, most] that some stage has, ascending.
  std::vector<Ticks> paces(Ticks above, Ticks most) const;

  /// Calls use(Stage) for every stage that begins at `layer`, is the first of `stages` stages on
  /// the last `devices` devices, fits in memory and has a pace within the limit.
  template <class Use>
  void each_stage(std::size_t stages, std::size_t devices, std::size_t layer, Ticks limit,
                  const Use& use) const;

 private:
  // The owners of a stage: a half-open range of device places, and the number of stages behind it.
  struct Owners {
    std::size_t first = 0, end = 1, behind = 0;
    std::size_t count() const { return end - first; }
  };
  Ticks compute(const Owners&, std::size_t from, std::size_t to) const;  // on the slowest owner
  Ticks message(std::size_t layer, std::size_t link) const;              // one way
  Stage stage(const Owners&, std::size_t from, std::size_t to, Ticks compute,
              std::int64_t workspace) const;

  std::size_t layers_ = 0, replicas_ = 1;
  bool blocking_ = true, limited_ = true;
  std::vector<std::uint32_t> kind_;          // of each layer
  std::vector<std::int64_t> workspace_;      // by kind
  std::vector<std::vector<Ticks>> message_;  // by link and kind
  std::vector<std::vector<Ticks>> time_;     // prefix sums, by device class
  std::vector<Ticks> fastest_;               // prefix sums, each layer on its fastest device
  std::vector<std::int64_t> state_, activations_, gradients_;  // prefix sums
  std::vector<int> devices_;                                   // class, by place
  std::vector<std::int64_t> memory_;                           // by place
  std::vector<std::int64_t> live_;                             // by number of stages behind
  double reduce_bandwidth_ = 0;
  std::int64_t accumulated_ = 1;
};

template <class Use>
void PartitionChain::each_stage(std::size_t stages, std::size_t devices, std::size_t layer,
                                Ticks limit, const Use& use) const {
  const std::size_t behind = stages - 1, first = devices_.size() - devices;
  for (std::size_t count = 1; count <= std::min(replicas_, devices); ++count) {
    if (behind > devices - count || fewest_stages(devices - count) > behind) continue;
    const Owners owners{first, first + count, behind};
    // The last stage takes the rest of the chain; any other leaves a layer for each stage behind
    // it.
    const std::size_t shortest = behind == 0 ? layers_ : layer + 1, longest = layers_ - behind;
    std::int64_t workspace = 0;
    for (std::size_t l = layer; l < shortest; ++l)
      workspace = std::max(workspace, workspace_[kind_[l]]);
    for (std::size_t end = shortest; end <= longest; ++end) {
      workspace = std::max(workspace, workspace_[kind_[end - 1]]);
      const Ticks computed = compute(owners, layer, end);
      // A longer stage computes for longer and needs more memory, so neither can improve again.
      if (computed / static_cast<Ticks>(count) > limit) break;
      const Stage s = stage(owners, layer, end, computed, workspace);
      if (limited_ && s.missing > 0) break;
      if (s.pace <= limit) use(s);
    }
  }
}

}  // namespace trainyard
