// Training is what a real run needs to know beyond the plan: rates, their schedule, decay,
// clipping, seeds. A plan says how work is laid out; Training says how the model learns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/cluster/device.h"
#include "core/training/corruption.h"
#include "core/training/numbers/bit_flips.h"
#include "core/training/partial_recovery.h"
#include "core/training/random_sources.h"

namespace trainyard {

enum class RateSchedule : std::uint8_t { Constant, Linear, Cosine, Step, Polynomial, InverseRoot };

/// BatchRule says how a rate that was found for one batch grows with the batch. Linear: k times the
/// samples take k times the rate, so that as many samples move the weights as far (Goyal et al.,
/// "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", 2017). Root: the square root of k
/// times the rate, which leaves the variance of an update as it was (Krizhevsky, "One weird trick
/// for parallelizing convolutional neural networks", 2014).
enum class BatchRule : std::uint8_t { Linear, Root };

struct Training {
  double rate = 0.01;  // peak learning rate
  RateSchedule schedule = RateSchedule::Constant;
  std::int64_t warmup = 0;         // updates over which the rate grows linearly from warmup_from
  std::int64_t steps = 100;        // updates of the whole run, at whose end Linear and Cosine end
  double final_rate = 0;           // share of `rate` at the end (Linear, Cosine, Polynomial)
  std::vector<double> milestones;  // Step: shares of `steps` at which the rate is multiplied by
                                   // `decay`
  double decay = 0.1;
  double power = 2;  // Polynomial

  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;  // for matrices and kernels; never for biases and norms
  double trust = 0.001;     // LARS: trust coefficient
  double clip = 0;          // largest global gradient norm; 0 = off

  // These are for fp16 loss scaling (DeepSpeed's names and defaults); the scale is static where
  // scale_window is 0.
  double loss_scale = 65536;
  std::int64_t scale_window = 1000;
  int hysteresis = 2;
  double least_scale = 1;

  std::uint64_t seed = 1;  // of every RandomSource that has none in `seeds`

  double warmup_from = 0;            // rate before the first update of the warm-up
  std::int64_t reference_batch = 0;  // samples of an update for which `rate` was found; 0 = `rate`
                                     // is that of the plan's own batch
  BatchRule batch_rule = BatchRule::Linear;  // where there is a reference batch
  RandomSeeds seeds = {};

  /// Share of the weights of matrices and kernels that are pruned at the start, the smallest first
  /// (core/training/lossy_weights.h); a weight that is zero then stays zero.
  double sparsity = 0;
  /// Weight of the stability loss (backends/cpu/kernels/ops/stability_loss.h); 0 = off, and no
  /// sample is paired with its corrupted copy.
  double stability = 0;
  Corruption stability_data = {CorruptionKind::Noise, 0.3};  // between a sample and its copy

  double weight_clip = 0;  // largest size of a weight of a matrix or kernel after an update
                           // (core/training/optimizers/clipped_rule.h); 0 = any
  /// Probability that a bit of a weight is flipped in every second microbatch, which has the
  /// samples of the one before it; 0 = off, and no microbatch is repeated. All read weights as
  /// codes of bit_error_bits (core/training/numbers/bit_errors.h).
  double bit_errors = 0;
  bool bit_errors_of_memory = false;  // the rate is that of the device's memory (at_rate_of())
  int bit_error_bits = 8;
  double bit_errors_below = 1.75;  // loss of a microbatch from which on no bit of its repetition is
                                   // flipped
  BitFlips flips = {};             // of the system that trains, and not to train against
  PartialRecovery recovery = {};   // of embedding tables that ranks divide
  friend bool operator==(const Training&, const Training&) = default;
};

/// Returns the seed that a source draws with. Where is_fixed_by_default(), nothing is drawn unless
/// `seeds` has one.
inline std::uint64_t seed_of(const Training& training, RandomSource source) {
  return training.seeds[static_cast<std::size_t>(source)].value_or(training.seed);
}
DataSeeds data_seeds(const Training&);

/// Returns the training with the rate of bit errors that the device's memory has, where it asks for
/// that. Throws Error{InvalidInput} where the memory has none.
Training at_rate_of(const Device&, Training);
/// Returns the training of updates of so many samples, at least 1: its rate follows from that of
/// the reference batch, from which the warm-up then begins. Without a reference batch it is as it
/// was.
Training for_batch(Training, std::int64_t samples);
/// Returns the rate of update t, the first being 0, before any per-stage rescheduling. At the last
/// update of the warm-up it is the full rate. A reference batch must have been settled by
/// for_batch().
double rate_at(const Training&, std::int64_t t);

/// A TrainingKey is a key of `--train`: each sets one field, as Settings do for plans.
struct TrainingKey {
  std::string_view key;  // "rate", "warmup", "weight-decay"
  std::string_view doc;
  std::vector<std::string_view> values = {};
  void (*apply)(Training&, std::string_view value, const Place&) = nullptr;
  std::string (*read)(const Training&) = nullptr;
};
std::span<const TrainingKey> training_keys();
/// Applies "rate=0.1". Throws Error{InvalidInput} for an unknown key (with the nearest) or a wrong
/// value (expected, found, range).
void apply_training(Training&, std::string_view assignment, const Place& = {"--train"});
/// Returns everything that is wrong with the values together.
Diagnostics check(const Training&);

}  // namespace trainyard
