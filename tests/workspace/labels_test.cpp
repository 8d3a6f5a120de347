// Every word in every picture can be read, at the sizes that the canvas has in windows of usual
// screens.
#include <gtest/gtest.h>

#include "app/workspace/scenario/wave_study.h"
#include "app/workspace/scenario/workspace.h"
#include "core/timeline/metrics.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/labels.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

struct Example {
  const char *name, *model, *cluster, *settings;
};
constexpr Example kExamples[] = {
    {"small", "gpt-tiny", "h100-sxm:1", "global-batch=4"},
    {"pipeline", "llama-3-8b", "h100-sxm:16", "tp=2 pp=4 zero=1 global-batch=16"},
    {"waves", "llama-3-70b", "h100-sxm:64",
     "tp=8 zero=3 micro-batch=2 global-batch=32 seq=8192 schedule=tick-tock"},
    {"large", "gpt-3-175b", "h100-sxm:1024", "tp=8 pp=16 global-batch=512 recompute=full"},
};

// What the panels leave of a window of 1280x800, 1440x900 (and 2880x1800 at 2) and 1600x1000.
constexpr Size kCanvases[] = {{710, 510}, {870, 610}, {1030, 710}};

class Labels : public ::testing::TestWithParam<Example> {};

TEST_P(Labels, AreNeitherCutNorOverEachOtherInAnyView) {
  Request request;
  request.model = GetParam().model, request.cluster = GetParam().cluster;
  request.settings = {GetParam().settings};
  const Scenario scenario = open(request);
  const Grain grain = natural_grain(scenario);
  const ExperimentPtr experiment = simulate(scenario, {.grain = grain, .fixes = false});
  const ViewData data(experiment, cost_model(experiment->workload.scenario),
                      wave_study(scenario, grain));
  const Instant end = makespan(experiment->timeline);
  ViewState reading;  // as while a range is chosen
  reading.range = TimeRange{Instant{end.count() / 5}, Instant{end.count() * 3 / 5}};
  reading.cursor = reading.range->to;
  for (const View& each : testing::non_empty(views()))
    for (const Size size : kCanvases)
      for (const ViewState& state : {ViewState{}, reading})
        for (const std::string& fault : testing::label_faults(each.draw(data, size, state)))
          ADD_FAILURE() << each.name << " at " << size.width << ": " << fault;
}

INSTANTIATE_TEST_SUITE_P(All, Labels, ::testing::ValuesIn(kExamples),
                         [](const auto& example) { return std::string(example.param.name); });

}  // namespace
}  // namespace trainyard
