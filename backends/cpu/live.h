// Live events report a run while it goes on: spans, memory and losses, through lock-free queues
// with one writer and one reader each. A slow reader loses events, which are counted, and never
// delays the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// One completed instruction on one device. Times are since the start of the run, in the clock of
/// its mode.
struct LiveSpan {
  InstructionId instruction;
  std::int32_t repetition = 0;  // index of the pass through the program
  std::int32_t peer = 0;        // index of the device behind the pipeline rank
  Span span{};
};
struct LiveMemory {
  DeviceId device;
  std::int32_t peer = 0;
  Instant at{};
  CategoryBytes bytes{};
};
/// A ratio of each layer of the model (core/training/optimizers/layer_ratios.h); null where the
/// plan has none.
using LiveRatios = std::shared_ptr<const std::vector<double>>;
/// Reported after every update of the whole model.
struct LiveStep {
  std::int64_t step = 0;                               // updates done so far
  std::int64_t batch = 0;                              // samples of the step
  double loss = 0;                                     // mean over the step's samples
  double rate = 0, gradient_norm = 0, loss_scale = 0;  // 0 = does not apply
  bool skipped = false;                                // whether its gradients had overflowed
  Instant at{};
  LiveRatios orthogonality = {}, energy_sent = {};  // of this step (backends/backend.h)
};

/// A queue with one writer and one reader. push() never blocks and never allocates.
template <class T>
class LiveQueue {
 public:
  /// The capacity must be a power of two.
  explicit LiveQueue(std::size_t capacity) : slots_(capacity) {}
  /// Returns false, and counts the value as lost, if the queue is full.
  bool push(T value) {
    const std::size_t write = write_.load(std::memory_order_relaxed);
    if (write - read_.load(std::memory_order_acquire) == slots_.size()) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    slots_[write & (slots_.size() - 1)] = std::move(value);
    write_.store(write + 1, std::memory_order_release);
    return true;
  }
  /// Appends all available values and returns their number.
  std::size_t drain(std::vector<T>& into) {
    const std::size_t read = read_.load(std::memory_order_relaxed);
    const std::size_t write = write_.load(std::memory_order_acquire);
    for (std::size_t i = read; i != write; ++i)
      into.push_back(std::move(slots_[i & (slots_.size() - 1)]));
    read_.store(write, std::memory_order_release);
    return write - read;
  }
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  std::vector<T> slots_;
  alignas(64) std::atomic<std::size_t> write_{0};
  alignas(64) std::atomic<std::size_t> read_{0};
  std::atomic<std::uint64_t> lost_{0};
};

/// All queues of a run: one of each kind per worker, so that every queue has one writer.
class LiveSink {
 public:
  explicit LiveSink(int workers, std::size_t capacity = std::size_t{1} << 16);
  int workers() const { return static_cast<int>(spans_.size()); }
  LiveQueue<LiveSpan>& spans(int worker) { return *spans_[static_cast<std::size_t>(worker)]; }
  LiveQueue<LiveMemory>& memory(int worker) { return *memory_[static_cast<std::size_t>(worker)]; }
  LiveQueue<LiveStep>& steps() { return steps_; }  // written by the worker that ends a step

  /// Drains the queues of all workers, in no particular order among workers. Must be called from
  /// one thread.
  void drain(std::vector<LiveSpan>&, std::vector<LiveMemory>&, std::vector<LiveStep>&);
  std::uint64_t lost() const;

 private:
  std::vector<std::unique_ptr<LiveQueue<LiveSpan>>> spans_;
  std::vector<std::unique_ptr<LiveQueue<LiveMemory>>> memory_;
  LiveQueue<LiveStep> steps_{1 << 14};
};

}  // namespace trainyard
