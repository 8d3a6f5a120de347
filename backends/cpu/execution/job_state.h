// A JobState is what a run of the CPU backend keeps by job. An ordinary run trains one; a fused run
// trains many that are alike, whose tensors lie in copies of one arena (backends/cpu/fused.h).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/training/data_source.h"
#include "core/training/optimizer_step.h"
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
  double clip = 1, gradient_norm = 0;
  std::vector<TensorNorms> norms = {};   // by place, layer and parameter
  std::vector<double> part_losses = {};  // by microbatch in data order, then context rank
};

}  // namespace trainyard
