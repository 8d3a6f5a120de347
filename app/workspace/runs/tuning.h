// Tunes settings of a scenario: families of them ("arms") and values within ranges, tried by the
// simulator or by training for real on this machine, cheap ones first
// (planners/tuning/cost_frugal.h).
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/workspace/scenario/workspace.h"
#include "core/training/training.h"
#include "planners/tuning/cost_frugal.h"

namespace trainyard {

enum class TuneGoal : std::uint8_t { Time, Memory, Money, Loss };
std::string_view to_string(TuneGoal);  // "time"

/// A setting and what it may be. Of words in an order, or of numbers from low to high.
struct Vary {
  std::string key;                 // of a setting, a parameter of a method, or of training
  bool training = false;           // the latter; written with "train." before it
  Dimension dimension;             // of indices into words where there are any
  std::vector<std::string> words;  // in their order
};

/// As a setting's text: reals to four digits, which is what is tried.
std::string value_text(const Vary&, double value);
/// Reads KEY=LOW..HIGH or KEY=WORD,WORD,... and where the search begins, which should be cheap:
/// @VALUE behind either, by default the first. A range is of whole numbers where the key takes no
/// others, and is walked in ratios where it begins above 0 and spans a factor of eight. Throws
/// Error{InvalidInput} at --vary: no such key among settings (of any of these plans) or training,
/// values that the key does not take, ranges that make no sense.
Vary parse_vary(std::string_view text, const std::vector<Plan>&);

struct TuneReport;

struct TuneRequest {
  Request base;
  std::vector<std::string> vary;  // as parse_vary() reads them
  std::vector<std::string> arms;  // settings of each family, as apply_words() reads them; empty =
                                  // the base alone
  TuneGoal goal = TuneGoal::Time;
  bool measure = false;     // on this machine; else simulated
  Training training;        // measured: its steps are a trial's
  std::string data;         // measured: as TrainingRequest::data
  std::string calibration;  // a file as open_cost_model() reads it; empty = the workbench's own
  FrugalOptions options;    // its cost in seconds; its progress is not called
  std::function<void(const TuneReport&)> progress = {};  // after every trial
};

struct TuneTrial {
  std::size_t arm = 0;
  std::vector<std::string> set, train;  // "micro-batch=8", "rate=0.1": what is varied
  std::optional<double> value;          // of the goal: seconds, bytes, dollars a step, loss
  std::string why_not;                  // there is none
  double cost = 0, spent = 0;           // seconds, of it and of all up to it
  bool better = false;                  // than all before
};

struct TuneArm {
  std::string settings;
  std::size_t trials = 0;
  double spent = 0;
  std::optional<double> best;
};

struct TuneReport {
  std::string model, cluster;
  TuneGoal goal = TuneGoal::Time;
  bool measured = false;
  std::vector<TuneTrial> trials;
  std::vector<TuneArm> arms;
  std::optional<std::size_t> best;  // of trials
  bool exhausted = false, stopped = false;
  double spent() const { return trials.empty() ? 0 : trials.back().spent; }
};

/// Blocks. A simulated trial costs the seconds that its steps would take (training.steps of them),
/// a measured one those that it took. What does not fit costs as much, found out by its first step;
/// what is not legal as much as the cheapest trial before it (1 s before any). Throws
/// Error{InvalidInput} where words are wrong, nothing is varied, or the goal cannot be had that
/// way: money is not measured, a loss not simulated.
TuneReport tune(const TuneRequest&);

}  // namespace trainyard
