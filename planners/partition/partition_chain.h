// A PartitionProblem in one order of its devices as sums from the front: what a stage costs is a
// difference of two of them. What the partitioner's inner loops read.
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

  /// Layers from where it begins to `end`, half-open.
  struct Stage {
    std::size_t end = 0, devices = 1;
    Ticks pace = 0, latency = 0;
    std::int64_t needed = 0, missing = 0;  // bytes, of the device with the least memory
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
  /// The same chain, whatever memory devices have.
  PartitionChain without_memory() const;
  /// No bottleneck is shorter: what it would be if every device were the fastest for each layer,
  /// and messages and memory free; of shared stages, with layers that can be cut.
  Ticks least_pace() const;
  /// No latency is shorter.
  Ticks least_latency() const;
  /// Half-open range of layers at which the last so many devices can begin: what is before and
  /// behind takes no longer than the limit on each device, however it is cut.
  struct Range {
    std::size_t from = 0, to = 0;
  };
  Range starts(std::size_t devices, Ticks limit) const;
  /// Every pace above the one and up to the other that some stage has, rising.
  std::vector<Ticks> paces(Ticks above, Ticks most) const;

  /// Calls use(Stage) for every stage that begins at the layer, is the first of so many stages on
  /// the last so many devices, fits and has a pace within the limit.
  template <class Use>
  void each_stage(std::size_t stages, std::size_t devices, std::size_t layer, Ticks limit,
                  const Use& use) const;

 private:
  // Who has a stage: devices by place, half-open, and the stages behind it.
  struct Owners {
    std::size_t first = 0, end = 1, behind = 0;
    std::size_t count() const { return end - first; }
  };
  Ticks compute(const Owners&, std::size_t from, std::size_t to) const;  // of the slowest
  Ticks message(std::size_t layer, std::size_t link) const;  // the layer's output, one way
  Stage stage(const Owners&, std::size_t from, std::size_t to, Ticks compute,
              std::int64_t workspace) const;

  std::size_t layers_ = 0, replicas_ = 1;
  bool blocking_ = true, limited_ = true;
  std::vector<std::uint32_t> kind_;          // of each layer
  std::vector<std::int64_t> workspace_;      // by kind
  std::vector<std::vector<Ticks>> message_;  // by link and kind
  std::vector<std::vector<Ticks>> time_;     // sums from the front, by class
  std::vector<Ticks> fastest_;               // sums, each layer where it is fastest
  std::vector<std::int64_t> state_, activations_, gradients_;  // sums
  std::vector<int> devices_;                                   // class, by place
  std::vector<std::int64_t> memory_;                           // by place
  std::vector<std::int64_t> live_;                             // by stages behind
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
    // The last stage has the rest of the chain; others leave a layer for each stage behind.
    const std::size_t shortest = behind == 0 ? layers_ : layer + 1, longest = layers_ - behind;
    std::int64_t workspace = 0;
    for (std::size_t l = layer; l < shortest; ++l)
      workspace = std::max(workspace, workspace_[kind_[l]]);
    for (std::size_t end = shortest; end <= longest; ++end) {
      workspace = std::max(workspace, workspace_[kind_[end - 1]]);
      const Ticks computed = compute(owners, layer, end);
      // Longer ones compute longer and need more.
      if (computed / static_cast<Ticks>(count) > limit) break;
      const Stage s = stage(owners, layer, end, computed, workspace);
      if (limited_ && s.missing > 0) break;
      if (s.pace <= limit) use(s);
    }
  }
}

}  // namespace trainyard
