// A Look is what rules are shown of a run after one of its steps: facts of tensors, answers and
// memory. Whoever executes the run makes looks; rules only read them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/rules/fired_rule.h"
#include "core/rules/tensor_facts.h"

namespace trainyard {

struct LookedTensor {
  TensorRole role = TensorRole::Gradient;
  int layer = 0;           // of the model, counted over all blocks
  std::string name;        // "fc1.weight", or of an output its node's
  std::string op = {};     // of an output or input: the op, as "relu"
  bool matrix = false;     // of parameters: a matrix or kernel, and no bias, norm or scale
  int device = 0;          // pipeline rank
  std::string where = {};  // "layers 3"
  TensorFacts facts = {};
};

/// Counts what a classifier answered: by true class, then by the class that it found likeliest.
struct Answers {
  std::int64_t classes = 0;
  std::vector<std::int64_t> counts;
  std::int64_t total() const;
};

struct HeldBytes {
  int device = 0, peer = 0;
  Bytes now{};    // between two steps
  Bytes most{};   // at once, so far
  Bytes limit{};  // 0 = none
};

struct Look {
  std::int64_t step = 0;  // updates done, this one included
  double rate = 0;        // learning rate of the update
  bool skipped = false;   // the update was skipped because gradients had overflowed
  double loss_scale = 0, first_loss_scale = 0, least_loss_scale = 0;  // 0 = losses are not scaled
  std::int64_t overflows = 0;  // updates skipped so far in this session
  std::vector<LookedTensor> tensors = {};
  Answers answers = {};  // of the step's training samples; without classes where nobody asks
  std::vector<HeldBytes> held = {};
  std::map<std::int64_t, std::int64_t> tokens = {};  // of the step's texts: how often each occurs
};

/// One evaluation of a run on samples that it is not trained on.
struct LookedEvaluation {
  std::int64_t step = 0;
  double loss = 0;
};

/// A rule is shown this much of a run: the latest looks, the oldest first and never none, and all
/// losses and evaluations up to the last look's step. losses[i] is of step first_step + i + 1.
struct RunShown {
  std::deque<Look> looks = {};
  std::vector<double> losses = {};
  std::int64_t first_step = 0;
  std::vector<LookedEvaluation> evaluations = {};
  std::vector<double> earlier = {};  // losses of an earlier run, from its first step; else empty
  const Look& now() const { return looks.back(); }
};

}  // namespace trainyard
