#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/nearest.h"
#include "core/plan/params.h"
#include "core/training/training.h"

namespace trainyard {
namespace {

using Value = std::string_view;

constexpr std::string_view kOfMemory = "memory";  // of bit-errors
constexpr std::array<std::string_view, 6> kSchedules = {"constant", "linear",     "cosine",
                                                        "step",     "polynomial", "inverse-root"};

double number(Value value, double low, double high, const Place& place) {
  return std::get<double>(parse_param(
      {.name = "", .fallback = 0.0, .doc = "", .low = low, .high = high}, value, place));
}

std::int64_t whole(Value value, double low, double high, const Place& place) {
  return std::get<std::int64_t>(
      parse_param({.name = "", .fallback = std::int64_t{0}, .doc = "", .low = low, .high = high},
                  value, place));
}

std::string text(double number) { return fmt::format("{}", number); }
std::string text(std::int64_t number) { return std::to_string(number); }

void set_schedule(Training& training, Value value, const Place& place) {
  for (std::size_t i = 0; i < kSchedules.size(); ++i)
    if (value == kSchedules[i]) {
      training.schedule = static_cast<RateSchedule>(i);
      return;
    }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {}, found \"{}\"{}", fmt::join(kSchedules, ", "),
                          value.substr(0, 80), did_you_mean(value.substr(0, 80), kSchedules)),
              place);
}

std::string read_schedule(const Training& training) {
  return std::string(kSchedules[static_cast<std::size_t>(training.schedule)]);
}

void set_milestones(Training& training, Value value, const Place& place) {
  std::vector<double> shares;
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    shares.push_back(number(value.substr(0, comma), 0, 1, place));
    value = comma == Value::npos ? Value() : value.substr(comma + 1);
  }
  training.milestones = std::move(shares);
}

constexpr std::array<std::string_view, 2> kBatchRules = {"linear", "root"};

void set_batch_rule(Training& training, Value value, const Place& place) {
  if (std::find(kBatchRules.begin(), kBatchRules.end(), value) == kBatchRules.end())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected linear or root, found \"{}\"{}", value.substr(0, 80),
                            did_you_mean(value.substr(0, 80), kBatchRules)),
                place);
  training.batch_rule = value == kBatchRules[0] ? BatchRule::Linear : BatchRule::Root;
}

std::string read_batch_rule(const Training& training) {
  return std::string(kBatchRules[static_cast<std::size_t>(training.batch_rule)]);
}

void set_flip_part(Training& training, Value value, const Place& place) {
  const std::span<const std::string_view> parts = flip_part_names();
  const auto found = std::find(parts.begin(), parts.end(), value);
  if (found == parts.end())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected {}, found \"{}\"{}", fmt::join(parts, ", "),
                            value.substr(0, 80), did_you_mean(value.substr(0, 80), parts)),
                place);
  training.flips.part = static_cast<FlipPart>(found - parts.begin());
}

void set_nesterov(Training& training, Value value, const Place& place) {
  if (value != "on" && value != "off" && value != "true" && value != "false")
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected on or off, found \"{}\"", value.substr(0, 80)), place);
  training.nesterov = value == "on" || value == "true";
}

/// A source of its own seed follows `seed`, or draws nothing, until it is given one.
constexpr std::string_view unseeded(RandomSource source) {
  return is_fixed_by_default(source) ? "none" : "seed";
}

template <RandomSource source>
TrainingKey seed_key(std::string_view key, std::string_view doc) {
  constexpr auto kIndex = static_cast<std::size_t>(source);
  return {key,
          doc,
          {},
          [](Training& training, Value value, const Place& place) {
            std::optional<std::uint64_t> seed;
            if (value != unseeded(source))
              seed = static_cast<std::uint64_t>(whole(value, 0, 9e18, place));
            training.seeds[kIndex] = seed;
          },
          [](const Training& training) {
            const std::optional<std::uint64_t>& seed = training.seeds[kIndex];
            return seed ? std::to_string(*seed) : std::string(unseeded(source));
          }};
}

