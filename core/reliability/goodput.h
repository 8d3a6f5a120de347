// Goodput is the useful part of a training's wall time when devices fail: what is left beside
// saving checkpoints, work that failures take back, restarts, and waits for nodes. Papers call it
// the effective training time ratio.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/banded.h"
#include "core/reliability/checkpoint_cost.h"
#include "core/reliability/checkpoint_interval.h"
#include "core/reliability/failure_rates.h"
#include "core/reliability/training_weeks.h"
#include "core/result/training_cost.h"

namespace trainyard {

inline constexpr std::string_view kNoFailures = "none";  // a name of no record
inline constexpr std::int64_t kMostWeeks = 520, kMostSpares = 100'000, kMostCopies = 16;

/// Times are seconds.
struct GoodputQuestion {
  double work = 1e12;              // tokens of the training, or samples of a model without; > 0
  std::string record = "llama-3";  // whose failures; kNoFailures: nothing fails
  std::optional<double> mtbf;      // of the whole job, instead of the record's; > 0
  Recovery recovery = Recovery::Full;
  std::optional<double> interval;  // useful time between saves, > 0; empty: the best one
  Storage storage;
  double detection = 600;              // from a failure until it is known and its node found
  double scheduling = 300;             // until processes have started again and can load
  std::optional<std::int64_t> spares;  // nodes; empty: always enough
  double repair = 86400;               // of a node that was replaced
  double portion = 0.1;                // of lost samples that a partial recovery may have, (0, 1)
  std::int64_t copies = 2;             // of state in memories of peers, its own included
  std::int64_t weeks = 8;              // that are drawn
  std::uint64_t seed = 1;
};
/// From where the usual times of a restart are, as one sentence.
extern const std::string_view kRestartSource;

/// The plan that a question is about, which stays the same while the question changes.
struct GoodputSubject {
  Scenario scenario;
  Result result;
  CheckpointBytes bytes;
};
GoodputSubject goodput_subject(const Workload&, const Result&);

/// One change, at the answer's other settings.
struct GoodputLever {
  std::string name;                 // "storage twice as fast"
  double goodput = 0;               // after it
  double left = 1;                  // of the time that is lost now, in [0, 1] where it helps
  std::optional<double> halves_at;  // times as much of it halves what is lost; empty: none does, or
                                    // it has no amount
};

struct GoodputPhase {
  std::int64_t batch = 0;
  TrainingCost cost;  // with failures
};

struct ComponentStops {
  Component component = Component::Node;
  double stops = 0;  // expected over the training
};

/// Overhead at an interval, both in useful seconds.
struct IntervalPoint {
  double interval = 0;
  LostTime lost;
};

struct GoodputAnswer {
  GoodputQuestion question;
  std::string model, cluster;
  std::string misfit;  // why the plan does not fit into its devices; empty where it does
  std::int64_t devices = 1, nodes = 1;
  bool counts_tokens = true;
  CheckpointBytes bytes;
  CheckpointTimes times;
  SavedTraining training;
  double step = 0;                       // seconds
  double young = 0, daly = 0, best = 0;  // useful seconds; infinite = never save
  double least = 0;                      // interval that storage allows, and one step
  double interval = 0;                   // that is taken; infinite = never
  LostTime lost;                         // for each useful second
  double waiting = 0;                    // share of wall time in which the job waits for a node
  Banded<double> goodput;  // (0, 1]; low and high are the 5th and 95th of a hundred drawn trainings
  double replaced_share = 0;
  std::int64_t spares_for_a_thousandth = 0;  // with which the job waits for at most 0.1 % of time
  double stops = 0;                          // expected over the training
  std::vector<ComponentStops> by_component;  // where a record tells them apart, else one
  TrainingCost undisturbed, cost;            // without and with failures and saves
  std::vector<GoodputPhase> phases;          // of a batch ramp; empty where every step is the same
  std::optional<double> lost_samples;        // portion, of a partial recovery
  std::optional<double> copies_lost;         // chance that a failure takes all copies at peers
  std::vector<IntervalPoint> curve;          // rising
  std::vector<GoodputLever> levers;
  DrawnWeeks drawn;
  std::string fallback = {};  // why this is a full recovery where a partial one was asked for
};

/// A partial recovery falls back to a full one, as CPR does (Maeng et al., MLSys 2021), where the
/// interval that is given or that storage allows would lose a larger portion of samples than the
/// question permits, or where saves often enough for that portion cost more than a full recovery.
/// Throws Error{InvalidInput} at the name of the field of the question that is wrong, or that makes
/// more than two million failures or kMostSpares nodes under repair, what checkpoint_times()
/// throws, and Error{Unsupported} where the training would never end: at
/// "interval" where other saves would mend it, else at "mtbf" where that was given, else at the
/// longest part of a restart.
GoodputAnswer goodput(const GoodputSubject&, const GoodputQuestion&);

/// Return a sentence for each thing that follows, and for each that is left out.
std::vector<std::string> goodput_sentences(const GoodputAnswer&);
std::vector<std::string> goodput_leaves_out(const GoodputAnswer&);
/// Where the figures are from, a sentence each.
std::vector<std::string> goodput_sources(const GoodputAnswer&);
/// "3.1 h", "54.2 days", "never": seconds as people say them.
std::string long_time(double seconds);

}  // namespace trainyard
