// Compares two results: figures with signed changes, time by cause and bytes by category in parts
// that sum to the difference, the differences between the two plans field by field, and sentences
// that say why the faster one is faster.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/workspace/runs/run_scores.h"
#include "app/workspace/runs/run_store.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/json/json.h"
#include "core/result/outperforming.h"
#include "core/validation/difference.h"
#include "visualizers/chart/figure_cards.h"
#include "visualizers/compare/waterfall_view.h"
#include "visualizers/timeline/rank_deltas.h"

namespace trainyard {

/// A step, or a device's memory, in parts, in the order of its document.
struct ComparedParts {
  std::vector<std::pair<std::string, double>> list;  // "tensor_parallel", seconds or bytes
  double sum() const;
  double of(const std::string& name) const;  // 0 if there is no such part
};

/// One side of a comparison.
struct ComparedResult {
  std::string title;      // "1F1B", "tp=2 zero=1", "run 7": its name in headings
  std::string name;       // what it describes: "simulate: op grain of gpt-tiny on cpu:2 with tp=2"
  ComparedParts seconds;  // of the critical device
  ComparedParts bytes;    // of the device with the highest peak, at that peak
  // The figures of its document; empty if the document does not state them.
  std::optional<double> step, mfu, bubble, exposed;  // seconds; shares
  std::optional<double> rate;                        // tokens or samples per second and device
  std::optional<double> energy, money;               // joules and US dollars per step
  std::optional<double> peak, capacity;              // bytes
  std::string fit;                                   // "fits", "may not fit, 1.20 GiB spare"
  bool counts_tokens = true;
  ExperimentPtr experiment;           // null if it was read from a document
  std::optional<Scenario> scenario;   // of a plan; empty for a document
  std::vector<RunScore> runs = {};    // recorded runs that this side is; empty for all else
  std::optional<double> carbon = {};  // kilograms per step, where the document states them
};

/// title: such as "1F1B".
ComparedResult compared(ExperimentPtr, std::string title);
/// Reads a trainyard/result or trainyard/run document. Throws Error{InvalidInput}, also for an
/// estimate, which does not state where its time goes.
ComparedResult compared_document(const Json&, const std::string& path);
/// Simulates the plan at its natural grain; cost: null = cost_model(scenario). Throws as simulate()
/// does.
ComparedResult compared_plan(Scenario, std::string title, std::stop_token = {},
                             const CostModel* cost = nullptr);
/// Returns whether the word names recorded runs: "run:7", "run:7..35", "runs:WORDS".
bool names_runs(std::string_view word);
/// Returns the numbers of the runs that the word names, rising: one, a range of those there are, or
/// all that RunStore::list() finds by the words. Throws Error{InvalidInput} for another form, and
/// where it names none or more than 10,000.
std::vector<std::int64_t> runs_named(std::string_view word, const RunStore&);
/// Gives what the runs measured: their scores, and the time and memory of the one with the median
/// step. Throws as runs_named() and open_run() do.
ComparedResult compared_runs(std::string_view word, const RunStore&);
/// Opens what a word of the command line names: "published:ID", runs of the run list, settings
/// such as "tp=2 zero=1" applied to the request, or else the file of a document. Blocks while it
/// simulates. Throws Error{InvalidInput} or Error{Io}.
ComparedResult open_compared(const std::string& word, const Request& base);

enum class FigureUnit : std::uint8_t {
  Seconds,
  Share,
  Memory,
  PerSecond,
  Energy,
  Dollars,
  Kilograms
};
struct ComparedFigure {
  std::string key;    // "step"
  std::string title;  // "Step time"
  FigureUnit unit = FigureUnit::Seconds;
  bool less_is_better = true;
  std::optional<double> a, b;
};
/// Such as "4.938 s", "37.7 %", "71.7 GiB", "830 /s", "0.42 $"; "–" if there is no value.
std::string figure_text(FigureUnit, std::optional<double>);

struct ResultComparison {
  ComparedResult a, b;
  std::vector<ComparedFigure> figures;    // those that at least one side has
  WaterfallModel time, memory;            // largest changes first; parts sum to the difference
  RankDeltas ranks;                       // if both have timelines with equally many ranks
  std::optional<Difference> fields;       // if both are plans
  std::string headline;                   // "B takes 16.5 % less time and fits"
  std::vector<std::string> reasons;       // sentences, the most important first
  std::vector<JudgedFigure> judged = {};  // where both sides are recorded runs
};
/// Compares two sides. Where both are recorded runs, a verdict over all of them (judged_runs.h)
/// comes first, and no difference is called better that it does not bear out. Blocks if both are
/// plans, because it prices each differing field by the closed form.
ResultComparison compare_results(ComparedResult a, ComparedResult b);
std::vector<FigureCard> figure_cards(const ResultComparison&);

/// The names of the parts of both, largest change first; parts that neither has are left out.
std::vector<std::string> part_names(const ComparedParts& a, const ComparedParts& b);

}  // namespace trainyard