std::vector<TrainingKey> make_keys() {
  using T = Training;
  using V = Value;
  using L = const Place;
  constexpr double kMany = 1e15;
  return {
      {"rate",
       "peak learning rate",
       {},
       [](T& t, V v, L& l) { t.rate = number(v, 0, 1e6, l); },
       [](const T& t) { return text(t.rate); }},
      {"schedule",
       "how the rate falls after the warm-up",
       {kSchedules.begin(), kSchedules.end()},
       set_schedule,
       read_schedule},
      {"warmup",
       "updates over which the rate grows from warmup-from",
       {},
       [](T& t, V v, L& l) { t.warmup = whole(v, 0, kMany, l); },
       [](const T& t) { return text(t.warmup); }},
      {"warmup-from",
       "rate before the first update of the warm-up; beside reference-batch it is that batch's",
       {},
       [](T& t, V v, L& l) { t.warmup_from = number(v, 0, 1e6, l); },
       [](const T& t) { return text(t.warmup_from); }},
      {"reference-batch",
       "samples of an update for which rate was found; 0 = rate is that of the plan's batch",
       {},
       [](T& t, V v, L& l) { t.reference_batch = whole(v, 0, kMany, l); },
       [](const T& t) { return text(t.reference_batch); }},
      {"batch-rule",
       "how the rate grows from reference-batch to the plan's batch, or to each of a batch ramp",
       {kBatchRules.begin(), kBatchRules.end()},
       set_batch_rule,
       read_batch_rule},
      {"steps",
       "updates of the whole run",
       {},
       [](T& t, V v, L& l) { t.steps = whole(v, 1, kMany, l); },
       [](const T& t) { return text(t.steps); }},
      {"final-rate",
       "share of the rate at the end (linear, cosine, polynomial)",
       {},
       [](T& t, V v, L& l) { t.final_rate = number(v, 0, 1, l); },
       [](const T& t) { return text(t.final_rate); }},
      {"milestones",
       "step: shares of the run at which the rate falls, as in 0.5,0.75",
       {},
       set_milestones,
       [](const T& t) { return fmt::format("{}", fmt::join(t.milestones, ",")); }},
      {"decay",
       "step: factor on the rate at each milestone",
       {},
       [](T& t, V v, L& l) { t.decay = number(v, 0, 1, l); },
       [](const T& t) { return text(t.decay); }},
      {"power",
       "polynomial: exponent",
       {},
       [](T& t, V v, L& l) { t.power = number(v, 0, 100, l); },
       [](const T& t) { return text(t.power); }},
      {"momentum",
       "of momentum, lars and muon",
       {},
       [](T& t, V v, L& l) { t.momentum = number(v, 0, 1, l); },
       [](const T& t) { return text(t.momentum); }},
      {"nesterov",
       "momentum, muon: look one velocity ahead",
       {"on", "off"},
       set_nesterov,
       [](const T& t) { return std::string(t.nesterov ? "on" : "off"); }},
      {"beta1",
       "decay of the first moment",
       {},
       [](T& t, V v, L& l) { t.beta1 = number(v, 0, 1, l); },
       [](const T& t) { return text(t.beta1); }},
      {"beta2",
       "decay of the second moment",
       {},
       [](T& t, V v, L& l) { t.beta2 = number(v, 0, 1, l); },
       [](const T& t) { return text(t.beta2); }},
      {"epsilon",
       "what keeps a division from zero",
       {},
       [](T& t, V v, L& l) { t.epsilon = number(v, 0, 1, l); },
       [](const T& t) { return text(t.epsilon); }},
      {"weight-decay",
       "of matrices and kernels; never of biases and norms",
       {},
       [](T& t, V v, L& l) { t.weight_decay = number(v, 0, 1000, l); },
       [](const T& t) { return text(t.weight_decay); }},
      {"trust",
       "lars: trust coefficient",
       {},
       [](T& t, V v, L& l) { t.trust = number(v, 0, 1000, l); },
       [](const T& t) { return text(t.trust); }},
      {"clip",
       "largest global gradient norm; 0 = off",
       {},
       [](T& t, V v, L& l) { t.clip = number(v, 0, 1e30, l); },
       [](const T& t) { return text(t.clip); }},
      {"loss-scale",
       "fp16: where the loss scale starts",
       {},
       [](T& t, V v, L& l) { t.loss_scale = number(v, 1, 1e30, l); },
       [](const T& t) { return text(t.loss_scale); }},
      {"scale-window",
       "fp16: updates without overflow before the scale doubles; 0 = fixed",
       {},
       [](T& t, V v, L& l) { t.scale_window = whole(v, 0, kMany, l); },
       [](const T& t) { return text(t.scale_window); }},
      {"hysteresis",
       "fp16: overflows before the scale halves",
       {},
       [](T& t, V v, L& l) { t.hysteresis = static_cast<int>(whole(v, 1, 1000, l)); },
       [](const T& t) { return text(std::int64_t{t.hysteresis}); }},
      {"least-scale",
       "fp16: the scale never falls below",
       {},
       [](T& t, V v, L& l) { t.least_scale = number(v, 0, 1e30, l); },
       [](const T& t) { return text(t.least_scale); }},
      {"seed",
       "of all that is drawn at random and has no seed of its own",
       {},
       [](T& t, V v, L& l) { t.seed = static_cast<std::uint64_t>(whole(v, 0, 9e18, l)); },
       [](const T& t) { return text(static_cast<std::int64_t>(t.seed)); }},
      seed_key<RandomSource::Order>("order-seed", "of the order of samples; seed = as seed"),
      seed_key<RandomSource::Weights>("weights-seed", "of initial weights; seed = as seed"),
      seed_key<RandomSource::Dropout>("dropout-seed", "of dropout; seed = as seed"),
      seed_key<RandomSource::Augmentation>("augmentation-seed",
                                           "of how samples are changed; seed = as seed"),
      seed_key<RandomSource::Rounding>(
          "rounding-seed", "of stochastic rounding and sampled compression; seed = as seed"),
      seed_key<RandomSource::Split>("split-seed",
                                    "of which samples are for evaluation; none = as the data come"),
      seed_key<RandomSource::Noise>(
          "noise-seed", "of the last bit of every initial weight; none = without noise"),
      {"sparsity",
       "share of the weights of matrices and kernels that are pruned at the start and stay zero",
       {},
       [](T& t, V v, L& l) { t.sparsity = number(v, 0, 0.9999, l); },
       [](const T& t) { return text(t.sparsity); }},
      {"stability",
       "weight of the stability loss, for which every second sample of a microbatch is a corrupted "
       "copy of the one before it; 0 = off",
       {},
       [](T& t, V v, L& l) { t.stability = number(v, 0, 1e6, l); },
       [](const T& t) { return text(t.stability); }},
      {"stability-data",
       "how the copies of stability are corrupted, as in noise:0.3, shift:2, contrast:0.5 or "
       "replace:0.1, or to how many bits the weights are rounded that they run with, as in bits:4",
       {},
       [](T& t, V v, L& l) { t.stability_data = read_corruption(v, l, true); },
       [](const T& t) { return to_text(t.stability_data); }},
      {"weight-clip",
       "largest size of a weight of a matrix or kernel after an update; 0 = any",
       {},
       [](T& t, V v, L& l) { t.weight_clip = number(v, 0, 1e30, l); },
       [](const T& t) { return text(t.weight_clip); }},
      {"bit-errors",
       "probability that a bit of a weight is flipped in every second microbatch, which repeats "
       "the samples of the one before it, or memory: that of the device's memory; all read weights "
       "as codes; 0 = off",
       {},
       [](T& t, V v, L& l) {
         t.bit_errors_of_memory = v == kOfMemory;
         t.bit_errors = t.bit_errors_of_memory ? 0 : number(v, 0, 1, l);
       },
       [](const T& t) {
         return t.bit_errors_of_memory ? std::string(kOfMemory) : text(t.bit_errors);
       }},
      {"bit-error-bits",
       "bit-errors: bits of a code",
       {},
       [](T& t, V v, L& l) { t.bit_error_bits = static_cast<int>(whole(v, 2, 8, l)); },
       [](const T& t) { return text(std::int64_t{t.bit_error_bits}); }},
      {"bit-errors-below",
       "bit-errors: loss below which a microbatch is repeated with errors; 1.75 suits ten classes",
       {},
       [](T& t, V v, L& l) { t.bit_errors_below = number(v, 0, 1e30, l); },
       [](const T& t) { return text(t.bit_errors_below); }},
      {"flip-bits",
       "bits of the system that flip by themselves: weights, optimizer, activations, messages or "
       "checkpoints with the probability of a bit in a step, as in weights:1e-9,messages:1e-8; off",
       {},
       [](T& t, V v, L& l) { t.flips.rates = read_flip_rates(v, l); },
       [](const T& t) { return flip_rates_text(t.flips); }},
      {"flip-part",
       "flip-bits: which bits of a number",
       {flip_part_names().begin(), flip_part_names().end()},
       set_flip_part,
       [](const T& t) {
         return std::string(flip_part_names()[static_cast<std::size_t>(t.flips.part)]);
       }},
      {"flip-at",
       "flip-bits: the only update in which bits flip; 0 = in every one",
       {},
       [](T& t, V v, L& l) { t.flips.at = whole(v, 0, kMany, l); },
       [](const T& t) { return text(t.flips.at); }},
      {"flip-ecc",
       "flip-bits: whose memory corrects one flipped bit in 64 and detects two, as in "
       "weights,optimizer; off",
       {},
       [](T& t, V v, L& l) { t.flips.ecc = read_flip_ecc(v, l); },
       [](const T& t) { return flip_ecc_text(t.flips); }},
      {"flip-check",
       "what looks for flipped bits: checksums of what should not have changed, ranges of tensors, "
       "rules: exploding-tensor after every update; with commas between them, or off",
       {},
       [](T& t, V v, L& l) { read_flip_checks(v, t.flips, l); },
       [](const T& t) { return flip_checks_text(t.flips); }},
      {"flip-range",
       "flip-check=ranges: how many times over its largest number a tensor may grow",
       {},
       [](T& t, V v, L& l) { t.flips.range = number(v, 1, 1e30, l); },
       [](const T& t) { return text(t.flips.range); }},
      {"recover",
       "keeps the state in memory every so many updates, and goes back to it where flip-check or "
       "flip-ecc finds flipped bits; 0 = never",
       {},
       [](T& t, V v, L& l) { t.flips.recover = whole(v, 0, kMany, l); },
       [](const T& t) { return text(t.flips.recover); }},
      {"cpr",
       "a rank that fails takes back its own shard of embedding tables alone, of which plain saves "
       "every row, and mfu, ssu and scar the rows used or changed most; full: all ranks go back",
       {kShardSavings.begin(), kShardSavings.end()},
       [](T& t, V v, L& l) { t.recovery.how = read_shard_saving(v, l); },
       [](const T& t) { return std::string(to_string(t.recovery.how)); }},
      {"cpr-save",
       "cpr: updates in which as many rows are saved as there are",
       {},
       [](T& t, V v, L& l) { t.recovery.save = whole(v, 1, kMany, l); },
       [](const T& t) { return text(t.recovery.save); }},
      {"cpr-part",
       "cpr=mfu, ssu and scar: share of the rows that is saved at once, so many times as often",
       {},
       [](T& t, V v, L& l) { t.recovery.part = number(v, 1e-6, 1, l); },
       [](const T& t) { return text(t.recovery.part); }},
      {"cpr-kill",
       "cpr: ranks that fail, each after a step, as in 20:1,35:0; off",
       {},
       [](T& t, V v, L& l) { t.recovery.kills = read_shard_kills(v, l); },
       [](const T& t) { return shard_kills_text(t.recovery); }},
  };
}

