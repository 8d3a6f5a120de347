// Two results held against each other: figures with signed changes, time by cause and bytes by
// category in parts that sum to the difference, what lies between the two plans field by field, and
// sentences that say why the quicker one is quicker.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/workspace/runs/run_store.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/json/json.h"
#include "core/validation/difference.h"
#include "visualizers/chart/figure_cards.h"
#include "visualizers/compare/waterfall_view.h"
#include "visualizers/timeline/rank_deltas.h"

namespace trainyard {

/// A step or a device's memory taken apart, in the order of its document.
struct ComparedParts {
  std::vector<std::pair<std::string, double>> list;  // "tensor_parallel", seconds or bytes
  double sum() const;
  double of(const std::string& name) const;  // 0 where it is not there
};

/// One of the two.
struct ComparedResult {
  std::string title;      // "1F1B", "tp=2 zero=1", "run 7": what headings call it
  std::string name;       // "simulate: op grain of gpt-tiny on cpu:2 with tp=2": what it is of
  ComparedParts seconds;  // of the critical device
  ComparedParts bytes;    // of the device with the highest peak, at it
  // What its document says; nothing where it does not say.
  std::optional<double> step, mfu, bubble, exposed;  // seconds; shares
  std::optional<double> rate;                        // tokens or samples a second and device
  std::optional<double> energy, money;               // joules and US dollars a step
  std::optional<double> peak, capacity;              // bytes
  std::string fit;                                   // "fits", "may not fit, 1.20 GiB spare"
  bool counts_tokens = true;
  ExperimentPtr experiment;          // null for a document
  std::optional<Scenario> scenario;  // of a plan; a document has none
};

/// title: "1F1B".
ComparedResult compared(ExperimentPtr, std::string title);
/// A trainyard/result or trainyard/run document. Throws Error{InvalidInput}, also for an estimate,
/// which does not say where its time goes.
ComparedResult compared_document(const Json&, const std::string& path);
/// Simulates at the plan's natural grain; cost: null = cost_model(scenario). Throws as simulate
/// does.
ComparedResult compared_plan(Scenario, std::string title, std::stop_token = {},
                             const CostModel* cost = nullptr);
/// What it measured. Throws as open_run does.
ComparedResult compared_run(const RecordedRun&);
/// What a word of the command line names: "published:ID", "run:ID" of the list of runs, settings
/// such as "tp=2 zero=1" on top of the request, else the file of a document. Blocks: simulates.
/// Throws Error{InvalidInput} or Error{Io}.
ComparedResult open_compared(const std::string& word, const Request& base);
/// The id in "run:7"; nothing for other words. Throws Error{InvalidInput} for "run:" and no number.
std::optional<std::int64_t> run_number(std::string_view word);

enum class FigureUnit : std::uint8_t { Seconds, Share, Memory, PerSecond, Energy, Dollars };
struct ComparedFigure {
  std::string key;    // "step"
  std::string title;  // "Step time"
  FigureUnit unit = FigureUnit::Seconds;
  bool less_is_better = true;
  std::optional<double> a, b;
};
/// "4.938 s", "37.7 %", "71.7 GiB", "830 /s", "0.42 $"; "–" for nothing.
std::string figure_text(FigureUnit, std::optional<double>);

struct ResultComparison {
  ComparedResult a, b;
  std::vector<ComparedFigure> figures;  // that at least one of the two has
  WaterfallModel time, memory;          // parts that changed most first; sum to the difference
  RankDeltas ranks;                     // where both have timelines with as many ranks
  std::optional<Difference> fields;     // where both are plans
  std::string headline;                 // "B takes 16.5 % less time and fits"
  std::vector<std::string> reasons;     // sentences, what matters most first
};
/// Blocks where both are plans: prices each field by the closed form.
ResultComparison compare_results(ComparedResult a, ComparedResult b);
std::vector<FigureCard> figure_cards(const ResultComparison&);

/// Names of the parts of either, those that changed most first; what neither has is left out.
std::vector<std::string> part_names(const ComparedParts& a, const ComparedParts& b);

}  // namespace trainyard
