// A fused run trains many jobs that are alike as one program: the jobs of a sweep, which have one
// model and one plan and differ in rate, decay, momentum, clipping, seed and data. Horizontally
// fused training arrays: Wang et al., "Horizontally Fused Training Array: An Effective Hardware
// Utilization Squeezer for Training Novel Deep Learning Models", MLSys 2021.
//
// The array dimension is in memory, and not in the graph. What a job holds lies in its own copy of
// the device's arena, at the places of the first job, so that a tensor of all jobs is one view and
// a stride. An instruction of the program then does the work of all of them: it is scheduled, timed
// and looked up once, its buffers are placed once, its operands are found once, and its kernel runs
// for one job after the other. Optimizers are given a rate, a decay and a clipped norm by job,
// dropout a seed by job; a batch norm sees one job's batch, and a loss is one job's mean. Data that
// jobs have in common are read once.
//
// Kernels are those of a job by itself on the same numbers, so that the weights of a job are those
// of its own run to the last bit. The one batched product and the grouped convolution of the paper
// fill a device that one job leaves idle. A core that runs one kernel at a time is not idle within
// one: what jobs share on it is the cost around kernels, which for products of 32 by 64 by 128 is
// as much as the kernels take. What a job does leave idle is the other cores, among which jobs are
// dealt. Where the weights of the jobs do not fit in a core's caches together, turns cost more than
// they save; backends/cpu/calibration/fused_prices.h says when.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"
#include "backends/cpu/execution/state/job_state.h"

namespace trainyard {

/// Returns everything that keeps jobs of this program from being trained together, each with the
/// reason and, where there is one, a setting that helps. What CpuBackend::check() says comes first.
Diagnostics check_fused(const BackendJob&);

struct FusedRunOptions {
  std::stop_token stop = {};
  /// Called with every loss of a job, as soon as its step is done, by one thread at a time; a job
  /// ends where it returns false. Empty: every job does all of its steps.
  std::function<bool(std::size_t job, double loss)> goes_on = {};
};

struct FusedRun {
  std::vector<std::vector<double>> losses;  // by job, then step
  std::vector<double> gradient_norms;       // by job, of the last update; 0 = not asked for
  // Each thread has the processor time of each step of the program, everything included, and how
  // many jobs it was a step of.
  std::vector<std::vector<std::pair<Duration, int>>> steps;
  Bytes most{};  // of one job, held at once
  bool stopped = false;

  /// Returns the steps of a job that are done in a second of all threads, each on a core of its
  /// own, going by the median step of each.
  double steps_per_second() const;
};

class FusedBackend {
 public:
  /// `shared` is the program of each job; its training and data are not read. Jobs must outlive the
  /// backend. `memory_limit` of the options is the device's, of which every job has an equal part.
  /// In RunMode::WallClock jobs are dealt among `threads`, at least one to each; else there is one.
  /// Throws Error{InvalidInput} with all that check_fused() finds wrong, and Error{OutOfMemory}
  /// when the state of so many jobs does not fit.
  FusedBackend(const BackendJob& shared, std::span<const TrainedJob>, const CpuOptions& = {});
  ~FusedBackend();

  /// Trains until every job has done its own steps, or has ended early. Blocks.
  FusedRun run(const FusedRunOptions& = {});
  /// Returns the parameters of a job, as CpuBackend::parameters() does.
  std::vector<TrainedTensor> parameters(std::size_t job) const;

 private:
  struct Part;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard
