// Measures the samples per second of a sweep of small jobs as one program, over one job after
// another: perceptrons of 64-128-10 with a batch of 32, on the CPU backend, whole steps with their
// data and everything around kernels. Prints a line for each number of jobs and of cores, measured
// and predicted (backends/cpu/calibration/fused_prices.h). Fails where eight jobs, dealt among the
// cores of this machine, have less than twice the samples of one job after another, or where that
// gain is predicted more than 15 % off. Times are processor times, and the quickest of several
// rounds counts, so that a busy machine does not decide. Jobs share their data, as those of a sweep
// over rates do. Arguments: --steps N in a round (default 400), --rounds N (default 7), --optimizer
// NAME (default adam), --own-data gives each job its own seed and data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/cpu/calibration/fused_prices.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/fused.h"
#include "core/base/processor_time.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/builders.h"

namespace trainyard {
namespace {

constexpr int kJobs = 8;
constexpr double kLeastGain = 2, kMostError = 0.15;

struct Options {
  std::int64_t steps = 400;
  int rounds = 7;
  bool own_data = false;
  std::string optimizer = "adam";
};

// One sweep: a program, and jobs that differ in their rates.
class Sweep {
 public:
  explicit Sweep(const Options& options) : options_(options) {
    Model model = build_mlp({"64-128-10", 64, 128, 1, 10});
    model.blocks.erase(model.blocks.begin() + 1);  // the product of 128 by 128
    Scenario s{std::move(model), make_cluster(device("cpu"), 1), {}};
    for (const char* one : {"precision=fp32", "global-batch=32", "micro-batch=32"})
      apply_setting(s.plan, one);
    apply_setting(s.plan, "optimizer", options.optimizer);
    workload_ = prepare(s);
    LowerOptions lowering;
    lowering.grain = Grain::Op;
    program_ = lower(workload_, lowering);
    free_.time.resize(program_.tasks.size());
    free_.fill.assign(program_.tasks.size(), 1);
    free_.resource.assign(program_.tasks.size(), 0);
    for (int j = 0; j < 64; ++j) {
      Training t;
      t.rate = 1e-4 * (j + 1);
      t.steps = options.steps;
      if (options.own_data) t.seed = static_cast<std::uint64_t>(j + 1);
      trainings_.push_back(t);
      data_.push_back(j == 0 || options.own_data ? open_data("random", t.seed) : nullptr);
    }
  }

  std::size_t instructions() const { return program_.instructions.size(); }
  FusedPricer pricer() const { return FusedPricer(job(0)); }
  int sources(int jobs) const { return options_.own_data ? jobs : 1; }

  // The processor time of a step of one job, by the backend that trains one.
  Duration alone() const {
    CpuBackend backend(job(0));
    const Duration before = thread_processor_time();
    backend.run();
    return (thread_processor_time() - before) / options_.steps;
  }
  // Measures jobs that are dealt among threads, per job.
  Duration together(int count, int threads) const {
    std::vector<TrainedJob> jobs;
    for (int j = 0; j < count; ++j) {
      const BackendJob one = job(static_cast<std::size_t>(j));
      jobs.push_back({one.training, one.data});
    }
    CpuOptions dealt;
    dealt.mode = RunMode::WallClock;
    dealt.threads = threads;
    return seconds(1 / FusedBackend(job(0), jobs, dealt).run().steps_per_second());
  }

 private:
  BackendJob job(std::size_t j) const {
    return {workload_, program_, free_, &trainings_[j], data_[options_.own_data ? j : 0].get()};
  }

  const Options options_;
  Workload workload_;
  Program program_;
  TaskPrices free_;  // one device exchanges nothing
  std::vector<Training> trainings_;
  std::vector<std::unique_ptr<DataSource>> data_;
};

struct Row {
  int jobs = 1, threads = 1;
  Duration measured = Duration::max(), predicted = Duration::max();  // a step of one job
};

int compare(const Options& options) {
  const Sweep sweep(options);
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<Row> rows;
  for (const int jobs : {1, 2, 4, kJobs, 16, 32}) {
    rows.push_back({jobs, 1});
    if (cores > 1 && jobs >= cores) rows.push_back({jobs, cores});
  }
  Duration alone = Duration::max(), predicted_alone = Duration::max();
  for (int round = 0; round < options.rounds; ++round) {
    // The mean step of the backend of one job has what a run does once; the median of the other
    // has not. The quicker of both is what jobs together are held against.
    alone = std::min({alone, sweep.alone(), sweep.together(1, 1)});
    FusedPricer pricer = sweep.pricer();
    predicted_alone = std::min(predicted_alone, pricer.step(1));
    for (Row& row : rows) {
      row.measured = std::min(row.measured, sweep.together(row.jobs, row.threads));
      row.predicted =
          std::min(row.predicted, pricer.step(row.jobs, row.threads, sweep.sources(row.jobs)));
    }
  }
  const auto us = [](Duration d) { return static_cast<double>(d.count()) / 1e3; };
  fmt::print("{} instructions; one job alone takes {:.1f} us a step\n", sweep.instructions(),
             us(alone));
  int failures = 0;
  for (const Row& row : rows) {
    const double gain = us(alone) / us(row.measured),
                 predicted = us(predicted_alone) / us(row.predicted), error = predicted / gain - 1;
    fmt::print(
        "{:2} jobs on {} {}: {:5.1f} us a step of each, {:.2f} times the samples per second, "
        "predicted {:.2f} ({:+.0f} %)\n",
        row.jobs, row.threads, row.threads == 1 ? "core " : "cores", us(row.measured), gain,
        predicted, 100 * error);
    if (row.jobs != kJobs || row.threads != cores || options.own_data) continue;
    if (gain < kLeastGain) {
      fmt::print("FAILED: expected at least {} times the samples per second\n", kLeastGain);
      ++failures;
    }
    if (std::abs(error) > kMostError) {
      fmt::print("FAILED: expected a prediction within {:.0f} %\n", 100 * kMostError);
      ++failures;
    }
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  trainyard::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--own-data")
      options.own_data = true;
    else if (word == "--optimizer" && i + 1 < argc)
      options.optimizer = argv[++i];
    else if (word == "--steps" && i + 1 < argc)
      options.steps = std::max<std::int64_t>(1, std::atoll(argv[++i]));
    else if (word == "--rounds" && i + 1 < argc)
      options.rounds = std::max(1, std::atoi(argv[++i]));
  }
  return trainyard::compare(options);
}
