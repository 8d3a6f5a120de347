// Holds models against a reference as a gate of quality does (core/quality/quality_gate.h): weights
// of checkpoints, whole or with a loss that is asked for, answer the samples for evaluation and
// corrupted copies of them on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "core/quality/quality_gate.h"
#include "core/training/corruption.h"
#include "core/training/lossy_weights.h"
#include "core/training/training.h"

namespace trainyard {

/// Stands for the weights with which training begins, in place of a checkpoint.
inline constexpr std::string_view kInitialWeights = "initial";

/// One model of a gate: a checkpoint, and what is done to its weights and its maths.
struct GateSide {
  std::string words;  // as they were given
  std::string file;   // a checkpoint of `run`
  LossyWeights loses = {};
  std::string precision = {};  // of the plan that it answers with; empty = 4-byte floats
  bool reference = false;      // answers by the reference maths in 8-byte floats
};
/// Reads "a.ckpt", "a.ckpt,bits=4" or "sparsity=0.9,precision=bf16", which is of the checkpoint
/// `of`. A word is a file unless it has "=". Throws Error{InvalidInput} with the nearest key, for a
/// value out of its range, and where there is no checkpoint.
GateSide read_gate_side(std::string_view words, const std::string& of, const Place&);

struct GateQuestion {
  Scenario scenario;      // its model is that of all sides; it runs on one core
  std::string data = {};  // of data_sources(); empty = what the model's family is trained on
  GateSide reference;
  std::vector<GateSide> models;
  std::vector<Corruption> corruptions;  // each is a task beside the clean one
  std::int64_t samples = 0;             // of those for evaluation; 0 = all
  std::uint64_t seed = 1;               // of the corruptions, and of data that are made up
  GateLimits limits = usual_limits();
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // from 0 to 1
  bool lossless = false;                      // packs the reference's weights and activations too
  int vector_bits = 0;  // rounds its weights to so many, with scales for vectors; 0 = it does not
};

/// Reads rates of bit errors, as "0.001,0.01,2.5%", of which there is at least one. Throws
/// Error{InvalidInput} for what is no share.
std::vector<double> read_error_rates(std::string_view, const Place&);
/// Returns the models with each that has codes once at every rate, so that its errors are a curve.
/// Throws Error{InvalidInput} where none has codes.
std::vector<GateSide> at_error_rates(const std::vector<GateSide>&, const std::vector<double>& rates,
                                     const Place&);

/// Blocks. Batch norms normalise by the statistics of batches of 100 samples. Throws
/// Error{InvalidInput} for a checkpoint that lacks parameters of the model, and for a model that
/// does not classify; Error{Cancelled} when stopped.
GateReport gate_study(const GateQuestion&);

/// Returns the corruptions that a gate asks about where none are stated: one of each kind that
/// changes an input of the model.
std::vector<Corruption> usual_corruptions(const Model&);

}  // namespace trainyard
