#include "backends/cpu/calibration/fused_prices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backends/cpu/calibration/overhead.h"
#include "backends/cpu/calibration/rehearsal.h"
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/fused.h"
#include "core/base/median.h"
#include "core/base/processor_time.h"

namespace trainyard {
namespace {

constexpr int kFewPasses = 5, kManyPasses = 200;
constexpr Duration kLongEnough = std::chrono::milliseconds(30);  // after which the least is enough
constexpr double kMore = 1.05;  // a gain that is worth twice as many jobs

bool goes_on(int pass, Duration began) {
  return pass <= kFewPasses ||
         (pass <= kManyPasses && thread_processor_time() - began < kLongEnough);
}

Duration clock_price() {
  std::vector<Duration> times;
  for (int i = 0; i < kManyPasses; ++i) {
    const Duration before = thread_processor_time();
    times.push_back(thread_processor_time() - before);
  }
  return median(std::move(times));
}

// The kernels of one of the jobs that take turns; the time of each includes one reading of the
// clock.
Duration kernels_of_step(const Workload& w, std::int64_t microbatches, int jobs = 1) {
  const Duration clock = clock_price();
  Rehearsal rehearsal(w, 768_MiB, jobs);
  std::vector<Duration> steps;
  const Duration began = thread_processor_time();
  for (int pass = 0; goes_on(pass, began); ++pass) {
    Duration step{};
    rehearsal.run([&](const Work& work, Duration took) {
      step += std::max(Duration{}, took - clock) * (work.kernel < 0 ? 1 : microbatches);
    });
    if (pass > 0) steps.push_back(step / jobs);  // the first makes oneDNN's kernels
  }
  return median(std::move(steps));
}

// Measures what an instruction takes beside its kernel, everything in a step included.
double nanoseconds_per_instruction() {
  const Workload w = smallest_network();
  LowerOptions options;
  options.grain = Grain::Op;
  const Program program = lower(w, options);
  TaskPrices free;  // one device exchanges nothing
  free.time.resize(program.tasks.size());
  free.fill.assign(program.tasks.size(), 1);
  free.resource.assign(program.tasks.size(), 0);
  Training training;
  training.steps = kManyPasses;
  const std::unique_ptr<DataSource> data = open_data("random", 1);
  FusedBackend backend({w, program, free, &training, data.get()},
                       std::array{TrainedJob{&training, data.get()}});
  const double step = 1e9 / backend.run().steps_per_second(),
               kernels = static_cast<double>(kernels_of_step(w, 1).count());
  return std::max(0.0, step - kernels) / static_cast<double>(program.instructions.size());
}

Duration time_to_read(const BackendJob& job) {
  const RunPlan plan(job.workload, job.program);
  const CpuOptions options;
  CpuExecution execution(plan, options, std::array{TrainedJob{job.training, job.data}});
  std::vector<Duration> times;
  const Duration began = thread_processor_time();
  for (int pass = 0; goes_on(pass, began); ++pass) {
    const Duration before = thread_processor_time();
    execution.begin_repetition(pass);
    if (pass > 0) times.push_back(thread_processor_time() - before);
  }
  return median(std::move(times));
}

}  // namespace

FusedPricer::FusedPricer(const BackendJob& job) : job_(job) {
  one_.once = Duration{std::llround(nanoseconds_per_instruction() *
                                    static_cast<double>(job.program.instructions.size()))};
  one_.data = time_to_read(job);
  one_.alone = one_.each = kernels_of_step(job.workload, job.program.microbatches);
  known_[1] = one_;
}

const FusedPrices& FusedPricer::of(int jobs) {
  const auto [found, added] = known_.try_emplace(jobs, one_);
  FusedPrices& prices = found->second;
  if (!added) return prices;
  prices.jobs = jobs;
  prices.each = kernels_of_step(job_.workload, job_.program.microbatches, jobs);
  return prices;
}

Duration FusedPricer::step(int jobs, int threads, int sources) {
  const int on_one = (jobs + threads - 1) / threads;
  return of(on_one).step(std::min(sources, on_one)) / jobs;
}

double FusedPricer::gain(int jobs, int threads, int sources) {
  return static_cast<double>(one_.step_alone().count()) /
         static_cast<double>(std::max(Duration{1}, step(jobs, threads, sources)).count());
}

int FusedPricer::enough(int most, int threads) {
  int jobs = std::min(std::max(2, threads), most);
  while (2 * jobs <= most && gain(2 * jobs, threads) > kMore * gain(jobs, threads)) jobs *= 2;
  return jobs;
}

}  // namespace trainyard
