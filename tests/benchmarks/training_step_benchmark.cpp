// One training step of each network of training_models.h on the CPU backend: forward, backward and
// update on one thread, in thread CPU time, with everything that a step costs in it. Prints a line
// each: its name and the quickest of the steps in milliseconds. Arguments: names of networks (none:
// all), --seconds S for each (default 2), --set KEY=VALUE for a plan's setting, --kernels for
// kernels called one after another instead, without arenas and programs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "backends/cpu/cpu_backend.h"
#include "backends/simulator/simulator.h"
#include "core/cluster/cluster.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "tests/benchmarks/kernel_step.h"

namespace trainyard::benchmarks {
namespace {

double cpu_milliseconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double quickest_of_kernels(const TrainingCase& c, double seconds) {
  KernelStep step(c);
  for (int warm = 0; warm < 2; ++warm) step.run();  // makes the primitives that are kept
  double best = std::numeric_limits<double>::infinity();
  const double start = cpu_milliseconds();
  for (int steps = 0; steps < 3 || cpu_milliseconds() - start < seconds * 1e3; ++steps) {
    const double before = cpu_milliseconds();
    step.run();
    best = std::min(best, cpu_milliseconds() - before);
  }
  return best;
}

// Gives the same sample over and over, as the other side does, because only training is timed.
class OneSample final : public DataSource {
 public:
  std::string_view name() const override { return "one sample"; }
  std::string provenance() const override { return "random numbers, the same in every step"; }
  std::int64_t samples() const override { return 1; }
  std::int64_t evaluation_samples() const override { return 1; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& request, std::span<float> into) const override {
    copy(request, into);
  }
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    copy(request, into);
  }

 private:
  template <class T>
  void copy(const DataRequest& request, std::span<T> into) const {
    const std::lock_guard lock(mutex_);
    std::vector<double>& values = kept_[{&request.graph, request.tensor.value}];
    if (values.size() != into.size()) {
      DataRequest first = request;
      first.first_sample = 0;
      std::vector<T> made(into.size());
      random_->fill(first, made);
      values.assign(made.begin(), made.end());
    }
    std::transform(values.begin(), values.end(), into.begin(),
                   [](double v) { return static_cast<T>(v); });
  }

  std::unique_ptr<DataSource> random_ = open_data("random", 1);
  mutable std::mutex mutex_;
  mutable std::map<std::pair<const Graph*, std::uint32_t>, std::vector<double>> kept_;
};

Workload workload(const TrainingCase& c, const std::vector<std::string>& settings) {
  Scenario scenario{c.model, make_cluster(device("cpu"), 1), {}};
  const std::string batch = std::to_string(c.batch);
  for (const std::string& setting :
       {"global-batch=" + batch, "micro-batch=" + batch, "sequence=" + std::to_string(c.sequence),
        "optimizer=" + c.optimizer, std::string("precision=fp32")})
    apply_setting(scenario.plan, setting);
  for (const std::string& setting : settings) apply_setting(scenario.plan, setting);
  return prepare(scenario);
}

double quickest_step(const TrainingCase& c, const std::vector<std::string>& settings,
                     double seconds) {
  const Workload work = workload(c, settings);
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  const Program program = lower(work, lowering);
  const std::unique_ptr<CostModel> cost = roofline_cost_model();
  const TaskPrices prices = price(program, work.scenario.plan.mesh, work.scenario.cluster, *cost);
  Training training;
  training.steps = std::int64_t{1} << 40;
  training.rate = 1e-3;
  const OneSample data;
  std::stop_source stop;
  CpuOptions options;
  options.record_timeline = false;
  RunOptions run;
  run.stop = stop.get_token();
  double best = std::numeric_limits<double>::infinity(), before = cpu_milliseconds();
  const double start = before;
  int steps = 0;
  run.progress = [&](double) {
    const double now = cpu_milliseconds();
    if (++steps > 2) best = std::min(best, now - before);  // the first ones make what is kept
    before = now;
    if (steps > 5 && now - start > seconds * 1e3) stop.request_stop();
  };
  CpuBackend({work, program, prices, &training, &data}, options).run(run);
  return best;
}

int run(std::span<char* const> arguments) {
  double seconds = 2;
  bool kernels = false;
  std::vector<std::string> names, settings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument == "--seconds" && i + 1 < arguments.size())
      seconds = std::atof(arguments[++i]);
    else if (argument == "--set" && i + 1 < arguments.size())
      settings.emplace_back(arguments[++i]);
    else if (argument == "--kernels")
      kernels = true;
    else
      names.push_back(argument);
  }
  const std::vector<TrainingCase> cases = training_cases();
  for (const std::string& name : names)
    if (std::none_of(cases.begin(), cases.end(), [&](const auto& c) { return c.name == name; })) {
      std::string known;
      for (const TrainingCase& c : cases) known += " " + c.name;
      std::fprintf(stderr, "no network is called \"%s\"; there are%s\n", name.c_str(),
                   known.c_str());
      return 2;
    }
  for (const TrainingCase& c : cases)
    if (names.empty() || std::find(names.begin(), names.end(), c.name) != names.end()) {
      std::printf("%s %.4f\n", c.name.c_str(),
                  kernels ? quickest_of_kernels(c, seconds) : quickest_step(c, settings, seconds));
      std::fflush(stdout);
    }
  return 0;
}

}  // namespace
}  // namespace trainyard::benchmarks

int main(int count, char** arguments) {
  return trainyard::benchmarks::run({arguments + 1, static_cast<std::size_t>(count - 1)});
}
