// A benchmark report is what somebody says of two or more systems: the claim, every run behind it,
// how it was tuned, how it was evaluated and how it is drawn. check_report() finds what a report
// leaves out, and the ways in which reports make a system look better than it is; each of them has
// been published (Coleman et al., "Analysis of DAWNBench", 2019; Bouthillier et al., MLSys 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A figure at a step of a run, or one of a trade: a latency and what was reached at it.
struct ReportPoint {
  double at = 0, value = 0;
};

struct ReportRun {
  std::int64_t id = 0;                        // in a run list; 0 = none
  std::vector<std::string> seeds;             // "seed=1", "order-seed=3"
  std::optional<double> value;                // of the metric; absent: the run failed
  std::string why_not = {};                   // a sentence where there is no value
  bool reported = true;                       // it is part of what the claim rests on
  std::vector<ReportPoint> evaluations = {};  // the metric by step
};

/// The search for a system's settings.
struct ReportTuning {
  std::int64_t trials = 0;
  std::optional<double> device_seconds = {};  // that they took; absent: not stated
  bool on_evaluation_samples = false;         // trials were chosen by the samples of the claim
};

struct ReportSystem {
  std::string name;
  std::vector<std::string> settings;
  std::vector<ReportRun> runs;
  std::optional<std::int64_t> runs_made = {};  // those left out too; absent: not stated
  std::optional<ReportTuning> tuning = {};
  std::string divided_by = {};          // what the metric is divided by: "watt"; empty = nothing
  std::vector<ReportPoint> curve = {};  // the metric over what it is traded for
};

/// When a run was evaluated, and how it counted as having reached a target.
struct ReportEvaluation {
  std::int64_t every = 0;  // updates; 0 = once, at the end
  std::int64_t samples = 0;
  std::int64_t passes = 1;     // evaluations in a row that must reach the target
  bool stated_before = false;  // in the plan, before the first run
};

struct ReportAxis {
  std::string figure, name;  // "scaling", "devices"
  std::string scale;         // "linear" or "logarithmic"
  bool ideal = false;        // the line of an ideal system is drawn too
};

struct BenchmarkReport {
  std::string claim;   // "B reaches a higher accuracy than A"
  std::string better;  // the name of the system that it says is better; empty: none is
  std::string metric;  // "accuracy"
  bool less_is_better = false;
  std::optional<double> target = {};  // a threshold that counts as success
  std::vector<ReportSystem> systems;
  std::optional<ReportEvaluation> evaluation = {};
  std::optional<std::vector<ReportAxis>> axes = {};  // of its pictures; absent: not stated
};

enum class ReportFlaw : std::uint8_t {
  Missing,           // what every report must state
  CherryPickedRuns,  // the best of more runs
  CherryPickedSeeds,
  WinningMetric,  // divided by what one system wins in, or by different things
  TunedOnTheTest,
  UnequalTuning,
  FirstPass,        // the first of many evaluations that passed counts
  RivalsThreshold,  // a threshold that only one can meet, without what lies beside it
  LogarithmicAxis,  // on which a gap looks small
  NotSignificant,   // chance explains the difference
};
std::string_view to_string(ReportFlaw);  // "cherry-picked-runs"

struct ReportFinding {
  ReportFlaw flaw = ReportFlaw::Missing;
  std::string place;     // "systems/0/runs"
  std::string sentence;  // found, and why it matters
  std::string fix;       // what an honest report has there
};

/// The sentence about a report without a flaw.
inline constexpr std::string_view kFlawlessReport =
    "every run, seed, trial, evaluation and axis is stated, and nothing is bent";

/// Returns every flaw, in the order of the report; none: it says all that it must.
std::vector<ReportFinding> check_report(const BenchmarkReport&);

}  // namespace trainyard
