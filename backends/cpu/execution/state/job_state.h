// A JobState is what a run of the CPU backend keeps by job. An ordinary run trains one; a fused run
// trains many that are alike, whose tensors lie in copies of one arena (backends/cpu/fused.h).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/training/data_source.h"
#include "core/training/optimizers/optimizer_step.h"
#include "core/training/training.h"

namespace trainyard {

/// A job that a run trains: how, and on what. Both must outlive the run.
struct TrainedJob {
  const Training* training = nullptr;
  const DataSource* data = nullptr;
};

struct JobState {
  const Training& training;
  const DataSource& source;
  std::size_t reads_as = 0;  // the first job with the same data, whose samples are read for both
  std::unique_ptr<OptimizerRule> rule = {};
  bool runs = true;  // a job that has ended keeps its place, and nothing is done for it
  /// Factors on the gradients of each replica; one figure where they are summed.
  std::vector<double> clips = {1};
  double clip(int replica) const { return clips[static_cast<std::size_t>(replica) % clips.size()]; }
  double gradient_norm = 0;  // root mean square of the replicas' own, where they are not summed
  std::vector<TensorNorms> norms = {};   // by place, layer and parameter
  std::vector<double> part_losses = {};  // by microbatch in data order, then context rank
};

}  // namespace trainyard
