// Predicts what a step of jobs that are trained together takes on this machine
// (backends/cpu/fused.h), from parts that are measured apart from each other and never from a fused
// run: what is paid once for a step, once for all jobs that read the same data, and once for each
// job.
#pragma once

#include <map>

#include "backends/backend.h"

namespace trainyard {

/// Processor times of a step, of so many jobs on one core.
struct FusedPrices {
  int jobs = 1;
  Duration once{};   // to schedule, time and look up the instructions of the program
  Duration data{};   // to read the samples, for each data source
  Duration alone{};  // kernels and updates of one job by itself
  Duration each{};   // the same where all jobs take turns, whose tensors share the core's caches

  /// `sources`: so many different data sources the jobs have.
  Duration step(int sources = 1) const { return once + sources * data + jobs * each; }
  Duration step_alone() const { return once + data + alone; }
};

/// Measures the parts on the calling thread, each for some hundredths of a second or five steps:
///   once   the instructions of the job times what one takes in a network without work to speak of
///   data   reading the samples of a step
///   alone, each   the kernels of a step, called without an executor
class FusedPricer {
 public:
  /// The job must be one that check_fused() finds nothing wrong with, and outlive the pricer.
  explicit FusedPricer(const BackendJob&);

  /// Measures what is not known yet for so many jobs of one core.
  const FusedPrices& of(int jobs);
  /// Returns what a step of one job takes beside the others, where so many are dealt among cores:
  /// its share of the step of the core with the most of them.
  Duration step(int jobs, int threads = 1, int sources = 1);
  /// Returns how many times as many samples per second that is as one job after another.
  double gain(int jobs, int threads = 1, int sources = 1);
  /// Returns how many jobs to train together, up to `most`: one for each thread and at least two,
  /// doubled as long as that gains 5 %. More are not always better: their tensors leave the caches.
  int enough(int most, int threads = 1);

 private:
  const BackendJob job_;
  FusedPrices one_;
  std::map<int, FusedPrices> known_;
};

}  // namespace trainyard
