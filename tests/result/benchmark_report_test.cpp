#include "core/result/benchmark_report.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace trainyard {
namespace {

ReportSystem honest_system(const std::string& name, double apart) {
  ReportSystem system;
  system.name = name;
  for (int i = 0; i < 29; ++i) {
    ReportRun run;
    run.seeds = {"seed=1", "order-seed=" + std::to_string(1 + i)};
    run.value = 0.9 + apart + 0.001 * (i * 7 % 29) / 29;
    system.runs.push_back(run);
  }
  system.runs_made = 29;
  system.tuning = ReportTuning{4, 1400.0, false};
  return system;
}

BenchmarkReport honest_report() {
  BenchmarkReport report;
  report.claim = "new is better", report.better = "new", report.metric = "accuracy";
  report.systems = {honest_system("old", 0), honest_system("new", 0.01)};
  report.evaluation = ReportEvaluation{0, 10'000, 1, true};
  report.axes = {{"runs", "accuracy", "linear", false}};
  return report;
}

std::set<ReportFlaw> flaws_of(const BenchmarkReport& report) {
  std::set<ReportFlaw> flaws;
  for (const ReportFinding& finding : check_report(report)) {
    flaws.insert(finding.flaw);
    EXPECT_FALSE(finding.sentence.empty());
    EXPECT_FALSE(finding.fix.empty());
    EXPECT_FALSE(finding.place.empty());
  }
  return flaws;
}

using Bend = std::function<void(BenchmarkReport&)>;

// Each flaw alone, in a report that is otherwise honest: exactly that is found. B-REL-06.
TEST(BenchmarkReport, EveryFlawIsFoundWhereItIs) {
  EXPECT_EQ(flaws_of(honest_report()), std::set<ReportFlaw>{});
  const std::pair<ReportFlaw, Bend> bends[] = {
      {ReportFlaw::Missing, [](auto& r) { r.systems[1].runs_made.reset(); }},
      {ReportFlaw::Missing, [](auto& r) { r.systems[0].tuning.reset(); }},
      {ReportFlaw::Missing, [](auto& r) { r.systems[0].tuning->device_seconds.reset(); }},
      {ReportFlaw::Missing, [](auto& r) { r.evaluation.reset(); }},
      {ReportFlaw::Missing, [](auto& r) { r.axes.reset(); }},
      {ReportFlaw::Missing, [](auto& r) { r.better = "newer"; }},
      {ReportFlaw::CherryPickedRuns, [](auto& r) { r.systems[1].runs_made = 60; }},
      {ReportFlaw::CherryPickedRuns, [](auto& r) { r.systems[1].runs[3].reported = false; }},
      {ReportFlaw::CherryPickedSeeds,
       [](auto& r) {
         for (ReportSystem& s : r.systems) s.runs[28].seeds[1] = "order-seed=40";
       }},
      {ReportFlaw::CherryPickedSeeds,
       [](auto& r) {
         for (int i = 0; i < 29; ++i)
           r.systems[1].runs[static_cast<std::size_t>(i)].seeds[1] =
               "order-seed=" + std::to_string(100 + i);
       }},
      {ReportFlaw::WinningMetric, [](auto& r) { r.systems[1].divided_by = "watt"; }},
      {ReportFlaw::WinningMetric,
       [](auto& r) { r.systems[0].divided_by = r.systems[1].divided_by = "dollar"; }},
      {ReportFlaw::TunedOnTheTest,
       [](auto& r) { r.systems[1].tuning->on_evaluation_samples = true; }},
      {ReportFlaw::UnequalTuning, [](auto& r) { r.systems[1].tuning->trials = 300; }},
      {ReportFlaw::FirstPass, [](auto& r) { r.evaluation->stated_before = false; }},
      {ReportFlaw::FirstPass, [](auto& r) { r.target = 0.5, r.evaluation->every = 10; }},
      {ReportFlaw::RivalsThreshold, [](auto& r) { r.target = 0.905; }},
      {ReportFlaw::LogarithmicAxis,
       [](auto& r) { r.axes->push_back({"scaling", "devices", "logarithmic", false}); }},
      {ReportFlaw::NotSignificant, [](auto& r) { r.better = "old"; }},
      {ReportFlaw::NotSignificant,
       [](auto& r) {
         r.systems[1] = honest_system("new", 0);
         r.systems[1].runs[0].value = 0.99;
       }},
  };
  int number = 0;
  for (const auto& [flaw, bend] : bends) {
    BenchmarkReport report = honest_report();
    bend(report);
    EXPECT_EQ(flaws_of(report), std::set<ReportFlaw>{flaw}) << to_string(flaw) << " " << number;
    ++number;
  }
}

TEST(BenchmarkReport, WhatIsShownWholeIsNoFlaw) {
  BenchmarkReport report = honest_report();
  report.axes->push_back({"scaling", "devices", "logarithmic", true});
  report.target = 0.905, report.evaluation->every = 10, report.evaluation->passes = 2;
  for (ReportSystem& s : report.systems) s.curve = {{1, 0.8}, {2, 0.9}, {3, 0.91}};
  EXPECT_EQ(flaws_of(report), std::set<ReportFlaw>{});
}

TEST(BenchmarkReport, AnEmptyOneLacksEverything) {
  const std::vector<ReportFinding> found = check_report({});
  EXPECT_GE(found.size(), 3u);
  for (const ReportFinding& finding : found) EXPECT_EQ(finding.flaw, ReportFlaw::Missing);
}

// The best of N equal runs looks better than the rival; the list of all N does not.
RC_GTEST_PROP(BenchmarkReport, TheBestOfManyRunsIsFlagged, ()) {
  const int made = *rc::gen::inRange(2, 40), kept = *rc::gen::inRange(1, made);
  BenchmarkReport report = honest_report();
  for (ReportSystem& s : report.systems) {
    s.runs.resize(static_cast<std::size_t>(std::min(kept, 29)));
    s.runs_made = made;
  }
  RC_ASSERT(flaws_of(report).contains(ReportFlaw::CherryPickedRuns));
}

}  // namespace
}  // namespace trainyard
