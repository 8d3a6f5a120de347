// The figures in the pictures are those of the result, whatever the plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/workspace/scenario/run_once.h"
#include "core/timeline/metrics.h"
#include "tests/support/non_empty.h"
#include "tests/support/random_scenarios.h"
#include "tests/visualizers/labels.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr Size kPictureSize{1000, 2400};  // every rank has a row

// The percentages that end left of the plot, from top to bottom: one of each rank.
std::vector<std::string> gutter_percentages(const Drawing& drawing) {
  std::vector<Label> found;
  for (const Label& label : drawing.labels)
    if (label.align == Align::Right && label.at.x == kGutter - 8 && label.text.ends_with(" %"))
      found.push_back(label);
  std::stable_sort(found.begin(), found.end(),
                   [](const Label& a, const Label& b) { return a.at.y < b.at.y; });
  std::vector<std::string> words;
  for (const Label& label : found) words.push_back(label.text);
  return words;
}

// A rank is busy while it computes: for all of the step but bubble, exposed communication and waits
// for the host.
TEST(PictureFigures, BusyIsWhatTheResultCountsAsComputation) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const Scenario scenario =
        testing::DrawnScenario(seed, testing::synchronous_schedules()).scenario();
    const auto experiment = run_once(scenario, {});
    const ViewData data(experiment, cost_model(experiment->workload.scenario));
    const StepWindow window = step_window(experiment->timeline, experiment->program);
    ViewState state;
    state.range = state.shown = TimeRange{window.from, window.to};
    std::vector<std::string> expected;
    for (const Breakdown& b :
         breakdowns(experiment->timeline, experiment->program, experiment->prices.recompute_share))
      expected.push_back(
          format_percent(share(b, b.forward + b.backward + b.recompute + b.optimizer)));
    EXPECT_EQ(gutter_percentages(view("timeline").draw(data, kPictureSize, state)), expected)
        << seed;
  }
}

TEST(PictureFigures, TheBubbleOfEnergyIsThatOfTheResult) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const auto experiment =
        run_once(testing::DrawnScenario(seed, testing::synchronous_schedules()).scenario(), {});
    const ViewData data(experiment, cost_model(experiment->workload.scenario));
    Duration bubble{}, all{};
    const EnergyModel& model = data.get<EnergyModel>();
    for (std::size_t rank = 0; rank < model.ranks.size(); ++rank)
      for (const EnergyPart& part : testing::non_empty(energy_parts(model, rank))) {
        all += part.time;
        if (part.name == "bubble") bubble += part.time;
      }
    EXPECT_NEAR(to_seconds(bubble) / to_seconds(all), experiment->result.bubble_fraction, 1e-9)
        << seed;
  }
}

}  // namespace
}  // namespace trainyard
