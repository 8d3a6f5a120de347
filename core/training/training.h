// Training is what a real run needs to know beyond the plan: rates, their schedule, decay,
// clipping, seeds. Plans say how work is laid out; this says what is learnt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"

namespace trainyard {

enum class RateSchedule : std::uint8_t { Constant, Linear, Cosine, Step, Polynomial, InverseRoot };

struct Training {
  double rate = 0.01;  // peak learning rate
  RateSchedule schedule = RateSchedule::Constant;
  std::int64_t warmup = 0;         // updates over which the rate grows linearly from 0
  std::int64_t steps = 100;        // updates of the whole run: where Linear and Cosine end
  double final_rate = 0;           // share of `rate` at the end (Linear, Cosine, Polynomial)
  std::vector<double> milestones;  // Step: shares of `steps` at which the rate falls by `decay`
  double decay = 0.1;
  double power = 2;  // Polynomial

  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;  // of matrices and kernels; never of biases and norms
  double trust = 0.001;     // LARS: trust coefficient
  double clip = 0;          // largest global gradient norm; 0 = off

  // Loss scaling for fp16; a static scale where window is 0 (DeepSpeed's names and defaults).
  double loss_scale = 65536;
  std::int64_t scale_window = 1000;
  int hysteresis = 2;
  double least_scale = 1;

  std::uint64_t seed = 1;  // of weights, data order, dropout and stochastic rounding
  friend bool operator==(const Training&, const Training&) = default;
};

/// Of update t, the first being 0, before any per-stage rescheduling. Whole at the warm-up's last
/// update.
double rate_at(const Training&, std::int64_t t);

/// The keys of `--train`: one field each, as Settings are of plans.
struct TrainingKey {
  std::string_view key;  // "rate", "warmup", "weight-decay"
  std::string_view doc;
  std::vector<std::string_view> values = {};
  void (*apply)(Training&, std::string_view value, const Place&) = nullptr;
  std::string (*read)(const Training&) = nullptr;
};
std::span<const TrainingKey> training_keys();
/// Applies "rate=0.1". Throws Error{InvalidInput}: unknown key (nearest), wrong value (expected,
/// found, range).
void apply_training(Training&, std::string_view assignment, const Place& = {"--train"});
/// Everything wrong with it as a whole.
Diagnostics check(const Training&);

}  // namespace trainyard
