// Policies of placement on the same traces, and the verdict of a paired test about each pair of
// them that answers a question.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/result/outperforming.h"
#include "planners/placement/decision_regret.h"
#include "planners/placement/hindsight.h"

namespace trainyard {

struct PlacementQuestion {
  TraceQuestion traces;
  Duration patience = std::chrono::hours(4);
  int training = 40;  // traces that imitations learn from, >= 1
  int held_out = 64;  // traces that policies are compared on, >= 1; none of those
};

/// Means over the held-out traces.
struct PolicyOutcome {
  std::string name;
  bool pairs = false;       // it may pair jobs
  double peak = 0;          // bytes, of the most loaded node
  double against_base = 0;  // that peak against that of least loaded, as -0.03 for 3 % lower
  double peak_to_mean = 0, utilisation = 0, fragmentation = 0;
  double mean_wait = 0;       // s
  double rejected = 0;        // jobs of a trace
  std::vector<double> peaks;  // of each trace, bytes
};

struct PolicyVerdict {
  std::string a, b;
  double change = 0;  // of b's mean peak against a's
  Outperforming verdict;
};

struct PlacementStudy {
  PlacementQuestion question;
  std::vector<PolicyOutcome> policies;  // least loaded first
  std::vector<PolicyVerdict> verdicts;
  std::int64_t learned_from = 0;            // decisions of training traces
  double peak_bound = 0, paired_bound = 0;  // mean of peak_bound() without and with pairs, bytes
  std::int64_t beaten = 0;  // traces on which any policy's cost is below that of its hindsight: 0
  DecisionRegret regret, paired_regret;  // without and with pairs
  // The first held-out trace, as complementary waves place it, and as hindsight with pairs does.
  JobTrace example;
  PlacementSchedule example_policy, example_hindsight;
};

/// Tells `progress` the share that is done, in [0, 1]. Throws Error{InvalidInput} as draw_trace()
/// does, and Error{Cancelled} when stopped.
PlacementStudy placement_study(const PlacementQuestion&, const std::stop_token& = {},
                               const std::function<void(double)>& progress = {});

}  // namespace trainyard
