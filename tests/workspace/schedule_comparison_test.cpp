// Tests schedules at equal memory: compared plans keep the budget, batch and sequence, and a
// schedule that does not fit states by how much.
#include "app/workspace/schedules/schedule_panels.h"

#include <gtest/gtest.h>

#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/estimate/estimate.h"
#include "core/lowering/lower.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Scenario scenario(const std::vector<std::string>& settings = {}) {
  Request request{"llama-3-8b", "h100-sxm:8", "", {"pp=4", "global-batch=16", "zero=1"}};
  request.settings.insert(request.settings.end(), settings.begin(), settings.end());
  return open(request);
}

const ComparedSchedule& find(const ScheduleComparison& comparison, std::string_view name) {
  for (const ComparedSchedule& s : comparison.schedules)
    if (s.name == name) return s;
  throw Error(Error::Kind::Internal, "not compared");
}

TEST(ScheduleComparison, HasEveryScheduleOfTheCatalogueAtEqualMemory) {
  const ScheduleComparison comparison = compare_schedules(scenario(), {.budget = 60_GiB});
  std::size_t schedules = 0;
  for (const Method& method : methods()) schedules += method.axis == MethodAxis::Schedule;
  EXPECT_EQ(comparison.schedules.size(), schedules);
  for (const ComparedSchedule& s : testing::non_empty(comparison.schedules)) {
    if (s.experiment == nullptr) {
      EXPECT_FALSE(s.why_not.empty()) << s.name;
      continue;
    }
    EXPECT_EQ(s.experiment->result.capacity, 60_GiB) << s.name;
    EXPECT_EQ(s.experiment->workload.scenario.plan.batch.global, 16) << s.name;
    EXPECT_EQ(s.fits, s.peak <= 60_GiB) << s.name;
    EXPECT_EQ(s.fits, s.why_not.empty()) << s.name;
    EXPECT_EQ(s.asynchronous, !s.tokens.empty()) << s.name;
  }
}

// A schedule that needs a setting gets it automatically.
TEST(ScheduleComparison, InterleavedGetsItsChunks) {
  const ComparedSchedule s =
      compare_schedules(scenario(), {.schedules = {"interleaved"}}).schedules.front();
  ASSERT_TRUE(s.legal) << s.why_not;
  EXPECT_NE(s.changed.find("virtual-stages="), std::string::npos) << s.changed;
}

// The result is the plan with the changes: simulated by itself it gives the same figures.
TEST(ScheduleComparison, ChangesAreArgumentsOfSet) {
  const ScheduleComparison comparison = compare_schedules(scenario(), {.budget = 45_GiB});
  for (const ComparedSchedule& s : testing::non_empty(comparison.schedules)) {
    if (s.experiment == nullptr) continue;
    Scenario again = scenario({"schedule=" + s.name});
    for (std::size_t from = 0; from < s.changed.size();) {
      const std::size_t end = std::min(s.changed.find(' ', from), s.changed.size());
      apply_setting(again.plan, s.changed.substr(from, end - from));
      from = end + 1;
    }
    EXPECT_EQ(simulate(again, {.fixes = false})->result.step.value, s.step) << s.name;
  }
}

// Less memory never makes a schedule quicker.
TEST(ScheduleComparison, ASmallerBudgetIsNeverQuicker) {
  Duration before{};
  for (const Bytes budget : {70_GiB, 50_GiB, 42_GiB, 38_GiB}) {
    const ScheduleComparison comparison =
        compare_schedules(scenario(), {.budget = budget, .schedules = {"1f1b"}});
    const ComparedSchedule& s = comparison.schedules.front();
    if (!s.fits) break;
    EXPECT_GE(s.step, before);
    before = s.step;
  }
  EXPECT_GT(before, Duration{});
}

TEST(ScheduleComparison, WhatNeverFitsSaysByHowMuch) {
  const ScheduleComparison comparison = compare_schedules(scenario(), {.budget = 8_GiB});
  const ComparedSchedule& s = find(comparison, "1f1b");
  EXPECT_FALSE(s.fits);
  EXPECT_EQ(s.why_not.substr(0, 17), "no variant fits: ") << s.why_not;
  ASSERT_NE(s.experiment, nullptr);
  EXPECT_GT(s.peak, 8_GiB);
}

// An edited order keeps its settings and stands beside what the schedule itself would do.
TEST(ScheduleComparison, AnOwnOrderIsComparedAsItIs) {
  const Scenario before = scenario({"schedule=1f1b"});
  EXPECT_FALSE(compare_schedules(before, {.schedules = {"1f1b"}}).schedules.front().own_order);
  // All forwards first: legal on the same stages, and it holds more.
  const Workload w = prepare(scenario({"schedule=gpipe"}));
  const std::string gpipe =
      to_text(order(w, schedule_shape(w, phase_times(w, *cost_model(w.scenario)))));
  const ScheduleComparison comparison = compare_schedules(
      scenario({"schedule=1f1b", "order=" + gpipe}), {.schedules = {"1f1b", "gpipe"}});
  ASSERT_EQ(comparison.schedules.size(), 3u);
  const ComparedSchedule &own = comparison.schedules[0], &gpipe_itself = comparison.schedules[2];
  EXPECT_TRUE(own.own_order);
  EXPECT_EQ(own.name, "1f1b");
  EXPECT_EQ(own.changed, "");
  ASSERT_TRUE(own.legal) << own.why_not;
  EXPECT_EQ(own.tried, 1);
  EXPECT_FALSE(comparison.schedules[1].own_order);
  if (gpipe_itself.changed.empty()) {
    EXPECT_EQ(own.step, gpipe_itself.step);
    EXPECT_EQ(own.peak, gpipe_itself.peak);
  }
  EXPECT_GT(own.peak, comparison.schedules[1].peak);
}

TEST(ScheduleComparison, PanelsCarryTheSettingsThatMakeThePlanSo) {
  const ScheduleComparison comparison =
      compare_schedules(scenario(), {.schedules = {"interleaved", "1f1b"}});
  const std::vector<SchedulePanel> panels = ranked_panels(comparison, "1f1b");
  ASSERT_EQ(panels.size(), 2u);
  EXPECT_EQ(panels[0].name, "1f1b");
  EXPECT_EQ(panels[0].settings.front(), "schedule=1f1b");
  EXPECT_EQ(panels[1].settings.front(), "schedule=interleaved");
  ASSERT_GT(panels[1].settings.size(), 1u);
  EXPECT_EQ(panels[1].settings[1].substr(0, 15), "virtual-stages=");
}

TEST(ScheduleComparison, WhatIsNotASchedulesNameIsRefused) {
  EXPECT_THROW(compare_schedules(scenario(), {.schedules = {"1f1c"}}), Error);
  EXPECT_THROW(compare_schedules(scenario(), {.schedules = {"zero"}}), Error);
  EXPECT_THROW(compare_schedules(scenario(), {.budget = Bytes{-1}}), Error);
}

TEST(ScheduleComparison, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  EXPECT_THROW(compare_schedules(scenario(), {.stop = source.get_token()}), Error);
}

}  // namespace
}  // namespace trainyard
