// A TuneReport is what a tuning has found: every trial with its settings, its figure and its cost,
// in the order in which they were tried (app/workspace/runs/tuning/tuning.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The figure that a tuning makes small.
enum class TuneGoal : std::uint8_t { Time, Memory, Money, Loss };
inline constexpr TuneGoal kTuneGoals[] = {TuneGoal::Time, TuneGoal::Memory, TuneGoal::Money,
                                          TuneGoal::Loss};
std::string_view to_string(TuneGoal);  // "time", as --objective takes it
/// Returns what the figure is called where it is shown: "step", "memory", "money per step", "loss".
std::string_view goal_name(TuneGoal);
/// Returns a value of the goal, such as "1.832 s", "31.2 GiB", "$0.012346", "0.43127". Money and
/// loss have five digits, because trials of one tuning are close to each other.
std::string goal_text(TuneGoal, double value);

struct TuneTrial {
  std::size_t arm = 0;
  std::vector<std::string> set, train;  // the varied settings: "micro-batch=8", "rate=0.1"
  std::optional<double> value;          // of the goal: seconds, bytes, dollars per step, or loss
  std::string why_not;                  // why there is no value
  double cost = 0, spent = 0;           // seconds: of this trial, and of all up to it
  bool better = false;                  // than all trials before
  int together = 0;                     // trials of the program that trained it; 0 = it alone
  std::string why_alone = {};           // where trials were to be trained together and it was not
};

struct TuneArm {
  std::string settings;
  std::size_t trials = 0;
  double spent = 0;
  std::optional<double> best;
};

/// So many jobs together are predicted to have so many times the samples per second of one after
/// another.
struct FusedGain {
  int jobs = 0;
  double gain = 0;
};

/// A TuneFusion tells what became of a tuning's trials that were to be trained together.
struct TuneFusion {
  std::int64_t runs = 0;      // fused ones
  std::int64_t trials = 0;    // whose results come from them
  std::int64_t unneeded = 0;  // trained with others, and never asked for
  int jobs = 0;               // of the largest run, which the following are about
  // The jobs together have so many times the samples per second of one job after another, in
  // processor time of the cores among which they were dealt. The measured number is absent where
  // the run had fewer than three steps.
  std::optional<double> gain, predicted;
  std::optional<std::int64_t> would_fit;  // jobs, in the memory of the device
  double unneeded_seconds = 0;            // which no trial's cost has
  // The best of the unneeded, where it is better than every trial.
  std::optional<double> ahead_value = {};
  std::vector<std::string> ahead_set = {}, ahead_train = {};
  std::size_t ahead_arm = 0;
  std::vector<FusedGain> priced = {};  // by rising jobs, where as many as pay were asked for
};

struct TuneReport {
  std::string model, cluster;
  TuneGoal goal = TuneGoal::Time;
  bool measured = false;
  std::vector<TuneTrial> trials;
  std::vector<TuneArm> arms;
  std::optional<std::size_t> best;  // of trials
  bool exhausted = false, stopped = false;
  std::optional<TuneFusion> fusion = {};  // where trials were to be trained together
  double spent() const { return trials.empty() ? 0 : trials.back().spent; }
};

/// Returns the settings of a family in words: "recompute full".
std::string family_words(const TuneArm&);
/// Returns the settings of a trial in words: "recompute full, micro-batch 8, rate 0.1 of training".
std::string trial_words(const TuneReport&, const TuneTrial&);
/// Returns what a reader is told of a trial beside its figures: that it was the best so far, with
/// how many others it was trained, or why it has no value. Empty where there is nothing to tell.
std::string trial_remark(const TuneTrial&);

}  // namespace trainyard
