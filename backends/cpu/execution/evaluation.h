// Evaluates a model on samples that it was never trained on: the mean loss and the fraction of
// correct answers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"
#include "core/lowering/lower.h"
#include "core/training/data_source.h"

namespace trainyard {

class Processes;

/// Says who evaluates: each of so many evaluators every so manieth batch. Where there are several
/// processes, all of them call evaluate(), each with all of the parameters.
struct Evaluators {
  std::int64_t count = 1;
  Processes* processes = nullptr;  // which share the evaluators; null: this one has them all
};

/// Evaluates what was trained on the source's evaluation part, in batches of 100; a last batch that
/// is not full is left out. `trained` has the parameters, and what batch norms remember
/// (Backend::statistics()), else they normalise by the statistics of the batch. most_samples: 0 =
/// all of that part. Where the source acts, the model plays all of its evaluation episodes. The
/// result is the same bits whoever evaluates; its time is the processor time of the evaluator that
/// has taken longest.
ModelEvaluation evaluate(const Workload&, const std::vector<TrainedTensor>& trained,
                         const DataSource&, std::int64_t most_samples, const Evaluators& = {});

/// The answers of a model that classifies: a row is a sample, or a token of one.
struct ModelAnswers {
  std::vector<std::int32_t> answers, labels;  // by row
  double loss = 0;                            // mean over rows
  double accuracy() const;  // share of rows whose answer is their label; 0 where there are none
  std::vector<float> scores = {};  // by row, of a model with one logit: that logit; else empty
};

/// How answers are computed.
struct AnswerMaths {
  // In the number formats of the workload's plan: weights, activations and the operands of products
  // are rounded as its forward rounds them, and a scale that it takes from earlier steps is that of
  // the operand itself. Else in 4-byte floats.
  bool in_precision = false;
  bool reference = false;  // each op by its reference maths in 8-byte floats, not by its kernel
  /// Shown each activation of the first batch, with the name of its block and its own.
  std::function<void(const std::string& name, std::span<const float>)> seen = {};
};

/// Returns what the model answers on the first `most_samples` samples of the source's evaluation
/// part (0 = all), as evaluate() reads them. Throws Error{InvalidInput} for a model that acts or
/// does not classify, and Error{Cancelled} when stopped.
ModelAnswers answers(const Workload&, const std::vector<TrainedTensor>& trained, const DataSource&,
                     std::int64_t most_samples, const AnswerMaths& = {},
                     const std::stop_token& = {});

/// An activation of one batch, as a forward pass makes it.
struct SeenActivation {
  int layer = 0;  // of the model, counted over all blocks
  const Graph& graph;
  TensorId tensor;
  std::span<const float> numbers;
  std::string_view block = {};  // its name, where a node has made it
  bool made = false;            // by a node; else it comes from outside or from the layer before
};

/// Runs the model on the first samples that the source has for training, in batches of 100, as
/// evaluate() does on those for evaluation, and shows every activation: what comes from outside
/// or from the layer before, then what each node makes. Throws Error{Cancelled} when stopped.
void show_activations(const Workload&, const std::vector<TrainedTensor>& trained, const DataSource&,
                      std::int64_t samples, const std::function<void(const SeenActivation&)>&,
                      const std::stop_token& = {});

}  // namespace trainyard
