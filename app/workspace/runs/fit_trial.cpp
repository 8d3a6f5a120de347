#include "app/workspace/runs/fit_trial.h"

#include <algorithm>
#include <utility>

#include "app/workspace/scenario/local_cluster.h"
#include "core/base/error.h"
#include "core/result/result.h"

namespace trainyard {
namespace {

FitTrial trained(Scenario scenario, TrainingRequest request, std::string& data) {
  request.scenario = std::move(scenario);
  TrainingJob job(std::move(request));
  expect_fits(*job.predicted(), "expected a plan that fits on this machine", {"--budget"});
  const TrainingReport report = job.run(/*evaluate=*/true, nullptr);
  if (!report.measured)
    throw Error(Error::Kind::Cancelled, "the training was stopped before a step was measured");
  data = report.data;
  FitTrial trial;
  trial.predicted = worst_peak(report.predicted->result);
  trial.measured = worst_peak(report.measured->result);
  trial.step = report.step;
  trial.loss = report.run.losses.back();
  if (report.evaluation) trial.accuracy = report.evaluation->accuracy;
  return trial;
}

}  // namespace

FitTrials try_fit(const FittedPlan& found, const TrainingRequest& request) {
  if (!found.chosen)
    throw Error(Error::Kind::InvalidInput, "expected a plan within the budget, found none",
                {"--steps"});
  expect_local(found.plain);
  FitTrials trials;
  trials.steps = request.training.steps;
  trials.start = trained(found.plain, request, trials.data);
  Scenario chosen = fitted(found, *found.chosen);
  chosen.cluster.device.memory.value = found.budget;
  trials.chosen = trained(std::move(chosen), request, trials.data);
  return trials;
}

}  // namespace trainyard
