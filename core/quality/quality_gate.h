// A gate of quality stands before a lossy choice: fewer weights, fewer bits, another number format,
// a model trained anew. It holds models against one reference on the samples for evaluation and on
// corrupted ones, and lets nothing pass that is beyond a limit that was stated before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/quality/judged_answers.h"

namespace trainyard {

/// The most that a model may lose; what is not stated limits nothing.
struct GateLimits {
  std::optional<double> excess_error = {};  // on every task
  std::optional<double> instability = {};   // on every task
  std::optional<double> flips = {};         // on every task
  std::optional<double> eigenspace = {};    // of every embedding table
  friend bool operator==(const GateLimits&, const GateLimits&) = default;
};
/// Half a percent of excess error, which Lost in Pruning allows, and nothing else.
GateLimits usual_limits();

/// Applies "instability=0.01" or "excess-error=none"; shares may be percentages, as 1%. Throws
/// Error{InvalidInput} with the nearest name or the range 0 to 1.
void apply_limit(GateLimits&, std::string_view assignment, const Place&);
/// Applies a list that is separated by commas.
void apply_limits(GateLimits&, std::string_view assignments, const Place&);

/// One set of questions, as the reference answers them.
struct GateTask {
  std::string name;  // "clean", or the corruption as "noise:0.3"
  std::int64_t questions = 0;
  double accuracy = 0, loss = 0;
  std::optional<double> area = {};  // under the curve (area_under_curve.h), of a model of one logit
};

struct GatedTable {
  std::string name;  // of the embedding table, as "embedding tokens.weight"
  std::int64_t rows = 0, width = 0;
  double instability = 0;  // of its eigenspace, anchored at both tables
};

/// ChipErrors sum up the shares of wrong answers that chips whose own bits fail give to one task.
struct ChipErrors {
  double mean = 0, deviation = 0;  // over the chips
  double least = 0, most = 0;      // of a chip
};
/// Returns them of the error of each chip, of which there is at least one.
ChipErrors chip_errors(std::span<const double> errors);

/// One model in memories of many chips, which flip bits at one rate.
struct GatedChips {
  std::string form;  // the words of the model without the rate
  double rate = 0;
  std::int64_t count = 0;
  std::vector<ChipErrors> tasks;  // by task
};

/// LosslessBytes say what is left of numbers that are stored without loss in groups of a common
/// width.
struct LosslessBytes {
  double bytes = 0;
  double ratio = 0, worst_ratio = 0;  // of the bytes that whole numbers took; of all, and of a tile
};
/// A tensor of the reference, rounded to 8 bits.
struct LosslessTensor {
  std::string name;         // as "layer 0 weight"
  bool activation = false;  // of some samples, else a parameter
  std::int64_t numbers = 0;
  double ratio = 0, worst_ratio = 0;  // as those of LosslessBytes
};

/// VectorNoise says how much of the reference's weights is left where vectors of them share a scale
/// (core/training/numbers/vector_scales.h).
struct VectorNoise {
  int bits = 0;             // of a code
  std::int64_t vector = 0;  // weights of a channel that share a scale; 0 = all of them
  int scale_bits = 0;       // of a vector's scale; 0 = it is a number by itself
  double decibels = 0;      // signal over the noise of rounding
};

/// A GatedModel says what one model lost against the reference.
struct GatedModel {
  std::string name;                  // in the words in which it was asked for
  double bytes = 0;                  // of its weights
  std::vector<JudgedAnswers> tasks;  // by task; the reference is the first model
  std::vector<double> losses;        // by task
  double across = 0;  // instability over its own answers to all tasks, as environments
  std::vector<GatedTable> tables = {};         // empty for a model without embeddings
  std::vector<std::string> beyond = {};        // sentences, one for each limit that is passed
  std::optional<GatedChips> chips = {};        // whose answers are counted together
  std::optional<LosslessBytes> lossless = {};  // of weights in whole numbers
  std::vector<double> areas = {};       // under the curve, by task; empty where the tasks have none
  std::optional<double> decibels = {};  // signal of weights of few bits over what they lost
  bool passes() const { return beyond.empty(); }
};

struct GateReport {
  std::string model, data, reference;
  double reference_bytes = 0;
  double reference_across = 0;  // as GatedModel::across
  GateLimits limits;
  std::vector<GateTask> tasks;  // the first is clean
  std::vector<GatedModel> models;
  std::vector<LosslessTensor> tensors = {};  // where they were asked for
  std::vector<VectorNoise> vectors = {};     // where they were asked for
  bool passes() const;
  /// Returns the task on which a model's excess error is largest, of the corrupted ones; nothing
  /// where there is none.
  std::optional<std::size_t> worst_corrupted(const GatedModel&) const;
};

/// Fills in what is beyond the limits.
void judge(GateReport&);

/// Returns why nothing may be exported after this gate; "" where all models pass.
std::string reason_to_block(const GateReport&);

}  // namespace trainyard
