#include "app/workspace/runs/fused_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "backends/cpu/calibration/fused_prices.h"
#include "backends/cpu/fused.h"
#include "core/base/error.h"
#include "core/result/figures.h"

namespace trainyard {
namespace {

constexpr std::int64_t kStepsAlone = 10;  // to know what one job after another takes
constexpr std::size_t kFewSteps = 3;      // in fewer, what is done once decides how long they take
constexpr double kPays = 1.05;            // a smaller gain is not worth training ahead

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace

// The trials of one program.
struct FusedTrials::Partition {
  ExperimentPtr predicted;
  std::map<DataSeeds, std::unique_ptr<DataSource>> data;
  std::unique_ptr<Training> training;  // of the first trial, which is priced
  std::optional<FusedPricer> prices;
  std::optional<std::int64_t> fits;  // jobs in the device's memory
  int most = 0;
  std::string why_not;  // it is trained alone
  double alone = 0;     // steps of one job in a second; 0 = not measured yet

  BackendJob job() const { return {predicted->workload, predicted->program, predicted->prices}; }
};

FusedTrials::FusedTrials(int most, std::string data, std::stop_token stop)
    : most_(most), data_(std::move(data)), stop_(std::move(stop)) {}
FusedTrials::~FusedTrials() = default;

FusedTrials::Partition& FusedTrials::partition(const Scenario& scenario,
                                               const FusedCandidate& first) {
  std::unique_ptr<Partition>& made = partitions_[first.partition];
  if (made) return *made;
  made = std::make_unique<Partition>();
  Partition& p = *made;
  try {
    expect_local(scenario);
    p.predicted = predict_training(scenario, first.training, nullptr, stop_);
    const std::string name = data_.empty() ? std::string(default_data(scenario.model)) : data_;
    const std::unique_ptr<DataSource>& data = p.data[data_seeds(first.training)] =
        open_data(name, data_seeds(first.training));
    throw_if_errors(data->check(scenario.model));
    p.training = std::make_unique<Training>(at_rate_of(scenario.cluster.device, first.training));
    BackendJob job = p.job();
    job.training = p.training.get(), job.data = data.get();
    for (const Diagnostic& d : check_fused(job))
      if (d.severity == Diagnostic::Severity::Error && p.why_not.empty()) p.why_not = d.message;
    const Bytes memory = scenario.cluster.device.memory.value,
                one = worst_peak(p.predicted->result);
    if (one.value > 0) p.fits = memory.value / one.value;
    if (p.why_not.empty() && p.fits && *p.fits < 2)
      p.why_not = "the memory of the device holds one job";
    if (!p.why_not.empty()) return p;
    p.prices.emplace(job);
    const auto fit =
        static_cast<int>(std::min<std::int64_t>(p.fits.value_or(kMostJobs), kMostJobs));
    p.most = most_ > 0 ? std::min(most_, fit) : p.prices->enough(fit, cores());
    // These are the numbers that enough() has measured on its way.
    if (most_ == 0 && fusion_.priced.empty())
      for (int jobs = std::min(std::max(2, cores()), fit); jobs <= std::min(2 * p.most, fit);
           jobs *= 2)
        fusion_.priced.push_back({jobs, p.prices->gain(jobs, cores())});
    if (const double gain = p.prices->gain(p.most, cores()); most_ == 0 && gain < kPays)
      p.why_not = fmt::format(
          "{} together would have {:.2f} times the samples per second of one after another", p.most,
          gain);
  } catch (const Error& error) {
    p.why_not = error.what();
  }
  return p;
}

void FusedTrials::train(const Scenario& scenario, const std::vector<FusedCandidate>& next) {
  const auto began = std::chrono::steady_clock::now();
  const FusedCandidate& first = next.front();
  if (results_.contains(first.name) || alone_.contains(first.name)) return;
  Partition& p = partition(scenario, first);
  if (!p.why_not.empty()) {
    alone_[first.name] = p.why_not;
    return;
  }
  std::vector<const FusedCandidate*> like;
  for (const FusedCandidate& one : next)
    if (one.partition == first.partition && !results_.contains(one.name) &&
        static_cast<int>(like.size()) < p.most && !has_errors(check(one.training)))
      like.push_back(&one);
  if (like.size() < 2) {
    alone_[first.name] = next.size() < 2 ? "no other trial is left"
                                         : "the trials after it differ from it in the plan";
    return;
  }
  try {
    train_together(p, like);
    // To price the program and to train one job alone for a while belongs to the cost.
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    for (const FusedCandidate* one : like)
      results_.at(one->name).seconds = took / static_cast<double>(like.size());
  } catch (const Error& error) {
    alone_[first.name] = error.what();
  }
}

void FusedTrials::train_together(Partition& p, const std::vector<const FusedCandidate*>& like) {
  const std::string name(data_.empty() ? default_data(p.predicted->workload.scenario.model)
                                       : data_);
  std::vector<Training> trainings;
  for (const FusedCandidate* one : like)
    trainings.push_back(for_batch(one->training, p.predicted->workload.scenario.plan.batch.global));
  std::vector<TrainedJob> jobs;
  for (const FusedCandidate* one : like) {
    std::unique_ptr<DataSource>& data = p.data[data_seeds(one->training)];
    if (data == nullptr) data = open_data(name, data_seeds(one->training));
    jobs.push_back({&trainings[jobs.size()], data.get()});
  }
  CpuOptions options;
  options.memory_limit = p.predicted->workload.scenario.cluster.device.memory.value;
  FusedRunOptions run;
  run.stop = stop_;
  run.goes_on = [](std::size_t, double loss) { return std::isfinite(loss); };
  if (p.alone == 0) {
    Training few = trainings.front();
    few.steps = kStepsAlone;
    FusedBackend one(p.job(), std::array{TrainedJob{&few, jobs.front().data}}, options);
    p.alone = one.run({.stop = stop_}).steps_per_second();
  }
  options.mode = RunMode::WallClock;
  FusedBackend backend(p.job(), jobs, options);
  FusedRun done = backend.run(run);
  if (done.stopped) throw Error(Error::Kind::Cancelled, "the run was stopped");
  const int count = static_cast<int>(like.size());
  for (std::size_t j = 0; j < like.size(); ++j)
    results_[like[j]->name] = {std::move(done.losses[j]), 0, count};
  ++fusion_.runs;
  if (count <= fusion_.jobs) return;
  std::set<const DataSource*> sources;
  for (const TrainedJob& job : jobs) sources.insert(job.data);
  fusion_.jobs = count;
  fusion_.predicted = p.prices->gain(count, cores(), static_cast<int>(sources.size()));
  fusion_.would_fit = p.fits;
  fusion_.gain.reset();
  if (p.alone > 0 && done.steps.front().size() >= kFewSteps)
    fusion_.gain = done.steps_per_second() / p.alone;
}

std::optional<FusedResult> FusedTrials::take(const std::string& name) {
  const auto found = results_.find(name);
  if (found == results_.end()) return std::nullopt;
  FusedResult result = std::move(found->second);
  results_.erase(found);
  ++fusion_.trials;
  return result;
}

std::vector<std::string> FusedTrials::left() const {
  std::vector<std::string> names;
  for (const auto& [name, result] : results_) names.push_back(name);
  return names;
}

std::string FusedTrials::why_alone(const std::string& name) const {
  const auto found = alone_.find(name);
  return found == alone_.end() ? "" : found->second;
}

TuneFusion FusedTrials::report() const {
  TuneFusion made = fusion_;
  made.unneeded = static_cast<std::int64_t>(results_.size());
  for (const auto& [name, result] : results_) made.unneeded_seconds += result.seconds;
  return made;
}

}  // namespace trainyard
