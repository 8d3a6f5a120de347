// LossNotDecreasing: a loss that does not fall between two looks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

struct LossWindow {
  double mean = 0, square_error = 0;  // of the mean: its variance
};

LossWindow window_of(const RunShown& shown, std::size_t end, std::size_t count) {
  const auto from = shown.losses.begin() + static_cast<std::ptrdiff_t>(end - count),
             to = shown.losses.begin() + static_cast<std::ptrdiff_t>(end);
  const auto n = static_cast<double>(count);
  LossWindow window;
  window.mean = std::accumulate(from, to, 0.0) / n;
  for (auto loss = from; loss != to; ++loss)
    window.square_error += (*loss - window.mean) * (*loss - window.mean) / n;
  window.square_error /= n;
  return window;
}

double error_between(const LossWindow& a, const LossWindow& b) {
  return std::sqrt(a.square_error + b.square_error);
}

// Means over some steps are compared, because one step's loss is that of its samples; how much it
// varies from step to step says which differences are chance. A loss that has fallen since the
// beginning may rise again a little: by a share of itself, or of its fall, because one that is
// nearly 0 varies by more than itself.
void find_no_decrease(const Params& params, const RunShown& shown, FiredRules& fired) {
  constexpr double kFalls = 2, kRises = 3;  // standard errors
  const auto count = static_cast<std::size_t>(params.integer("steps"));
  const std::size_t done = shown.losses.size();
  if (shown.looks.size() < 2 || done < 2 * count) return;
  const auto before = static_cast<std::size_t>((shown.looks.end() - 2)->step - shown.first_step);
  const LossWindow first = window_of(shown, count, count),
                   old = window_of(shown, std::clamp(before, count, done - count), count),
                   now = window_of(shown, done, count);
  if (!std::isfinite(now.mean)) return;  // of which exploding-tensor speaks
  const double falls = params.number("decrease") / 100, noise = params.number("noise") / 100;
  const double fallen =
      first.mean - std::max(falls * first.mean, kFalls * error_between(first, now));
  if (now.mean > fallen) {
    fired.push_back(fired_for(
        shown, "loss", now.mean, fallen,
        fmt::format("the loss is {:.4g} on average over {} steps and was {:.4g} over the first: "
                    "expected at most {:.4g}",
                    now.mean, count, first.mean, fallen)));
    return;
  }
  const double risen = old.mean + std::max(noise * std::max(old.mean, first.mean - old.mean),
                                           kRises * error_between(old, now));
  if (now.mean > risen)
    fired.push_back(fired_for(
        shown, "loss", now.mean, risen,
        fmt::format("the loss is {:.4g} on average over {} steps and was {:.4g} at the look "
                    "before: expected at most {:.4g}",
                    now.mean, count, old.mean, risen)));
}

}  // namespace

const Rule& loss_not_decreasing() {
  static const Rule made = {
      .name = "loss-not-decreasing",
      .summary = "the loss does not fall, or rises from one look to the next",
      .advice = "another rate, a warm-up, and labels that belong to their samples",
      .reads = RuleReads::Losses,
      .params = {{"decrease", 0.1,
                  "least fall since the first steps, in %; two standard errors if that is more", 0,
                  100},
                 {"steps", std::int64_t{10}, "steps whose mean loss is compared", 1, 10000},
                 {"noise", 5.0,
                  "most rise from look to look, in % of the loss or of its fall; three standard "
                  "errors if that "
                  "is more",
                  0, 1e6}},
      .of_run = find_no_decrease};
  return made;
}

}  // namespace trainyard
