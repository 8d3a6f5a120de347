#include "backends/ramped.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/cpu/cpu_backend.h"
#include "backends/device_memory.h"
#include "core/base/digest.h"
#include "core/training/checkpoint.h"

namespace trainyard {
namespace {

void add_run(BackendRun& all, BackendRun&& more) {
  BackendRun sum = std::move(more);
  sum.first_step = all.first_step;
  sum.skipped += all.skipped;
  sum.step_times.insert(sum.step_times.begin(), all.step_times.begin(), all.step_times.end());
  sum.orthogonality.insert(sum.orthogonality.begin(), all.orthogonality.begin(),
                           all.orthogonality.end());
  sum.evaluations.insert(sum.evaluations.begin(), all.evaluations.begin(), all.evaluations.end());
  sum.staleness.resize(std::max(sum.staleness.size(), all.staleness.size()));
  for (std::size_t s = 0; s < all.staleness.size(); ++s) sum.staleness[s] += all.staleness[s];
  std::swap(sum.memory, all.memory);
  add_memory(sum.memory, all.memory);
  all = std::move(sum);
}

Duration sum_of(const std::vector<Duration>& times) {
  Duration sum{};
  for (const Duration time : times) sum += time;
  return sum;
}

}  // namespace

Ramped::Ramped(std::vector<Phase> phases, std::string_view name, const CpuOptions& options)
    : phases_(std::move(phases)), name_(name), options_(options) {
  open(0, options_of(0));
}
Ramped::~Ramped() = default;

std::string_view Ramped::name() const { return backend_->name(); }

CpuOptions Ramped::options_of(std::size_t phase) const {
  CpuOptions own = options_;
  const BatchPhase& batches = phases_[phase].batches;
  const bool last = phase + 1 == phases_.size();
  own.until = last ? 0 : batches.first_step + batches.steps;
  own.record_timeline = options_.record_timeline && last;
  own.resume = false;  // run() has read the checkpoint
  // Every run of the plan has the first phase; how far it is to go makes no other checkpoint of it.
  own.checkpoint_program = digest(phases_.front().job.program);
  return own;
}

// Two phases are never in memory at once.
void Ramped::open(std::size_t phase, const CpuOptions& options) {
  backend_.reset();
  backend_ = CpuBackend::open(phases_[phase].job, options, name_);
}

BackendRun Ramped::run(const RunOptions& options) {
  std::size_t phase = 0;
  CpuOptions own = options_of(0);
  if (std::optional<Checkpoint> found = checkpoint_to_resume(options_)) {
    const std::int64_t done = found->step;
    while (phase + 1 < phases_.size() && phases_[phase + 1].batches.first_step <= done) ++phase;
    own = options_of(phase);
    own.from = std::make_shared<const Checkpoint>(*std::move(found));
    open(phase, own);
  }
  BackendRun all = backend_->run(options);
  while (!all.stopped && ++phase < phases_.size()) {
    own = options_of(phase);
    own.from = std::make_shared<const Checkpoint>(backend_->state());
    own.begin = sum_of(all.step_times);
    open(phase, own);
    add_run(all, backend_->run(options));
  }
  return all;
}

std::vector<TrainedTensor> Ramped::parameters() const { return backend_->parameters(); }
std::vector<TrainedTensor> Ramped::statistics() const { return backend_->statistics(); }
void Ramped::set_parameters(const std::vector<TrainedTensor>& all) {
  backend_->set_parameters(all);
}

}  // namespace trainyard
