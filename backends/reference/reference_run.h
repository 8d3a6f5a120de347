// What a run on the reference maths is given, and what it answers with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/methods/precision/update_rule.h"
#include "core/model/document_bounds.h"
#include "core/model/reference.h"
#include "core/plan/halp.h"
#include "core/program/program.h"
#include "core/training/regrowth.h"

namespace trainyard {

/// A tensor that comes from outside the model: samples, token ids, labels.
struct ReferenceInput {
  const Graph& graph;  // of the block that reads it
  TensorId tensor;
  std::vector<std::int64_t> shape;
  std::int64_t microbatch = 0;  // counts through the replicas of a step, then through steps
};

/// A parameter of one layer.
struct ReferenceParameter {
  int layer = 0;  // of the model, counted over all blocks
  std::string name;
  HostTensor weights;
};

struct StageParameter;
class ReferenceOptimizer;

struct ReferenceOptions {
  std::uint64_t seed = 1;  // of data and weights that are not given, and of dropout
  std::function<HostTensor(const ReferenceInput&)> data = {};  // empty: random
  /// Bounds of the documents of a microbatch, as ReferenceInput counts it. Empty: samples are one
  /// text each.
  std::function<DocumentBounds(std::int64_t microbatch)> documents = {};
  /// Initial weights; the given tensor has the right shape. Empty: random, in the size of its
  /// inputs.
  std::function<void(ReferenceParameter&)> weights = {};
  std::vector<UpdateRule> rules = std::vector<UpdateRule>(1);  // one a stage, or one for all
  /// Called after each update with what the stage's parameters are now, in the order of its layers.
  std::function<void(StageId, int version, std::span<const ParameterState>)> updated = {};
  std::stop_token stop = {};
  /// Makes the optimizer of one copy of a stage, whose parameters outlive it; empty: the rules are
  /// all. Only where no rule derives weights.
  std::function<std::unique_ptr<ReferenceOptimizer>(const std::vector<StageParameter>&)> optimizer =
      {};
  /// Moves the patterns of sparse weights after the updates of a run of so many steps, as drawn
  /// from the seed of weights. Nothing: they stay.
  std::optional<Regrowth> regrowth = {};
  std::int64_t steps = 0;
  std::uint64_t weight_seed = 1;
  /// In HALP's inner steps the anchor finds the gradient of every second microbatch, which is
  /// subtracted. Nothing: the weights read all.
  std::optional<Halp> halp = {};
};

struct ReferenceRun {
  std::vector<double> losses;                  // by microbatch, as data count them
  std::vector<double> step_losses;             // their means
  std::vector<ReferenceParameter> parameters;  // in the end, by layer; where a stage has two
                                               // copies, both, one after the other
  std::vector<int> versions;  // most weight versions held at once, by stage, then copy
  std::int64_t backwards = 0, consistent_backwards = 0;  // instructions; of them, those that read
                                                         // the version that their forward read
};

}  // namespace trainyard
