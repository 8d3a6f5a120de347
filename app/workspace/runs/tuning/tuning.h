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
#include "core/result/tune_report.h"
#include "core/training/training.h"
#include "planners/tuning/cost_frugal.h"

namespace trainyard {

/// A setting and the values it may take: words in an order, or numbers from low to high.
struct Vary {
  std::string key;                 // of a setting, a parameter of a method, or of training
  bool training = false;           // whether it is of training; written with "train." before it
  Dimension dimension;             // of indices into `words` if there are any
  std::vector<std::string> words;  // in their order
};

/// The value as the text of a setting. Reals are rounded to four digits, and the rounded value is
/// what is tried.
std::string value_text(const Vary&, double value);
/// Reads KEY=LOW..HIGH or KEY=WORD,WORD,..., optionally followed by @VALUE, where the search begins
/// and which should be cheap (by default the first value). A range has whole numbers if the key
/// takes no others, and a logarithmic scale if it begins above 0 and spans a factor of eight.
/// Throws Error{InvalidInput} at --vary for a key that is neither a setting (of any of these plans)
/// nor of training, for values that the key does not accept, and for inconsistent ranges.
Vary parse_vary(std::string_view text, const std::vector<Plan>&);

struct TuneRequest {
  Request base;
  std::vector<std::string> vary;  // as parse_vary() reads them
  // The settings of each family, as apply_words() reads them; empty = the base alone.
  std::vector<std::string> arms;
  TuneGoal goal = TuneGoal::Time;
  bool measure = false;     // run on this machine; else simulate
  Training training;        // if measured: its steps form a trial
  std::string data;         // if measured: as TrainingRequest::data
  std::string calibration;  // file, as open_cost_model() reads it; empty = the workbench's own
  FrugalOptions options;    // costs are in seconds; its progress is not called
  std::function<void(const TuneReport&)> progress = {};  // called after every trial
  // Trials that differ in training alone are trained together, at most so many; 0 = as many as fit
  // and pay; nothing: every trial alone.
  std::optional<int> fuse = {};
};

/// Tunes and blocks until done. A simulated trial costs the seconds that its steps (training.steps
/// of them) would take, a measured trial the seconds that they took. A plan that does not fit costs
/// one step; an illegal plan costs as much as the cheapest trial before it (1 s before any), and a
/// trial that was trained with others its equal share. Throws Error{InvalidInput} if words are
/// wrong, nothing is varied, or the goal is not available: money cannot be measured, a loss cannot
/// be simulated, and trials that are trained together have no step and no memory of their own.
TuneReport tune(const TuneRequest&);

}  // namespace trainyard
