// waves: what waves that share a device hold together at every offset, and whether they are worth
// it.
#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/waves_text.h"
#include "app/workspace/scenario/wave_study.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/methods/schedules/wave_offset.h"
#include "core/methods/settings/settings.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

int run_waves(const Words& words, Streams& streams) {
  Scenario scenario = open_scenario(words, streams);
  std::shared_ptr<const CostModel> costs = open_costs(words, scenario);
  const Plan plan = prepare(scenario).scenario.plan;  // complete
  if (!states_wave_offset(plan)) {
    const std::string waves = setting(plan, "tick-tock.waves");
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a plan whose waves share a device, as schedule=tick-tock "
                            "with pp=1 and tick-tock.waves=2, found schedule={} with pp={}{}",
                            setting(plan, "schedule"), plan.mesh.pp,
                            waves.empty() ? "" : " and tick-tock.waves=" + waves),
                {"plan#/choices/tick-tock"});
  }
  const InterruptStop interrupt;
  const Grain grain = natural_grain(scenario);
  const ExperimentPtr experiment = simulate(
      scenario, {.grain = grain, .fixes = false, .cost = costs.get(), .stop = interrupt.token()});
  const auto study = wave_study(scenario, grain, costs.get(), interrupt.token());
  if (costs == nullptr) costs = cost_model(experiment->workload.scenario);
  const ViewData data(experiment, costs, study);
  const WavesAnswer answer{data.get<WavesModel>()};
  deliver(words.has("json") ? waves_document(answer) : waves_text(answer), words, streams);
  return experiment->result.verdict.fits ? kDone : kNotMet;
}

}  // namespace

Verb waves_verb() {
  std::vector<Flag> flags = {calibration_flag(),
                             cost_flag(),
                             {"json", "", "one trainyard/waves@1 document and nothing else"}};
  return {.name = "waves",
          .summary =
              "Tick-Tock on one device: memory at every offset, staleness, and whether it is "
              "worth it.",
          .flags = with_scenario_flags(std::move(flags)),
          .examples = {"waves --model llama-3-8b --cluster h100-sxm:8 --set tp=8 --set "
                       "schedule=tick-tock --set sequence=65536 --set global-batch=4 --set "
                       "micro-batch=1"},
          .run = run_waves};
}

}  // namespace trainyard
