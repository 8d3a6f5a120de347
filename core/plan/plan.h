// A Plan says how a model is trained on a cluster, in the field's language: a mesh of parallel
// degrees, a batch, a split of layers over stages, and chosen methods with their parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/model/model.h"
#include "core/plan/parallelism.h"
#include "core/plan/params.h"
#include "core/plan/software.h"

namespace trainyard {

struct Batch {
  std::int64_t global = 0;    // samples per optimizer step; 0 = micro * dp * pp (one microbatch in
                              // flight per stage)
  std::int64_t micro = 1;     // samples per microbatch on one data-parallel rank
  std::int64_t sequence = 0;  // tokens per sample; 0 = the model's own
  friend bool operator==(const Batch&, const Batch&) = default;
};

/// Number of layers of each virtual stage in order of data flow (the schedule's placement says
/// which device holds it); empty = divided evenly.
struct StageSplit {
  std::vector<int> layers;
  friend bool operator==(const StageSplit&, const StageSplit&) = default;
};

struct Choice {
  std::string method;  // a name of methods(): "1f1b", "zero", "recompute"
  Params params;
  friend bool operator==(const Choice&, const Choice&) = default;
};

struct Plan {
  std::string name;
  Mesh mesh;
  int virtual_stages = 1;  // chunks per device
  Batch batch;
  StageSplit split;
  std::string optimizer = "adam";  // of optimizers()
  bool flash_attention = true;     // fused attention kernel, if the model has attention
  Software software;               // the framework and kernels; empty = not stated
  std::vector<Choice> choices;
  std::string order;  // an edited order of work, as to_text(Order) writes it; empty = the
                      // schedule's own order
  friend bool operator==(const Plan&, const Plan&) = default;
};

const Choice* find_choice(const Plan&, std::string_view method);  // null when the plan does not
                                                                  // choose the method
Choice& choice(Plan&, std::string_view method);  // adds an empty choice when there is none
void remove_choice(Plan&, std::string_view method);

/// Optimizer gives the bytes of optimizer state that every parameter has, not counting the 4-byte
/// master copy that mixed precision adds. What adamw-8bit, adafactor, muon and halp keep by tensor
/// comes on top (core/methods/precision/tensor_state.h).
struct Optimizer {
  std::string_view name, summary;
  int state_bytes;    // fp32 moments per parameter
  int touched_bytes;  // read and written per parameter by one update, including master copy and
                      // gradient
};
std::span<const Optimizer> optimizers();
const Optimizer& optimizer(std::string_view name);  // throws Error{InvalidInput} with the nearest
                                                    // name

struct Scenario {
  Model model;
  Cluster cluster;
  Plan plan;
};

/// Returns the data-parallel degree, derived from the devices where the plan leaves it open. Throws
/// Error{InvalidInput} when the degrees do not divide the devices.
int data_parallel(const Plan&, const Cluster&);
/// Returns how many microbatches one data-parallel rank processes per step. The plan must be
/// complete.
int microbatches(const Plan&);

}  // namespace trainyard
