#include "core/result/asynchrony.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard {
namespace {

// These are from the one published run.
constexpr double kMeasuredDelay = 2.5;  // mean of 0 .. 5
constexpr double kExtra = 0.33, kExtraPredicted = 0.23;
constexpr double kUniformOverstates = 3.3;

bool predicts_weights(const Plan& plan) {
  for (const Choice& c : plan.choices)
    if (c.method == "pipelined-backprop")
      return c.params.has("predict") && c.params.text("predict") != "none";
  return false;
}

std::string in_words(const Asynchrony& a) {
  int most = 0;
  for (const StageFacts& f : a.stages) most = std::max(most, f.forward_delay);
  if (most == 0)
    return fmt::format(
        "{} sets of weights that drift apart between averages; what that takes in "
        "tokens is not known",
        a.versions);
  return fmt::format(
      "gradients up to {} update{} old (mean {:.3g}){}; about {:.2f} times the "
      "tokens to the same loss ({:.2f} to {:.2f})",
      most, most == 1 ? "" : "s", a.mean_delay,
      a.consistent ? "" : ", backwards on newer weights than their forwards",
      a.token_overhead.value, a.token_overhead.low, a.token_overhead.high);
}

}  // namespace

Banded<double> token_overhead(double mean_delay, bool weights_predicted) {
  const double extra = (weights_predicted ? kExtraPredicted : kExtra) * mean_delay / kMeasuredDelay;
  return {1 + extra, 1, 1 + kUniformOverstates * extra,
          fmt::format("guessed from one published run of six stages, 2.5 updates of delay on "
                      "average and {:.2f} times the tokens (marin-community/marin#6431), linear in "
                      "the mean delay; low: none, as papers report at rates that suit the delay; "
                      "high: 3.3 times the extra, by which a uniform delay differed there",
                      1 + (weights_predicted ? kExtraPredicted : kExtra))};
}

std::optional<Asynchrony> asynchrony(const Program& program, const Plan& plan) {
  Asynchrony found;
  found.stages = facts(program);
  double sum = 0;
  for (const StageFacts& f : found.stages) {
    sum += f.mean_delay_thousandths / 1000.0;
    found.versions = std::max(found.versions, f.versions);
    found.consistent = found.consistent && f.consistent;
  }
  if (found.stages.empty()) return {};
  found.mean_delay = sum / static_cast<double>(found.stages.size());
  if (sum == 0 && found.versions == 1 && found.consistent) return {};
  found.token_overhead = token_overhead(found.mean_delay, predicts_weights(plan));
  if (sum == 0)
    found.token_overhead.basis =
        "gradients are not delayed; how far sets of weights drift apart "
        "between averages is not known";
  found.sentence = in_words(found);
  return found;
}

Duration effective_step(Duration step, const Asynchrony& a) {
  return seconds(to_seconds(step) * a.token_overhead.value);
}

double days_per_trillion_tokens(double tokens_per_second, const Asynchrony& a) {
  return tokens_per_second > 0 ? 1e12 * a.token_overhead.value / tokens_per_second / 86400 : 0;
}

}  // namespace trainyard
