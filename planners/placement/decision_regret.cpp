#include "planners/placement/decision_regret.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "planners/index.h"
#include "planners/placement/hindsight.h"
#include "planners/placement/placement_policies.h"

namespace trainyard {
namespace {

// Streams of futures lie apart from those of traces.
constexpr std::uint64_t kFutures = 1'000'000;

// The past of one trace and a future of another, which begins when the past ends.
JobTrace joined(const JobTrace& past, const JobTrace& future) {
  std::vector<TracedJob> jobs = past.jobs;
  const Instant now = jobs.back().arrival;
  for (TracedJob job : future.jobs) {
    job.arrival += now;
    jobs.push_back(job);
  }
  return make_trace(past.kinds, std::move(jobs));
}

}  // namespace

DecisionRegret decision_regret(TraceQuestion question, bool pairs, int decisions, int futures,
                               const std::stop_token& stop) {
  question.nodes.count = kRegretNodes;
  question.nodes.bytes = std::numeric_limits<std::int64_t>::max() / 4;
  const PlacementRules rules{question.nodes, Duration{}, pairs};
  DecisionRegret found;
  found.decisions = decisions, found.futures = futures;
  for (int d = 0; d < decisions; ++d) {
    question.jobs = kRegretPast + 1;
    const JobTrace past = draw_trace(question, static_cast<std::uint64_t>(d));
    question.jobs = kRegretFuture;
    std::vector<double> sums;  // of each place over futures, bytes
    double least_sum = 0;
    for (int f = 0; f < futures; ++f) {
      const JobTrace trace = joined(
          past, draw_trace(question,
                           kFutures + static_cast<std::uint64_t>(std::int64_t{d} * futures + f)));
      ClusterState state(trace, rules);
      for (int job = 0; job < kRegretPast; ++job) dispatch(state, job, least_loaded);
      state.pass_until(trace.jobs[at(kRegretPast)].arrival);
      const std::vector<PlacementOption> options = state.options(kRegretPast, false);
      sums.resize(options.size());
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < options.size(); ++i) {
        ClusterState next = state;
        next.start(kRegretPast, options[i]);
        const auto peak = static_cast<double>(least_cost_from(next, kRegretPast + 1, stop).peak);
        sums[i] += peak;
        least = std::min(least, peak);
      }
      if (!options.empty()) least_sum += least;
    }
    if (sums.empty() || least_sum == 0) continue;
    const double loss = *std::min_element(sums.begin(), sums.end()) / least_sum - 1;
    if (loss > 0) ++found.with_loss;
    found.loss += loss / decisions;
    found.largest = std::max(found.largest, loss);
  }
  return found;
}

}  // namespace trainyard
