#include "app/workspace/plans/scaling_study.h"

#include <memory>

#include "app/workspace/scenario/prices.h"
#include "core/validation/bands.h"
#include "planners/plans/search_degrees.h"

namespace trainyard {

ScalingStudy scaling_study(const Scenario& scenario, const ScalingQuestion& question) {
  const auto cost = prices_of_plans(question.calibration);
  SearchOptions options;
  options.cost = cost;
  options.stop = question.stop;
  // What is wrong with the words of the question is said once, and not for each number of devices.
  if (question.searched) degree_space(scenario, question.bounds);
  const auto result_of = [&](const Scenario& s) {
    const Workload workload =
        prepare(question.searched ? search_degrees(s, question.bounds, options) : s);
    return banded_estimate(workload, *cost(workload.scenario));
  };
  return scaling(scenario, {question.devices, question.searched}, [&](const Scenario& s) {
    try {
      if (!question.stop.stop_requested()) return result_of(s);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::Cancelled) throw;
    }
    refuse("devices", "stopped before this number of devices was looked at");
  });
}

}  // namespace trainyard
