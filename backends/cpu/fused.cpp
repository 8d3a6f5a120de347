#include "backends/cpu/fused.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/time/virtual_time.h"
#include "backends/documents.h"
#include "backends/executable.h"
#include "core/base/error.h"
#include "core/base/median.h"
#include "core/base/processor_time.h"
#include "core/memory/place_buffers.h"
#include "core/methods/precision/vector_format.h"
#include "core/model/ops.h"
#include "core/plan/batch_ramp.h"

namespace trainyard {
namespace {

// A loss of several parts is summed outside the arena, and so is which expert has which token.
void check_fused_model(const Model& model, Diagnostics& found) {
  for (const Block& block : model.blocks) {
    const std::string place = "model#/blocks/" + block.name;
    const Graph& graph = block.graph;
    for (std::uint32_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.tensors[t].kind == TensorKind::Statistic && graph.tensors[t].shape.empty() &&
          TensorId{t} != graph.output) {
        add_error(found,
                  "jobs that are trained together have a loss of one part, found " +
                      graph.tensors[t].name + " of " + block.name + " beside it",
                  place);
        break;
      }
    for (const Node& node : graph.nodes)
      if (node.op == &router()) {
        add_error(found,
                  "tokens of every job choose other experts, and one program has room for one "
                  "choice; found " +
                      node.name + " of " + block.name,
                  place);
        break;
      }
  }
}

// Calls f(0), f(1), ... at once, the first on this thread. Rethrows what the first that failed
// threw.
template <class F>
void on_threads(std::size_t count, F f) {
  std::vector<std::exception_ptr> failures(count);
  const auto work = [&](std::size_t thread) {
    try {
      f(thread);
    } catch (...) {
      failures[thread] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < count; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

Diagnostics check_fused(const BackendJob& job) {
  Diagnostics found = CpuBackend::check(job);
  const Workload& w = job.workload;
  const std::int64_t devices = std::int64_t{job.program.devices} * job.program.replicas;
  if (devices > 1)
    add_error(found,
              "jobs that are trained together share one device, found a plan of " +
                  std::to_string(devices),
              "cluster", "");
  if (has_updates(order(w, schedule_shape(w))))
    add_error(found,
              "jobs that are trained together end their steps together, and an asynchronous "
              "schedule has no end of a step",
              "plan#/choices", "schedule=1f1b");
  const Precision& p = w.layout.precision;
  if (p.activation == DType::F16)
    add_error(found,
              "fp16 scales the loss of every job by what its own gradients allow, and one program "
              "has one scale",
              "plan#/choices", "precision=bf16");
  if (narrow(p.math))
    add_error(found,
              "products of narrow operands remember the largest values of one job's tensors, found "
              "math in " +
                  std::string(to_string(p.math)),
              "plan#/choices", "precision=bf16");
  else if (vector_format(w.scenario.plan))
    add_error(found, "products in whole numbers are those of one job, found precision=vs-quant",
              "plan#/choices", "precision=bf16");
  if (w.layout.host_optimizer || w.layout.host_activations || w.layout.nvme_optimizer)
    add_error(found, "the host keeps tensors of one job, found a plan that offloads to it",
              "plan#/choices", "offload=none");
  if (batch_ramp_of(w.scenario.plan))
    add_error(found,
              "one program has one batch, found a batch that grows while the jobs are trained",
              "plan#/choices", "batch-ramp=off");
  if (document_stream(w, 1))
    add_error(found,
              "every job has documents of other lengths in a sample, and one program has one "
              "length of attention",
              "plan#/choices", "packing=none");
  if (job.training != nullptr &&
      (job.training->sparsity > 0 || job.training->stability > 0 || job.training->bit_errors > 0))
    add_error(found,
              "jobs that are trained together are neither pruned nor trained for stability or "
              "against bit errors, found that one is",
              "--train", "--train sparsity=0 --train stability=0 --train bit-errors=0");
  if (job.training != nullptr && job.training->flips.on())
    add_error(found,
              "jobs that are trained together have neither flipped bits nor checks for them, found "
              "that one has",
              "--train flip-bits", "--train flip-bits=off --train flip-check=off");
  if (job.training != nullptr && job.training->recovery.on())
    add_error(found,
              "jobs that are trained together share their device, which no rank is lost of, "
              "found cpr=" +
                  std::string(to_string(job.training->recovery.how)),
              "--train cpr", "--train cpr=off");
  if (trains_by_halp(w.scenario.plan))
    add_error(found,
              "jobs that are trained together read their weights alone, found optimizer=halp",
              "plan#/optimizer", "optimizer=adamw");
  if (job.data != nullptr && job.data->acting())
    add_error(found, "every job acts by itself, found " + std::string(job.data->name()), "--data",
              "");
  check_fused_model(w.scenario.model, found);
  return found;
}

// The jobs of one thread.
struct FusedBackend::Part {
  Part(const BackendJob& job, const RunPlan& plan, std::size_t first_job,
       std::vector<TrainedJob> its_jobs, const CpuOptions& o)
      : first(first_job),
        jobs(std::move(its_jobs)),
        options(o),
        execution(plan, options, jobs),
        driver(virtual_time_driver(
            job.prices, options.processor_time ? options.processor_time : thread_processor_time)) {}

  double mean_loss(std::size_t job) const {
    const auto count = static_cast<std::size_t>(execution.program().microbatches);
    double sum = 0;
    for (std::size_t m = 0; m < count; ++m) sum += execution.loss(m, job);
    return sum / static_cast<double>(count);
  }
  void step();
  void run(const FusedRunOptions&, std::mutex&, FusedRun&, std::size_t thread);

  const std::size_t first;  // of its jobs, among all
  const std::vector<TrainedJob> jobs;
  const CpuOptions options;
  CpuExecution execution;
  std::unique_ptr<Driver> driver;
  int repetition = 0;
};

void FusedBackend::Part::step() {
  execution.begin_repetition(repetition);
  const DriverResult done = driver->run(execution, repetition, nullptr, {});
  execution.end_repetition(repetition);
  if (repetition++ == 0 && options.place_buffers)
    execution.arena(DeviceId{0}, 0)
        .plan(place_buffers(execution.program(), done.timeline, DeviceId{0}));
}

void FusedBackend::Part::run(const FusedRunOptions& asked, std::mutex& mutex, FusedRun& result,
                             std::size_t thread) {
  std::vector<std::size_t> running(jobs.size());
  std::iota(running.begin(), running.end(), std::size_t{0});
  while (!running.empty() && !asked.stop.stop_requested()) {
    const Duration before = thread_processor_time();
    step();
    result.steps[thread].emplace_back(thread_processor_time() - before,
                                      static_cast<int>(running.size()));
    const std::scoped_lock lock(mutex);
    std::erase_if(running, [&](std::size_t job) {
      std::vector<double>& losses = result.losses[first + job];
      losses.push_back(mean_loss(job));
      if (jobs[job].training->clip > 0)
        result.gradient_norms[first + job] = execution.gradient_norm(job);
      const bool more = !asked.goes_on || asked.goes_on(first + job, losses.back());
      if (more && static_cast<std::int64_t>(losses.size()) < jobs[job].training->steps)
        return false;
      execution.end_job(job);
      return true;
    });
  }
  const std::scoped_lock lock(mutex);
  result.stopped |= !running.empty();
  result.most = std::max(result.most, execution.arena(DeviceId{0}, 0).most());
}

struct FusedBackend::Impl {
  explicit Impl(const BackendJob& job) : plan(job.workload, job.program) {}
  const RunPlan plan;
  std::vector<std::unique_ptr<Part>> parts;
};

FusedBackend::FusedBackend(const BackendJob& shared, std::span<const TrainedJob> jobs,
                           const CpuOptions& options) {
  Diagnostics found;
  for (const TrainedJob& job : jobs) {
    BackendJob own = shared;
    own.training = job.training, own.data = job.data;
    for (Diagnostic& one : check_fused(own))
      if (std::none_of(found.begin(), found.end(),
                       [&](const Diagnostic& d) { return d.message == one.message; }))
        found.push_back(std::move(one));
  }
  if (jobs.empty()) add_error(found, "expected at least one job to train, found none", "jobs");
  throw_if_errors(found);
  impl_ = std::make_unique<Impl>(shared);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency()),
                    asked = options.threads > 0 ? static_cast<std::size_t>(options.threads) : cores,
                    threads = options.mode == RunMode::WallClock ? std::min(asked, jobs.size()) : 1;
  const Bytes device_memory = shared.workload.scenario.cluster.device.memory.value;
  const Bytes limit = options.memory_limit.value > 0 ? options.memory_limit : device_memory;
  impl_->parts.resize(threads);
  on_threads(threads, [&](std::size_t t) {
    const std::size_t first = t * jobs.size() / threads, end = (t + 1) * jobs.size() / threads;
    const auto count = static_cast<std::int64_t>(end - first);
    CpuOptions own = options;
    own.memory_limit = Bytes{limit.value / static_cast<std::int64_t>(jobs.size()) * count};
    const std::span<const TrainedJob> part = jobs.subspan(first, end - first);
    impl_->parts[t] = std::make_unique<Part>(
        shared, impl_->plan, first, std::vector<TrainedJob>(part.begin(), part.end()), own);
  });
}
FusedBackend::~FusedBackend() = default;

FusedRun FusedBackend::run(const FusedRunOptions& options) {
  std::vector<std::unique_ptr<Part>>& parts = impl_->parts;
  FusedRun result;
  const std::size_t jobs = parts.back()->first + parts.back()->jobs.size();
  result.losses.resize(jobs);
  result.gradient_norms.resize(jobs);
  result.steps.resize(parts.size());
  std::mutex mutex;
  on_threads(parts.size(),
             [&](std::size_t thread) { parts[thread]->run(options, mutex, result, thread); });
  return result;
}

double FusedRun::steps_per_second() const {
  double sum = 0;
  for (const auto& thread : steps) {
    std::vector<Duration> each;
    for (const auto& [took, jobs] : thread) each.push_back(took / jobs);
    const Duration middle = median(std::move(each));
    if (middle.count() > 0) sum += 1 / to_seconds(middle);
  }
  return sum;
}

std::vector<TrainedTensor> FusedBackend::parameters(std::size_t job) const {
  const std::vector<std::unique_ptr<Part>>& parts = impl_->parts;
  const Part& part = **std::find_if(parts.rbegin(), parts.rend(),
                                    [&](const auto& one) { return one->first <= job; });
  std::vector<TrainedTensor> list;
  for (std::size_t at = 0; at < impl_->plan.places.size(); ++at)
    for (const PlacedLayer& layer : impl_->plan.places[at].layers)
      for (const PlacedParameter& p : layer.parameters)
        if (p.owner < 0)
          list.push_back({layer.model_layer, p.name, p.whole_shape,
                          part.execution.whole_parameter(at, layer, p, job - part.first)});
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.layer < b.layer; });
  return list;
}

}  // namespace trainyard