Diagnostic wrong(std::string message, std::string_view key, std::string fix = "") {
  return {Diagnostic::Severity::Error,
          std::move(message),
          {"--train " + std::string(key)},
          std::move(fix)};
}

}  // namespace

DataSeeds data_seeds(const Training& training) {
  DataSeeds seeds(training.seed);
  seeds.order = seed_of(training, RandomSource::Order);
  seeds.augmentation = seed_of(training, RandomSource::Augmentation);
  seeds.split = training.seeds[static_cast<std::size_t>(RandomSource::Split)];
  return seeds;
}

std::span<const TrainingKey> training_keys() {
  static const std::vector<TrainingKey> keys = make_keys();
  return keys;
}

void apply_training(Training& training, std::string_view assignment, const Place& place) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected key=value, found \"{}\"", assignment.substr(0, 80)), place);
  const std::string_view key = assignment.substr(0, equals);
  std::vector<std::string_view> names;
  for (const TrainingKey& known : training_keys()) {
    if (known.key == key)
      return known.apply(training, assignment.substr(equals + 1),
                         {place.text + " " + std::string(key)});
    names.push_back(known.key);
  }
  throw Error(
      Error::Kind::InvalidInput,
      fmt::format("no training setting is called \"{}\"{}; \"trainyard help train\" lists them",
                  key.substr(0, 80), did_you_mean(key.substr(0, 80), names)),
      place);
}

