#include "app/workspace/scenario/wave_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "app/workspace/scenario/run_once.h"
#include "core/methods/schedules/wave_offset.h"
#include "core/methods/settings/settings.h"
#include "core/result/figures.h"
#include "visualizers/drawing/in_parallel.h"

namespace trainyard {
namespace {

constexpr std::size_t kSteps = 24;  // between 0 and a whole cycle

using SetWords = std::vector<std::string>;  // each an argument of --set

struct Asked {
  Scenario scenario;
  OnceOptions options;
};

Bytes peak_at(const Asked& asked, double share) {
  return worst_peak(run_once(at_wave_offset(asked.scenario, share), asked.options)->result);
}

WaveAlternative without_waves(const Asked& asked, std::string name, const SetWords& changes) {
  WaveAlternative found;
  found.name = std::move(name);
  Scenario scenario = asked.scenario;
  for (const std::string& change : changes) {
    const std::size_t equals = change.find('=');
    apply_setting(scenario.plan, change.substr(0, equals), change.substr(equals + 1));
    found.changes += (found.changes.empty() ? "" : " ") + change;
  }
  for (const Diagnostic& wrong : check(scenario))
    if (wrong.severity == Diagnostic::Severity::Error) {
      found.refused = wrong.message;
      return found;
    }
  const Result result = run_once(scenario, asked.options)->result;
  found.rate = rate(result).value, found.mfu = result.mfu;
  found.peak = worst_peak(result), found.fits = result.verdict.fits;
  return found;
}

// The settings of one wave that updates its weights from as many samples: those of a step where the
// waves' gradients are added up, else those of one wave's share.
SetWords one_wave(const Plan& plan, int waves) {
  const bool added_up = setting(plan, "tick-tock.sync") == "accumulate";
  return {"schedule=1f1b",
          fmt::format("global-batch={}", added_up ? plan.batch.global : plan.batch.global / waves)};
}

SetWords doubled(const Plan& plan, int waves) {
  return {"schedule=1f1b", fmt::format("global-batch={}", plan.batch.global),
          fmt::format("micro-batch={}", plan.batch.micro * waves)};
}

std::vector<WaveAlternative> alternatives_of(const Asked& asked, int waves, Bytes lowest) {
  const Plan& plan = asked.scenario.plan;
  std::vector<WaveAlternative> all(2);
  const std::string larger = fmt::format("{} \u00D7 batch", waves);
  const SetWords changes = doubled(plan, waves);
  in_parallel(2, [&](std::size_t i) {
    all[i] = i == 0 ? without_waves(asked, "one wave", one_wave(plan, waves))
                    : without_waves(asked, larger, changes);
  });
  if (!all[1].refused.empty() || all[1].peak <= lowest) return all;
  // A policy that recomputes less is faster, so the first one that is small enough is taken.
  for (const char* policy : {"selective", "full"}) {
    SetWords recomputed = changes;
    recomputed.push_back(std::string("recompute=") + policy);
    WaveAlternative one = without_waves(asked, larger + ", recomputed", recomputed);
    const bool last = std::string_view(policy) == "full";
    if (!one.refused.empty() || (!last && one.peak > lowest)) continue;
    all.push_back(std::move(one));
    break;
  }
  return all;
}

}  // namespace

Scenario at_wave_offset(Scenario scenario, double share) {
  apply_setting(scenario.plan, "tick-tock.policy", "custom");
  apply_setting(scenario.plan, "tick-tock.offset", to_text(ParamValue{share}));
  return scenario;
}

std::optional<Bytes> aligned_peak(const Scenario& scenario, const CostModel* cost,
                                  std::stop_token stop) {
  if (!states_wave_offset(scenario.plan)) return {};
  const Grain grain = natural_grain(scenario);
  return peak_at({scenario, {.grain = grain, .cost = cost, .stop = std::move(stop)}}, 0);
}

std::shared_ptr<const WaveStudy> wave_study(const Scenario& scenario, Grain grain,
                                            const CostModel* cost, std::stop_token stop) {
  if (!states_wave_offset(scenario.plan)) return nullptr;
  auto study = std::make_shared<WaveStudy>();
  study->offsets.resize(kSteps + 1);
  Asked asked{scenario, {.grain = grain, .cost = cost, .stop = stop}};
  in_parallel(study->offsets.size(), [&](std::size_t i) {
    const double share = static_cast<double>(i) / static_cast<double>(kSteps);
    study->offsets[i] = {share, peak_at(asked, share)};
  });
  Bytes lowest = study->offsets.front().peak;
  for (const OffsetPeak& each : study->offsets) lowest = std::min(lowest, each.peak);
  asked.scenario.plan = prepare(scenario).scenario.plan;  // complete: its degrees are known
  study->alternatives =
      alternatives_of(asked, std::stoi(setting(scenario.plan, "tick-tock.waves")), lowest);
  return study;
}

}  // namespace trainyard
