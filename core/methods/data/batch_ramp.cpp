// A batch ramp begins a training with small batches and makes them larger as it goes on. The first
// samples move the weights far, whichever of them are taken, so that more of them in one step teach
// little more; small batches make more updates of the same samples. Each step of them keeps the
// devices less busy, because a pipeline fills and drains for fewer microbatches and gradients are
// reduced for fewer samples.
//
//   samples of a step     64 |                          ________________
//                         48 |                  ________
//                         32 |          ________
//                         16 |__________                 16:16:5000 of 64
//                             0        1667    3333    5000    consumed samples
//
// Brown et al., "Language Models are Few-Shot Learners", NeurIPS 2020 (32 thousand to 3.2 million
// tokens over the first 4 to 12 billion). Megatron-LM's --rampup-batch-size. Smith et al., "Don't
// Decay the Learning Rate, Increase the Batch Size", ICLR 2018.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/methods/catalogue.h"
#include "core/plan/batch_ramp.h"

namespace trainyard {
namespace {

constexpr std::string_view kRampPlace = "plan#/choices/batch-ramp";
constexpr std::int64_t kMostPhases = 1000;

Diagnostic no_ramp(std::string message, std::string fix = "batch-ramp=off") {
  return {
      Diagnostic::Severity::Error, std::move(message), {std::string(kRampPlace)}, std::move(fix)};
}

// Returns the increment nearest above the given one that leads from start to full in batches which
// `unit` divides; nothing if there is none.
std::optional<std::int64_t> near_increment(const BatchRamp& ramp, std::int64_t full,
                                           std::int64_t unit) {
  const std::int64_t way = full - ramp.start;
  if (ramp.start % unit != 0) return std::nullopt;
  for (std::int64_t n = std::min(kMostPhases, way / ramp.increment); n >= 1; --n)
    if (way % n == 0 && way / n % unit == 0) return way / n;
  return std::nullopt;
}

std::string with_increment(const BatchRamp& ramp, std::optional<std::int64_t> increment) {
  if (!increment) return "batch-ramp=off";
  return fmt::format("batch-ramp={}:{}:{}", ramp.start, *increment, ramp.samples);
}

// Returns errors that say what keeps the ramp from ending at the global batch.
Diagnostics check_end(const BatchRamp& ramp, std::int64_t full, std::int64_t unit) {
  if (!ramp.listed.empty()) {
    const std::int64_t last = ramp.listed.back().batch;
    if (last == full) return {};
    return {no_ramp(
        fmt::format("a ramp ends at the global batch of {}, and its last batch is {}", full, last),
        fmt::format("global-batch={}", last))};
  }
  if (ramp.start > full)
    return {no_ramp(
        fmt::format("a ramp ends at the global batch of {}, and begins at {}", full, ramp.start))};
  if ((full - ramp.start) % ramp.increment != 0)
    return {no_ramp(fmt::format("a ramp ends at the global batch of {}, and increments of {} from "
                                "{} pass it",
                                full, ramp.increment, ramp.start),
                    with_increment(ramp, near_increment(ramp, full, unit)))};
  if (const std::int64_t increments = (full - ramp.start) / ramp.increment;
      increments > kMostPhases)
    return {
        no_ramp(fmt::format("a ramp has at most {} increments, found {}", kMostPhases, increments),
                with_increment(ramp, near_increment(ramp, full, unit)))};
  return {};
}

// Checks that the schedule takes the microbatches of every batch of the ramp.
Diagnostics check_phases(const Scenario& s, const std::vector<BatchPhase>& phases) {
  const Choice& chosen = *chosen_on(s.plan, MethodAxis::Schedule);
  const Method& schedule = method(chosen.method);
  if (schedule.check == nullptr) return {};
  Scenario one = s;
  for (const BatchPhase& phase : phases) {
    one.plan = with_batch(s.plan, phase.batch);
    for (const Diagnostic& d : schedule.check(one, chosen.params))
      if (d.severity == Diagnostic::Severity::Error && phase.batch != s.plan.batch.global)
        return {no_ramp(fmt::format("from sample {} on the batch is {}: {}", phase.first_sample,
                                    phase.batch, d.message))};
  }
  return {};
}

Diagnostics check_batch_ramp(const Scenario& s, const Params&) {
  const std::optional<BatchRamp> ramp = batch_ramp_of(s.plan);
  if (!ramp) return {};
  const Batch& batch = s.plan.batch;
  const std::int64_t replicas = *s.plan.mesh.dp, unit = batch.micro * replicas;
  if (unit < 1 || batch.global < 1) return {};  // refused where they are stated
  const Method& schedule = schedule_of(s.plan);
  if (schedule.settles != nullptr)
    return {no_ramp(fmt::format("a batch grows between steps, when no microbatch is under way, and "
                                "{} updates while microbatches are under way",
                                schedule.name),
                    "schedule=1f1b")};
  if (!s.plan.order.empty())
    return {no_ramp("an edited order is of one number of microbatches, and a ramp has several",
                    "order=own")};
  if (Diagnostics found = check_end(*ramp, batch.global, unit); !found.empty()) return found;
  const std::vector<BatchPhase> phases = batch_phases(s.plan);
  for (const BatchPhase& phase : phases)
    if (phase.batch % unit != 0)
      return {no_ramp(
          fmt::format(
              "micro {} x dp {} = {} samples divide each batch of a ramp, found {}; the next "
              "is {}",
              batch.micro, replicas, unit, phase.batch, (phase.batch / unit + 1) * unit),
          ramp->listed.empty() ? with_increment(*ramp, near_increment(*ramp, batch.global, unit))
                               : "batch-ramp=off")};
  return check_phases(s, phases);
}

std::string wrong_sizes(std::string_view text) {
  if (text == kNoBatchRamp) return "";
  try {
    parse_batch_ramp(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

Method batch_ramp() {
  return {
      .name = kBatchRamp,
      .axis = MethodAxis::Data,
      .summary =
          "Begins with small batches, which grow to the global batch over the first samples.",
      .paper = {"Language Models are Few-Shot Learners", "Brown et al.", "NeurIPS", 2020},
      .card = {.gains = "more updates of the first samples, of which large batches teach little "
                        "more than small ones",
               .costs = "steps of small batches keep devices less busy: the same bubble, gradient "
                        "reduction and update for fewer samples",
               .legal_when = "micro x dp divides every batch, the schedule takes its microbatches, "
                             "and nothing is under way between steps"},
      .file = "core/methods/data/batch_ramp.cpp",
      .params = {{.name = kBatchRampSizes,
                  .fallback = std::string(kNoBatchRamp),
                  .doc = "batches up to the global one: off, START:INCREMENT:SAMPLES as in "
                         "16:16:5000000, or steps:256@0,512@63000 (512 from 63,000 samples on)",
                  .refusal = wrong_sizes}},
      .check = check_batch_ramp,
  };
}

}  // namespace trainyard