Training at_rate_of(const Device& device, Training training) {
  if (!training.bit_errors_of_memory) return training;
  if (device.bit_errors.value == 0)
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected a device whose memory has bit errors, found {} with none; try "
                    "--cluster {},bit-errors=0.01",
                    device.name, device.id),
        {"--train bit-errors"});
  training.bit_errors = device.bit_errors.value;
  training.bit_errors_of_memory = false;
  return training;
}

Diagnostics check(const Training& training) {
  Diagnostics found;
  if (training.steps < 1)
    found.push_back(wrong(fmt::format("expected at least 1 update, found {}", training.steps),
                          "steps", "steps=100"));
  if (training.warmup > training.steps)
    found.push_back(wrong(fmt::format("a warm-up of {} updates is longer than the run of {}",
                                      training.warmup, training.steps),
                          "warmup", fmt::format("warmup={}", training.steps / 10)));
  if (training.warmup_from > 0 && training.reference_batch > 0)
    found.push_back(wrong(
        fmt::format("beside a reference batch a warm-up begins at that batch's rate of {}, and "
                    "warmup-from asks for {}",
                    training.rate, training.warmup_from),
        "warmup-from", "warmup-from=0"));
  if (training.beta1 >= 1 || training.beta2 >= 1 || training.momentum >= 1)
    found.push_back(wrong("momentum, beta1 and beta2 must be below 1, or nothing is ever forgotten",
                          training.momentum >= 1 ? "momentum"
                          : training.beta1 >= 1  ? "beta1"
                                                 : "beta2"));
  if (!std::is_sorted(training.milestones.begin(), training.milestones.end()))
    found.push_back(wrong("milestones must rise", "milestones"));
  if (training.schedule == RateSchedule::Step && training.milestones.empty())
    found.push_back(wrong("schedule=step needs milestones at which the rate falls", "milestones",
                          "milestones=0.5,0.75"));
  if (training.loss_scale < training.least_scale)
    found.push_back(wrong(fmt::format("loss-scale {} is below least-scale {}", training.loss_scale,
                                      training.least_scale),
                          "loss-scale"));
  const BitFlips& flips = training.flips;
  const bool corrects = std::find(flips.ecc.begin(), flips.ecc.end(), true) != flips.ecc.end();
  if (flips.recover > 0 && !flips.checks() && !corrects)
    found.push_back(
        wrong("expected something that finds flipped bits beside it, after which the "
              "run goes back, found neither flip-check nor flip-ecc",
              "recover", "flip-check=checksums"));
  if (flips.range != BitFlips{}.range && !flips.ranges)
    found.push_back(wrong(
        fmt::format("expected that ranges of tensors are looked at beside how far they may grow, "
                    "found flip-range={} and flip-check={}",
                    flips.range, flip_checks_text(flips)),
        "flip-range", "flip-check=ranges"));
  if (flips.at > training.steps)
    found.push_back(wrong(
        fmt::format("bits flip in update {} only, and the run has {}", flips.at, training.steps),
        "flip-at", "flip-at=0"));
  if ((flips.at > 0 || flips.part != FlipPart::Any || corrects) && !flips.flips())
    found.push_back(
        wrong("expected rates at which bits flip beside the settings that say which, "
              "found flip-bits=off",
              "flip-bits", "flip-bits=weights:1e-9"));
  for (Diagnostic& d : check(training.recovery, training.steps)) found.push_back(std::move(d));
  return found;
}

}  // namespace trainyard
